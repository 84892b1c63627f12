//! One scalar of JSON, and how it is read as a value of a column's type.
//!
//! JSON has fewer types than Arrow, and other languages write numbers in other ways. So a value is taken if nothing of it gets lost:
//! `3.0` is an integer and `3.5` is not, `"12"` is a number, and a text column takes any value as its JSON.

use arrow_array::types::Date32Type;
use arrow_cast::parse::{string_to_datetime, Parser};
use arrow_schema::TimeUnit;
use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use chrono::{DateTime, Utc};

/// A JSON value that is not taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    Null,
    Bool(bool),
    /// The digits as they were written.
    Number(&'a str),
    /// The content of a string.
    Text(&'a str),
    /// The JSON of an object or an array.
    Composite(&'a str),
}

impl<'a> Scalar<'a> {
    /// The value as text; a number, an object and an array keep the form in which they were written.
    pub fn text(self) -> Option<&'a str> {
        match self {
            Scalar::Null => None,
            Scalar::Bool(true) => Some("true"),
            Scalar::Bool(false) => Some("false"),
            Scalar::Number(text) | Scalar::Text(text) | Scalar::Composite(text) => Some(text),
        }
    }

    pub fn bool(self) -> Option<bool> {
        match self {
            Scalar::Bool(value) => Some(value),
            Scalar::Text("true") => Some(true),
            Scalar::Text("false") => Some(false),
            _ => None,
        }
    }

    pub fn integer(self) -> Option<i64> {
        let text = self.digits()?;
        text.parse().ok().or_else(|| whole(text.parse().ok()?))
    }

    pub fn float(self) -> Option<f64> {
        self.digits()?.parse().ok()
    }

    /// The value times 10^`scale`, rounded; `None` when it has more than `precision` digits.
    pub fn decimal(self, precision: u8, scale: i8) -> Option<i128> {
        decimal(self.digits()?, precision, scale)
    }

    /// Base64, as job data is written.
    pub fn binary(self) -> Option<Vec<u8>> {
        match self {
            Scalar::Text(text) => STANDARD.decode(text).ok(),
            _ => None,
        }
    }

    /// Days since 1970 of a date, or of the date of a timestamp.
    pub fn date(self) -> Option<i32> {
        let Scalar::Text(text) = self else { return None };
        match Date32Type::parse(text) {
            Some(days) => Some(days),
            None => i32::try_from(string_to_datetime(&Utc, text).ok()?.timestamp().div_euclid(86_400)).ok(),
        }
    }

    /// An instant since 1970 in this unit: an ISO 8601 text (in UTC if it has no offset), or a number of ms.
    pub fn instant(self, unit: TimeUnit) -> Option<i64> {
        let at = match self {
            Scalar::Number(_) => DateTime::from_timestamp_millis(self.integer()?)?,
            Scalar::Text(text) => string_to_datetime(&Utc, text).ok()?,
            _ => return None,
        };
        match unit {
            TimeUnit::Second => Some(at.timestamp()),
            TimeUnit::Millisecond => Some(at.timestamp_millis()),
            TimeUnit::Microsecond => Some(at.timestamp_micros()),
            TimeUnit::Nanosecond => at.timestamp_nanos_opt(),
        }
    }

    fn digits(self) -> Option<&'a str> {
        match self {
            Scalar::Number(text) => Some(text),
            Scalar::Text(text) => Some(text.trim()),
            _ => None,
        }
    }
}

/// A whole number that is written as `3.0` or `3e2`.
fn whole(value: f64) -> Option<i64> {
    // The bounds are 2^63, which doubles hold exactly.
    let fits = value.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    #[expect(clippy::cast_possible_truncation, reason = "checked above")]
    fits.then_some(value as i64)
}

fn decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // How many of the digits stand before the point of the result.
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent) + i64::from(scale);
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    if zeros == digits.len() {
        return Some(0);
    }
    if point - i64::try_from(zeros).ok()? > i64::from(precision) {
        return None;
    }
    let digit = |at: i64| usize::try_from(at).ok().and_then(|at| digits.get(at)).map_or(0, |digit| digit - b'0');
    let mut value: i128 = 0;
    for at in i64::try_from(zeros).ok()?..point.max(0) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit(at)))?;
    }
    if digit(point) >= 5 {
        value = value.checked_add(1)?;
    }
    let fits = value < 10_i128.checked_pow(u32::from(precision))?;
    fits.then_some(if negative { -value } else { value })
}
