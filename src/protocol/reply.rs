//! Reading script replies by moving values out of them.

use redis::Value;

use super::{packed, JobRecord};
use crate::error::{Error, Result};

fn unexpected(wanted: &str, value: &Value) -> Error {
    Error::Server { code: "REPLY".into(), message: format!("expected {wanted}, got {value:?}") }
}

/// # Errors
/// [`Error::Server`] when the value is something else; so for all functions here.
pub fn array(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(items) | Value::Set(items) => Ok(items),
        Value::Map(pairs) => Ok(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect()),
        Value::Nil => Ok(Vec::new()),
        other => Err(unexpected("an array", &other)),
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

/// Reads the packed jobs of a fetching script; none where there is no such element.
///
/// # Errors
/// See [`array`].
pub fn jobs(value: Option<Value>) -> Result<Vec<JobRecord>> {
    value.map_or(Ok(Vec::new()), |value| packed::jobs(&bytes(value)?))
}

/// Turns a negative reply into BullMQ's error and passes any other number on.
///
/// # Errors
/// [`Error::Code`] for a negative number, else see [`array`].
pub fn checked(value: Value, id: &str, command: &str, state: &str) -> Result<i64> {
    match integer(value)? {
        code if code < 0 => Err(Error::code(code, id, command, state)),
        number => Ok(number),
    }
}
