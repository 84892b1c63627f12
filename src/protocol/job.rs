//! A job as Redis stores it.

use std::borrow::Cow;
use std::sync::Arc;

use redis::Value;

use super::{packed, reply};
use crate::error::Result;

/// The id and the raw hash fields of one job, in its own buffer: a job that runs long does not keep the memory of
/// others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    pub id: Arc<str>,
    /// Names and values in turn, as MessagePack strings. Fields are read once or twice, so they need no index.
    packed: Box<[u8]>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Any,
    /// It has never run and has only the standard fields.
    Plain,
    /// Its key is not a hash.
    Foreign,
}

impl JobRecord {
    /// Reads a flat `[field, value, ...]` reply (or a RESP3 map).
    ///
    /// # Errors
    /// [`crate::error::Error::WrongShape`] when the reply has another shape.
    pub fn from_flat(id: &str, flat: Value) -> Result<Self> {
        let texts = reply::array(flat)?.into_iter().map(reply::bytes).collect::<Result<Vec<_>>>()?;
        Ok(Self::from_packed(id, &packed::texts(&texts)))
    }

    /// Copies names and values that were packed as MessagePack strings.
    pub(super) fn from_packed(id: &str, packed: &[u8]) -> Self {
        JobRecord { id: id.into(), packed: packed.into(), kind: Kind::Any }
    }

    /// Copies a job that has never run and has only the standard fields.
    pub(super) fn plain(id: &str, packed: &[u8]) -> Self {
        JobRecord { kind: Kind::Plain, ..Self::from_packed(id, packed) }
    }

    pub(super) fn foreign(id: &str) -> Self {
        JobRecord { kind: Kind::Foreign, ..Self::from_packed(id, &[]) }
    }

    /// The number of fields in the hash of a plain job.
    pub const PLAIN_FIELDS: usize = 6;

    /// Whether the job has never run and has only the standard fields: no parent, no deduplication id and no attempt
    /// made.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.kind == Kind::Plain
    }

    /// Whether its key is not a hash. Then it is missing as well.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.kind == Kind::Foreign
    }

    /// All raw fields, in the order of the hash.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = &*self.packed;
        std::iter::from_fn(move || Some((packed::text(&mut rest).ok()?, packed::text(&mut rest).ok()?)))
    }

    /// The approximate size of all fields in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.packed.len()
    }

    /// Whether there is no hash, or none with a field: the id is no job.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.packed.is_empty()
    }

    /// One raw field, `None` when absent.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&[u8]> {
        let wanted = field.as_bytes();
        self.fields().find(|(name, _)| *name == wanted).map(|(_, value)| value)
    }

    /// Several raw fields in one pass.
    #[must_use]
    pub fn pick<const N: usize>(&self, wanted: [&str; N]) -> [Option<&[u8]>; N] {
        let mut found = [None; N];
        for (name, value) in self.fields() {
            if let Some(at) = wanted.iter().position(|wanted| wanted.as_bytes() == name) {
                found[at] = Some(value);
            }
        }
        found
    }

    /// One field as text, `None` when absent or not UTF-8.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.get(field).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// One field as an integer; 0 when absent or not a number, as BullMQ's readers do.
    #[must_use]
    pub fn number(&self, field: &str) -> i64 {
        self.get(field).map_or(0, number)
    }

    /// The name; bytes that are not UTF-8 are replaced, as in BullMQ.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.get("name").unwrap_or_default())
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

    /// The delay in ms with which the job was added. The field `delay` is 0 once the job was due.
    #[must_use]
    pub fn first_delay(&self) -> i64 {
        let opts = self.opts();
        // Few jobs have one, and only theirs are parsed.
        if !opts.windows(8).any(|part| part == b"\"delay\":") {
            return 0;
        }
        let parsed = serde_json::from_slice::<serde_json::Value>(opts).unwrap_or_default();
        parsed.get("delay").and_then(serde_json::Value::as_i64).unwrap_or(0).max(0)
    }

    /// Attempts made so far. Bull's count `attemptsMade` may be there as well, until the next attempt ends.
    #[must_use]
    pub fn atm(&self) -> i64 {
        self.number("atm").max(self.number("attemptsMade"))
    }

    /// Attempts started so far.
    #[must_use]
    pub fn ats(&self) -> i64 {
        self.number("ats")
    }
}

/// An integer; 0 when the text is not one, as BullMQ's readers do.
#[must_use]
pub fn number(value: &[u8]) -> i64 {
    std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}
