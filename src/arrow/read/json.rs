//! JSON into columns, in one pass, as Node reads it.
//!
//! A value that does not fit becomes null and the rest of its row stays, as with Spark's `from_json`. What is no JSON
//! at all becomes null as a whole. Both are reported, so that the raw text can be kept.

use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::column::{Column, Kind};
use super::scalar::Scalar;

impl Column {
    /// Adds the value of a JSON text; false when a part of it is null because it does not fit or is no JSON.
    pub fn push_json(&mut self, raw: &[u8]) -> bool {
        let text = String::from_utf8_lossy(raw);
        let rows = self.len();
        if let Ok(fits) = self.try_json(&text) {
            return fits;
        }
        self.truncate(rows);
        if let Some(Ok(fits)) = without_lone_surrogates(&text).map(|text| self.try_json(&text)) {
            return fits;
        }
        self.truncate(rows);
        self.push_null();
        false
    }

    fn try_json(&mut self, text: &str) -> serde_json::Result<bool> {
        let fits = Cell::new(true);
        let mut json = serde_json::Deserializer::from_str(text);
        Fill { column: self, fits: &fits }.deserialize(&mut json)?;
        json.end()?;
        Ok(fits.get())
    }
}

/// Replaces escaped halves of surrogate pairs, which Node accepts and UTF-8 does not have.
fn without_lone_surrogates(text: &str) -> Option<String> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return None;
    }
    let unit = |at: usize| {
        let escape = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(escape, 16).ok()
    };
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(found) = text[at..].find('\\') {
        out.push_str(&text[at..at + found]);
        at += found;
        let length = match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push('\u{FFFD}');
                at += 6;
                continue;
            }
            // An escape, which may be of a backslash.
            _ => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&text[at..at + length]);
        at += length;
    }
    out.push_str(&text[at..]);
    Some(out)
}

/// Adds the next value to a column.
struct Fill<'a> {
    column: &'a mut Column,
    fits: &'a Cell<bool>,
}

impl Fill<'_> {
    fn scalar(self, scalar: Scalar<'_>) {
        if !self.column.push(scalar) {
            self.fits.set(false);
        }
    }
}

impl<'de> DeserializeSeed<'de> for Fill<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        if matches!(self.column.kind, Kind::List(..) | Kind::Map(..) | Kind::Struct(..)) {
            return json.deserialize_any(self);
        }
        // Numbers are read from their own digits, so that none gets lost.
        let raw = <&RawValue>::deserialize(json)?.get();
        match raw.as_bytes()[0] {
            b'n' => self.scalar(Scalar::Null),
            b't' => self.scalar(Scalar::Bool(true)),
            b'f' => self.scalar(Scalar::Bool(false)),
            b'{' | b'[' => self.scalar(Scalar::Composite(raw)),
            b'"' if !raw.contains('\\') => self.scalar(Scalar::Text(&raw[1..raw.len() - 1])),
            b'"' => self.scalar(Scalar::Text(&serde_json::from_str::<String>(raw).map_err(D::Error::custom)?)),
            _ => self.scalar(Scalar::Number(raw)),
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Fill<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.column.push_null();
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.scalar(Scalar::Bool(value));
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.scalar(Scalar::Number(""));
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.scalar(Scalar::Number(""));
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.scalar(Scalar::Number(""));
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.scalar(Scalar::Text(value));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Kind::List(_, item) = &mut self.column.kind else {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            self.scalar(Scalar::Composite("[]"));
            return Ok(());
        };
        while items.next_element_seed(Fill { column: item, fits: self.fits })?.is_some() {}
        self.column.end_composite();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let row = self.column.len();
        match &mut self.column.kind {
            Kind::Struct(names, columns) => {
                let mut expected = 0;
                while let Some(found) = members.next_key_seed(Name { names, expected })? {
                    let Some(at) = found else {
                        members.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    // Of two members with one name the last one counts, as in Node.
                    columns[at].truncate(row);
                    members.next_value_seed(Fill { column: &mut columns[at], fits: self.fits })?;
                    expected = at + 1;
                }
                for column in columns.iter_mut().filter(|column| column.len() == row) {
                    column.push_null();
                }
            }
            Kind::Map(_, keys, values) => {
                while members.next_key_seed(Fill { column: keys, fits: self.fits })?.is_some() {
                    members.next_value_seed(Fill { column: values, fits: self.fits })?;
                }
            }
            _ => {
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                self.scalar(Scalar::Composite("{}"));
                return Ok(());
            }
        }
        self.column.end_composite();
        Ok(())
    }
}

/// Finds the position of a member's name. Most writers keep one order, so the one after the last is tried first.
struct Name<'a> {
    names: &'a [String],
    expected: usize,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        match self.names.get(self.expected) {
            Some(expected) if expected == name => Ok(Some(self.expected)),
            _ => Ok(self.names.iter().position(|known| known == name)),
        }
    }
}
