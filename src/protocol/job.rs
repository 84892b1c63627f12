//! A job as Redis holds it.

use std::ops::Range;

use redis::Value;

use super::reply;
use crate::error::Result;

/// The id and the raw hash fields of one job, in one buffer of its own: a slow job keeps no other one's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRecord {
    pub id: String,
    bytes: Vec<u8>,
    /// Where in the buffer each field's name and value lie.
    fields: Vec<(Range<u32>, Range<u32>)>,
}

impl JobRecord {
    /// Reads a flat `[field, value, ...]` reply (or a RESP3 map).
    ///
    /// # Errors
    /// [`crate::error::Error::Server`] when the reply has another shape.
    pub fn from_flat(id: String, flat: Value) -> Result<Self> {
        let texts = reply::array(flat)?.into_iter().map(reply::bytes).collect::<Result<Vec<_>>>()?;
        Ok(Self::from_parts(id, texts.len(), texts.iter().map(Vec::as_slice)))
    }

    /// Copies `count` names and values, one after the other.
    pub(super) fn from_parts<'a>(id: String, count: usize, parts: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let mut bytes = Vec::with_capacity(parts.clone().map(<[u8]>::len).sum());
        let mut fields = Vec::with_capacity(count / 2);
        let mut parts = parts.map(|part| {
            let start = bytes.len();
            bytes.extend_from_slice(part);
            // A value of Redis has at most 512 MB.
            start as u32..bytes.len() as u32
        });
        while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            fields.push((name, value));
        }
        drop(parts);
        JobRecord { id, bytes, fields }
    }

    fn slice(&self, range: &Range<u32>) -> &[u8] {
        &self.bytes[range.start as usize..range.end as usize]
    }

    /// All raw fields, in the order of the hash.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|(name, value)| (self.slice(name), self.slice(value)))
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
        self.fields().find(|(name, _)| *name == wanted).map(|(_, value)| value)
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
