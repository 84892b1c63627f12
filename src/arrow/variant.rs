//! Spark's VARIANT (that of Parquet): one value of any shape in a binary form, written as the JSON that it stands for.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, StructArray};
use arrow_cast::cast;
use arrow_json::Encoder;
use arrow_schema::{ArrowError, DataType};
use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use chrono::{DateTime, SecondsFormat, TimeDelta};
use serde_json::Value;

/// Deeper values are refused: a damaged value must not exhaust the stack.
const MAX_DEPTH: usize = 500;

/// Whether a field is a VARIANT: a struct of `value` and `metadata`, which Spark marks so.
pub(super) fn is_variant(kind: &DataType) -> bool {
    let DataType::Struct(fields) = kind else { return false };
    let marked =
        |name: &str| fields.iter().any(|field| field.name() == name && field.metadata().get("variant").is_some());
    fields.len() == 2 && fields.iter().any(|field| field.name() == "value") && marked("metadata")
}

/// Writes the values of one column. They are read when the encoder is made, so that a damaged one is an error of its
/// batch.
pub(super) struct Variants(Vec<String>);

impl Variants {
    pub fn read(array: &StructArray) -> Result<Self, ArrowError> {
        let bytes = |name: &str| -> Result<BinaryArray, ArrowError> {
            let column = array.column_by_name(name).expect("checked by is_variant");
            Ok(cast(column, &DataType::Binary)?.as_binary::<i32>().clone())
        };
        let (values, metadata) = (bytes("value")?, bytes("metadata")?);
        let json = |row| {
            if array.is_null(row) {
                return Ok("null".to_owned());
            }
            let read = Metadata::read(metadata.value(row)).and_then(|keys| to_json(values.value(row), &keys, 0));
            let value =
                read.ok_or_else(|| ArrowError::JsonError(format!("the VARIANT in row {row} cannot be read")))?;
            Ok(value)
        };
        (0..array.len()).map(json).collect::<Result<_, _>>().map(Self)
    }
}

impl Encoder for Variants {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0[row].as_bytes());
    }
}

/// The names of all members.
struct Metadata<'a>(Vec<&'a str>);

impl<'a> Metadata<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let header = *bytes.first()?;
        let size = usize::from(header >> 6) + 1;
        let count = number(bytes, 1, size)?;
        let texts = 1 + size * (count.checked_add(2)?);
        let key = |at: usize| {
            let start = number(bytes, 1 + size * (at + 1), size)?;
            let end = number(bytes, 1 + size * (at + 2), size)?;
            std::str::from_utf8(bytes.get(texts + start..texts + end)?).ok()
        };
        (0..count).map(key).collect::<Option<_>>().map(Self)
    }
}

/// An unsigned number of 1 to 4 bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

fn to_json(bytes: &[u8], keys: &Metadata<'_>, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let header = *bytes.first()?;
    let info = usize::from(header >> 2);
    match header & 3 {
        0 => primitive(info, &bytes[1..]),
        1 => text(bytes.get(1..=info)?),
        2 => {
            let (offset_size, id_size, large) = ((info & 3) + 1, (info >> 2 & 3) + 1, info >> 4 & 1 == 1);
            let (count, ids) = if large { (number(bytes, 1, 4)?, 5) } else { (number(bytes, 1, 1)?, 2) };
            let offsets = ids + count * id_size;
            let values = offsets + (count + 1) * offset_size;
            let member = |at: usize| {
                let key = keys.0.get(number(bytes, ids + at * id_size, id_size)?)?;
                let start = values + number(bytes, offsets + at * offset_size, offset_size)?;
                Some(format!("{}:{}", Value::from(*key), to_json(bytes.get(start..)?, keys, depth + 1)?))
            };
            Some(format!("{{{}}}", (0..count).map(member).collect::<Option<Vec<_>>>()?.join(",")))
        }
        _ => {
            let (offset_size, large) = ((info & 3) + 1, info >> 2 & 1 == 1);
            let (count, offsets) = if large { (number(bytes, 1, 4)?, 5) } else { (number(bytes, 1, 1)?, 2) };
            let values = offsets + (count + 1) * offset_size;
            let item = |at: usize| {
                let start = values + number(bytes, offsets + at * offset_size, offset_size)?;
                to_json(bytes.get(start..)?, keys, depth + 1)
            };
            Some(format!("[{}]", (0..count).map(item).collect::<Option<Vec<_>>>()?.join(",")))
        }
    }
}

fn text(bytes: &[u8]) -> Option<String> {
    Some(Value::from(std::str::from_utf8(bytes).ok()?).to_string())
}

