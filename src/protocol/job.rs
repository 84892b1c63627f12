//! A job as Redis holds it.

use redis::Value;

use super::reply;
use crate::error::Result;

/// The id and the raw hash fields of one job, moved out of a reply without copying.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRecord {
    pub id: String,
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl JobRecord {
    /// Reads a flat `[field, value, ...]` reply (or a RESP3 map).
    ///
    /// # Errors
    /// [`crate::error::Error::Server`] when the reply has another shape.
    pub fn from_flat(id: String, flat: Value) -> Result<Self> {
        let mut items = reply::array(flat)?.into_iter();
        let mut fields = Vec::with_capacity(items.len() / 2);
        while let (Some(field), Some(value)) = (items.next(), items.next()) {
            fields.push((reply::bytes(field)?, reply::bytes(value)?));
        }
        Ok(JobRecord { id, fields })
    }

    /// Whether the hash had no field at all: the job does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.fields.is_empty()
    }

    /// One raw field, `None` when absent.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&[u8]> {
        let wanted = field.as_bytes();
        let found = self.fields.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_slice())
    }

    /// One field as text, `None` when absent or not UTF-8.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.get(field).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// One field as an integer; 0 when absent or not a number, as BullMQ's readers do.
    #[must_use]
    pub fn number(&self, field: &str) -> i64 {
        self.text(field).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    #[must_use]
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    /// The JSON of the job's data, `{}` when absent.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        self.get("data").unwrap_or(b"{}")
    }

    /// The JSON of the job's options, `{}` when absent.
    #[must_use]
    pub fn opts(&self) -> &[u8] {
        self.get("opts").unwrap_or(b"{}")
    }

    /// Attempts made so far; the legacy `attemptsMade` goes first, as in BullMQ.
    #[must_use]
    pub fn atm(&self) -> i64 {
        match self.get("attemptsMade") {
            Some(_) => self.number("attemptsMade"),
            None => self.number("atm"),
        }
    }

    /// Attempts started so far, including this one.
    #[must_use]
    pub fn ats(&self) -> i64 {
        self.number("ats")
    }
}
