//! The names of a queue's keys: `<prefix>:<queue>:<suffix>`.

use std::sync::Arc;

use base64::prelude::{Engine, BASE64_STANDARD};

use crate::error::{Error, Result};

/// The key names of one queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keys {
    prefix: Arc<str>,
    name: Arc<str>,
    base: Arc<str>,
    meta: Arc<str>,
    marker: Arc<str>,
}

impl Keys {
    /// # Errors
    /// [`Error::QueueName`] when the name is empty or holds a colon.
    pub fn new(prefix: &str, name: &str) -> Result<Self> {
        if name.is_empty() {
            return Err(Error::QueueName("Queue name must be provided".into()));
        }
        if name.contains(':') {
            return Err(Error::QueueName("Queue name cannot contain :".into()));
        }
        Ok(Self::named(prefix, name))
    }

    fn named(prefix: &str, name: &str) -> Self {
        let base = format!("{prefix}:{name}:");
        Keys {
            prefix: prefix.into(),
            name: name.into(),
            meta: format!("{base}meta").into(),
            marker: format!("{base}marker").into(),
            base: base.into(),
        }
    }

    /// The keys of what queues share: all those with this prefix and the same hash tag in their names, or without one.
    /// A queue whose name is that tag has these keys among its own; BullMQ allows no name that is empty.
    #[must_use]
    pub fn home(&self) -> Keys {
        let tag = if hash_tag(&self.prefix).is_some() { None } else { hash_tag(&self.name) };
        let name = tag.map(|tag| format!("{{{tag}}}")).unwrap_or_default();
        Self::named(&self.prefix, &name)
    }

    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `<prefix>:<queue>:`, with the trailing colon.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The key that every script declares; all other keys of the queue are derived from it.
    #[must_use]
    pub fn meta(&self) -> &str {
        &self.meta
    }

    #[must_use]
    pub fn marker(&self) -> &str {
        &self.marker
    }

    /// `<prefix>:<queue>:<suffix>`.
    #[must_use]
    pub fn of(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.base)
    }

    /// The list of the jobs that the workers of a run finished.
    #[must_use]
    pub fn run(&self, run: &str) -> String {
        self.of(&format!("ext:run-{run}"))
    }

    /// The name of the connection of a worker that has no name of its own; after that of any other comes `:w:<name>`.
    #[must_use]
    pub fn client_name(&self) -> String {
        format!("{}:{}", self.prefix, BASE64_STANDARD.encode(self.name.as_bytes()))
    }

    /// The hash of a job.
    #[must_use]
    pub fn job(&self, id: &str) -> String {
        self.of(id)
    }

    /// The slot of a cluster in which `meta` is, and all other keys of the queue if it [has a hash
    /// tag](Keys::has_hash_tag).
    #[must_use]
    pub fn slot(&self) -> u16 {
        slot(&self.meta)
    }

    /// Whether all keys of this queue share a cluster slot because of a `{hash tag}`.
    #[must_use]
    pub fn has_hash_tag(&self) -> bool {
        hash_tag(&self.base).is_some()
    }
}

/// The part of a key that decides its cluster slot: the text in the first pair of braces.
#[must_use]
pub fn hash_tag(key: &str) -> Option<&str> {
    let (_, after) = key.split_once('{')?;
    let (tag, _) = after.split_once('}')?;
    (!tag.is_empty()).then_some(tag)
}

/// How many slots the keys of a cluster are divided into.
const SLOTS: u16 = 16384;

/// The slot of a key: CRC-16 (XMODEM) of its hash tag, or of the whole key if it has none.
#[must_use]
pub fn slot(key: &str) -> u16 {
    let crc = hash_tag(key).unwrap_or(key).bytes().fold(0u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 })
    });
    crc % SLOTS
}
