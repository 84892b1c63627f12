//! Reads replies of scripts and commands; values are moved, not copied.

use redis::Value;

use super::{packed, JobRecord};
use crate::error::{Error, Result};

fn unexpected(wanted: &str, value: &Value) -> Error {
    // A reply may be very long: only a part is shown.
    let shown: String = match value {
        Value::Array(items) | Value::Set(items) => format!("an array of {}", items.len()),
        Value::Map(pairs) => format!("a map of {}", pairs.len()),
        Value::BulkString(bytes) => format!("{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(100)])),
        other => format!("{other:?}").chars().take(100).collect(),
    };
    Error::wrong_shape(&format!("{wanted}, got {shown}"))
}

/// # Errors
/// [`Error::WrongShape`] when the value has another type.
pub fn array(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(items) | Value::Set(items) => Ok(items),
        Value::Map(pairs) => Ok(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect()),
        Value::Nil => Ok(Vec::new()),
        other => Err(unexpected("an array", &other)),
    }
}

/// An array with this number of items.
///
/// # Errors
/// See [`array`].
pub fn exactly(count: usize, value: Value) -> Result<Vec<Value>> {
    match array(value)? {
        items if items.len() == count => Ok(items),
        items => Err(Error::wrong_shape(&format!("an array of {count}, got one of {}", items.len()))),
    }
}

/// # Errors
/// See [`array`].
pub fn bytes(value: Value) -> Result<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        Value::SimpleString(text) => Ok(text.into_bytes()),
        Value::Int(number) => Ok(number.to_string().into_bytes()),
        Value::Okay => Ok(b"OK".to_vec()),
        Value::Double(number) => Ok(number.to_string().into_bytes()),
        other => Err(unexpected("a string", &other)),
    }
}

/// # Errors
/// See [`array`].
pub fn text(value: Value) -> Result<String> {
    let bytes = bytes(value)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// # Errors
/// See [`array`].
pub fn texts(value: Value) -> Result<Vec<String>> {
    array(value)?.into_iter().map(text).collect()
}

/// # Errors
/// See [`array`].
pub fn integer(value: Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(number),
        Value::Nil => Ok(0),
        Value::Boolean(yes) => Ok(i64::from(yes)),
        Value::BulkString(ref digits) => match std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()) {
            Some(number) => Ok(number),
            None => Err(unexpected("an integer", &value)),
        },
        other => Err(unexpected("an integer", &other)),
    }
}

/// A reply of TIME in µs.
///
/// # Errors
/// See [`array`].
pub fn micros(value: Value) -> Result<i64> {
    let parts = exactly(2, value)?.into_iter().map(integer).collect::<Result<Vec<i64>>>()?;
    Ok(parts[0] * 1_000_000 + parts[1])
}

/// A string, or nothing.
///
/// # Errors
/// See [`array`].
pub fn optional(value: Value) -> Result<Option<Vec<u8>>> {
    match value {
        Value::Nil => Ok(None),
        value => bytes(value).map(Some),
    }
}

/// For each of the members that were asked for a string, or nothing.
///
/// # Errors
/// See [`array`].
pub fn per_member(count: usize, value: Value) -> Result<Vec<Option<Vec<u8>>>> {
    exactly(count, value)?.into_iter().map(optional).collect()
}

/// Names and values in turn.
///
/// # Errors
/// See [`array`].
pub fn pairs(value: Value) -> Result<Vec<(String, Vec<u8>)>> {
    let items = array(value)?;
    if items.len() % 2 != 0 {
        return Err(Error::wrong_shape(&format!("pairs, got {} items", items.len())));
    }
    let mut items = items.into_iter();
    let mut found = Vec::with_capacity(items.len() / 2);
    while let (Some(name), Some(value)) = (items.next(), items.next()) {
        found.push((text(name)?, bytes(value)?));
    }
    Ok(found)
}

/// Members of a sorted set with their scores.
///
/// # Errors
/// See [`array`].
pub fn scored(value: Value) -> Result<Vec<(String, f64)>> {
    let score = |digits: &[u8]| number(digits).ok_or_else(|| Error::wrong_shape("a score"));
    pairs(value)?.into_iter().map(|(member, digits)| Ok((member, score(&digits)?))).collect()
}

