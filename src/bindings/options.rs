//! Options as JSON, and their names. Python has checked them.

use pyo3::prelude::*;
use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};

use super::errors::to_py_err;
use bullrush::error;

/// Reads options that Python passes as JSON.
pub fn read<T: DeserializeOwned>(py: Python<'_>, json: &[u8]) -> PyResult<T> {
    serde_json::from_slice(json).map_err(|error| to_py_err(py, &error::Error::InvalidOption(error.to_string())))
}

/// The names of the options that the core reads.
pub fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    // It notes the names and reads nothing.
    let _ = T::deserialize(Names(&mut names));
    names
}

struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("only its names are asked for"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("no struct"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}
