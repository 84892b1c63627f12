//! One scalar of JSON, and how it is read as a value of a column's type.
//!
//! JSON has fewer types than Arrow, and other languages write numbers in other ways. So a value is taken if nothing of
//! it gets lost: `3.0` is an integer and `3.5` is not, `"12"` is a number, and a text column takes any value as its
//! JSON.

use arrow_array::types::Date32Type;
use arrow_cast::parse::{string_to_datetime, Parser};
use arrow_schema::TimeUnit;
use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use chrono::Utc;

/// As many decimal digits as an `i128` always holds.
const MOST_DIGITS: u8 = 38;

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

    /// A whole number of any size, also if it is written as `3.0` or `3e2`.
    pub fn integer(self) -> Option<i128> {
        let text = self.digits()?;
        text.parse::<i64>().map(i128::from).ok().or_else(|| decimal(text, MOST_DIGITS, 0))
    }

    /// The nearest double; `None` beyond the largest one.
    pub fn float(self) -> Option<f64> {
        let text = self.digits()?;
        text.parse().ok().filter(|value: &f64| value.is_finite() || !has_digits(text))
    }

    /// The nearest number that a float of 32 bits can be; `None` beyond the largest one.
    pub fn single(self) -> Option<f64> {
        let text = self.digits()?;
        text.parse().ok().filter(|value: &f32| value.is_finite() || !has_digits(text)).map(f64::from)
    }

    /// The value times 10^`scale`; `None` when it has more digits than that, or more than `precision` in all.
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

    /// Days since 1970 of a date, or of a timestamp at midnight in UTC.
    pub fn date(self) -> Option<i32> {
        let Scalar::Text(text) = self else { return None };
        if text.len() <= 10 || text.starts_with(['+', '-']) {
            // Longer texts have a time, which would be cut off here; but for years with a sign.
            return Date32Type::parse(text);
        }
        let at = string_to_datetime(&Utc, text).ok()?;
        let is_midnight = at.timestamp().rem_euclid(86_400) == 0 && at.timestamp_subsec_nanos() == 0;
        is_midnight.then(|| i32::try_from(at.timestamp().div_euclid(86_400)).ok()).flatten()
    }

    /// An instant since 1970 in this unit: an ISO 8601 text (in UTC if it has no offset), or a number of ms. `None`
    /// when it lies between two units.
    pub fn instant(self, unit: TimeUnit) -> Option<i64> {
        let nanos = match self {
            Scalar::Number(text) => decimal(text, MOST_DIGITS, 6)?,
            Scalar::Text(text) => {
                let at = string_to_datetime(&Utc, text).ok()?;
                i128::from(at.timestamp()) * 1_000_000_000 + i128::from(at.timestamp_subsec_nanos())
            }
            _ => return None,
        };
        let per_unit = match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Nanosecond => 1,
        };
        (nanos % per_unit == 0).then(|| i64::try_from(nanos / per_unit).ok()).flatten()
    }

    fn digits(self) -> Option<&'a str> {
        match self {
            Scalar::Number(text) => Some(text),
            Scalar::Text(text) => Some(text.trim()),
            _ => None,
        }
    }
}

/// Whether a text is a number, and not a name such as `Infinity`, which a float may have.
fn has_digits(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
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
    let end = usize::try_from(point.max(0)).ok()?;
    if digits.iter().skip(end).any(|&digit| digit != b'0') {
        return None;
    }
    let mut value: i128 = 0;
    for at in zeros..end {
        let digit = digits.get(at).map_or(0, |digit| digit - b'0');
        value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    let fits = value < 10_i128.checked_pow(u32::from(precision))?;
    fits.then_some(if negative { -value } else { value })
}