/// What a scan returns: where the next one begins, 0 at the end, and what it found.
///
/// # Errors
/// See [`array`].
pub fn page(value: Value) -> Result<(u64, Value)> {
    let mut parts = exactly(2, value)?.into_iter();
    let (cursor, found) = (parts.next().unwrap_or(Value::Nil), parts.next().unwrap_or(Value::Nil));
    let cursor = text(cursor)?.parse().map_err(|_| Error::wrong_shape("a cursor"))?;
    Ok((cursor, found))
}

/// A whole number as any client may have written it, without its fraction; `None` if it is not one.
#[must_use]
pub fn whole(digits: &[u8]) -> Option<f64> {
    number(digits).filter(|number| number.is_finite()).map(f64::trunc)
}

fn number(digits: &[u8]) -> Option<f64> {
    std::str::from_utf8(digits).ok()?.trim().parse().ok()
}

/// Whether a number is 1.
///
/// # Errors
/// See [`array`].
pub fn yes(value: Value) -> Result<bool> {
    Ok(integer(value)? == 1)
}

/// Nothing of the reply counts.
///
/// # Errors
/// Never.
pub fn any(_: Value) -> Result<()> {
    Ok(())
}

/// Reads the packed jobs of a fetching script; none when there is no such element.
///
/// # Errors
/// See [`array`].
pub fn jobs(value: Option<Value>) -> Result<Vec<JobRecord>> {
    value.map_or(Ok(Vec::new()), |value| packed::jobs(&bytes(value)?))
}

/// Turns a negative reply into BullMQ's error; returns any other number.
///
/// # Errors
/// [`Error::Code`] for a negative number, else see [`array`].
pub fn checked(value: Value, id: &str, command: &str, state: &str) -> Result<i64> {
    match integer(value)? {
        code if code < 0 => Err(Error::code(code, id, command, state)),
        number => Ok(number),
    }
}

/// The form of a command's reply.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Number,
    /// A text or nothing.
    Text,
    Texts,
    /// Names and values in turn.
    Pairs,
    /// A text or nothing for each member that was asked for.
    PerMember,
    /// A cursor and texts.
    Page,
    /// A cursor, and names and values in turn.
    PageOfPairs,
}

/// Returns the reply if it has this shape; `members` is how many members were asked for.
///
/// # Errors
/// See [`array`].
pub fn checked_shape(shape: Shape, members: usize, value: Value) -> Result<Value> {
    let fits = match (shape, &value) {
        (Shape::Number, value) => matches!(value, Value::Int(_)),
        (Shape::Text, value) => is_text_or_nil(value),
        (Shape::Texts, Value::Array(items) | Value::Set(items)) => items.iter().all(is_text_or_nil),
        (Shape::Pairs, Value::Array(items)) => items.len() % 2 == 0 && items.iter().all(is_text),
        (Shape::Pairs, Value::Map(pairs)) => pairs.iter().all(|(name, value)| is_text(name) && is_text(value)),
        (Shape::PerMember, Value::Array(items)) => items.len() == members && items.iter().all(is_text_or_nil),
        (Shape::Page | Shape::PageOfPairs, Value::Array(items)) => match &items[..] {
            [cursor, Value::Array(texts)] => {
                let even = texts.len() % 2 == 0 || matches!(shape, Shape::Page);
                is_text(cursor) && even && texts.iter().all(is_text)
            }
            _ => false,
        },
        _ => false,
    };
    if fits {
        return Ok(value);
    }
    Err(unexpected(&format!("{shape:?}").to_lowercase(), &value))
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::BulkString(_) | Value::SimpleString(_) | Value::Okay | Value::Double(_))
}

fn is_text_or_nil(value: &Value) -> bool {
    is_text(value) || matches!(value, Value::Nil)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_of_another_shape_is_an_error_that_shows_a_part_of_it() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let endless = Value::Array(vec![text("x"); 10_001]);
        for (shape, value) in [
            (Shape::Number, text("1")),
            (Shape::Text, Value::Int(1)),
            (Shape::Pairs, endless.clone()),
            (Shape::PerMember, endless.clone()),
            (Shape::Page, endless),
            (Shape::Texts, Value::Nil),
        ] {
            let error = checked_shape(shape, 2, value).unwrap_err();
            assert!(error.to_string().len() < 300, "{error}");
        }
        assert!(checked_shape(Shape::PerMember, 2, Value::Array(vec![Value::Nil, text("x")])).is_ok());
        assert!(exactly(3, Value::Array(vec![])).is_err());
    }
}