/// A value without parts. Numbers and times are written as those of other columns.
fn primitive(kind: usize, bytes: &[u8]) -> Option<String> {
    let whole = |size: usize| {
        let bytes = bytes.get(..size)?;
        let sign = if *bytes.last()? < 0x80 { 0 } else { -1_i128 };
        Some(bytes.iter().rev().fold(sign, |number, byte| number << 8 | i128::from(*byte)))
    };
    let decimal = |size: usize| {
        let scale = *bytes.first()?;
        let digits = i128::from_le_bytes({
            let body = bytes.get(1..=size)?;
            let mut wide = [if *body.last()? < 0x80 { 0 } else { 0xff }; 16];
            wide[..size].copy_from_slice(body);
            wide
        });
        Some(point(digits, usize::from(scale)))
    };
    let sized = || bytes.get(4..4_usize.checked_add(number(bytes, 0, 4)?)?);
    let micros = |zoned: bool, per_second: i64| {
        let value = i64::try_from(whole(8)?).ok()?;
        let (seconds, rest) = (value.div_euclid(per_second), value.rem_euclid(per_second));
        let nanos = u32::try_from(rest * (1_000_000_000 / per_second)).ok()?;
        let written = DateTime::from_timestamp(seconds, nanos)?.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        text(if zoned { written.as_bytes() } else { written.trim_end_matches('Z').as_bytes() })
    };
    match kind {
        0 => Some("null".to_owned()),
        1 => Some("true".to_owned()),
        2 => Some("false".to_owned()),
        3 => whole(1).map(|number| number.to_string()),
        4 => whole(2).map(|number| number.to_string()),
        5 => whole(4).map(|number| number.to_string()),
        6 => whole(8).map(|number| number.to_string()),
        7 => Some(Value::from(f64::from_le_bytes(bytes.get(..8)?.try_into().ok()?)).to_string()),
        8 => decimal(4),
        9 => decimal(8),
        10 => decimal(16),
        11 => {
            let day = DateTime::UNIX_EPOCH.checked_add_signed(TimeDelta::try_days(i64::try_from(whole(4)?).ok()?)?)?;
            text(day.format("%Y-%m-%d").to_string().as_bytes())
        }
        12 => micros(true, 1_000_000),
        13 => micros(false, 1_000_000),
        14 => serde_json::to_string(&f32::from_le_bytes(bytes.get(..4)?.try_into().ok()?)).ok(),
        15 => text(STANDARD.encode(sized()?).as_bytes()),
        16 => text(sized()?),
        18 => micros(true, 1_000_000_000),
        19 => micros(false, 1_000_000_000),
        20 => {
            let hex: String = bytes.get(..16)?.iter().map(|byte| format!("{byte:02x}")).collect();
            text(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]).as_bytes())
        }
        _ => None,
    }
}

/// A decimal number with `scale` digits after the point.
fn point(digits: i128, scale: usize) -> String {
    if scale == 0 {
        return digits.to_string();
    }
    let (sign, digits) =
        (if digits < 0 { "-" } else { "" }, format!("{:0>width$}", digits.unsigned_abs(), width = scale + 1));
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: &[u8], metadata: &[u8]) -> Option<String> {
        to_json(value, &Metadata::read(metadata)?, 0)
    }

    const NO_KEYS: &[u8] = &[1, 0, 0];

    #[test]
    fn values_of_all_kinds_are_their_json() {
        // {"a": 1}, as Spark writes it
        assert_eq!(json(&[2, 1, 0, 0, 2, 12, 1], &[1, 1, 0, 1, b'a']).unwrap(), r#"{"a":1}"#);
        let cases: [(&[u8], &str); 8] = [
            (&[0], "null"),
            (&[4], "true"),
            (&[3 << 2, 0xff], "-1"),
            (&[8 << 2, 2, 0xfb, 0xff, 0xff, 0xff], "-0.05"),
            (&[(3 << 2) | 1, b'a', b'"', b'b'], r#""a\"b""#),
            (&[3, 2, 0, 1, 2, 4, 8], "[true,false]"),
            (&[11 << 2, 1, 0, 0, 0], r#""1970-01-02""#),
            (&[15 << 2, 1, 0, 0, 0, b'a'], r#""YQ==""#),
        ];
        for (value, expected) in cases {
            assert_eq!(json(value, NO_KEYS).as_deref(), Some(expected));
        }
    }

    #[test]
    fn damaged_values_are_refused() {
        for value in [&[][..], &[2, 1, 5, 0, 2, 12, 1], &[2, 1, 0, 0], &[6 << 2, 1], &[63 << 2], &[3, 9, 0]] {
            assert_eq!(json(value, NO_KEYS), None, "{value:?}");
        }
        // An array whose only item is the array itself would never end.
        assert_eq!(json(&[3, 200, 0], NO_KEYS), None);
    }
}
