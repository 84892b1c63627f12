//! Reads the stream from a position that stays when the connection changes.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};

use crate::connection::{BlockingLink, Endpoint};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// Before the first entry of any stream.
pub const BEGINNING: &str = "0-0";
/// Entries per read: enough for a busy queue, and small in memory.
const BATCH: usize = 256;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    /// In the order of the stream; `event` is the first.
    pub fields: Vec<(String, String)>,
}

impl Entry {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn from_value(value: Value) -> Result<Self> {
        let mut parts = reply::array(value)?.into_iter();
        let (id, fields) = (parts.next().unwrap_or(Value::Nil), parts.next().unwrap_or(Value::Nil));
        let mut texts = reply::texts(fields)?.into_iter();
        let mut entry = Entry { id: reply::text(id)?, fields: Vec::new() };
        while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
            entry.fields.push((name, value));
        }
        Ok(entry)
    }
}

/// Waits for entries on a connection of its own.
pub struct Reader {
    link: BlockingLink,
    key: String,
    block: Duration,
    /// The generation of the connection on which the position was last compared with the stream.
    compared: u64,
}

impl Reader {
    /// Does no I/O. `client_name` is what `getQueueEvents` looks for, `block` how long one wait lasts.
    #[must_use]
    pub fn new(endpoint: Arc<Endpoint>, client_name: String, keys: &Keys, block: Duration) -> Self {
        Reader { link: BlockingLink::new(endpoint, Some(client_name)), key: keys.of("events"), block, compared: 0 }
    }

    /// Connects and returns the position to read from: `after`, or the end of the stream if that is `None`.
    ///
    /// A stream that ends before `after` is another one: the server has lost its data, or a replica that lags became
    /// the primary. Then reading continues from the end of the stream, since a wait for entries after `after` could
    /// last forever.
    ///
    /// # Errors
    /// See [`BlockingLink::wait`].
    pub async fn connect(&mut self, after: Option<&str>) -> Result<String> {
        self.link.connect().await?;
        if let (Some(after), true) = (after, self.compared == self.link.generation()) {
            return Ok(after.to_owned());
        }
        let mut last = command("XREVRANGE", &self.key);
        last.arg("+").arg("-").arg("COUNT").arg(1);
        let newest = |reply| reply::array(reply)?.pop().map(Entry::from_value).transpose();
        let end = self.link.ask(&last, newest).await?.map(|entry| entry.id);
        self.compared = self.link.generation();
        Ok(match (after, end) {
            (None, end) => end.unwrap_or_else(|| BEGINNING.to_owned()),
            (Some(after), Some(end)) if place(&end) < place(after) => end,
            (Some(after), _) => after.to_owned(),
        })
    }

    /// Waits for entries after a position; returns none when the wait is over.
    ///
    /// # Errors
    /// See [`BlockingLink::wait`].
    pub async fn read(&mut self, after: &str) -> Result<Vec<Entry>> {
        let mut read = Cmd::new();
        read.arg("XREAD").arg("COUNT").arg(BATCH).arg("BLOCK").arg(self.block.as_millis() as u64);
        read.arg("STREAMS").arg(&self.key).arg(after);
        self.link.wait(&read, self.block, entries).await
    }
}

fn entries(reply: Value) -> Result<Vec<Entry>> {
    entry_values(reply)?.into_iter().map(Entry::from_value).collect()
}

/// The entries of the one stream that XREAD was asked for: its name and its entries, as a pair (RESP2) or flat, as the
/// map of RESP3.
///
/// # Errors
/// [`crate::error::Error::WrongShape`]: a reply of another form.
pub fn entry_values(reply: Value) -> Result<Vec<Value>> {
    let mut streams = reply::array(reply)?;
    let entries = match streams.pop() {
        None => return Ok(Vec::new()),
        Some(last) if streams.is_empty() => reply::exactly(2, last)?.pop().unwrap_or(Value::Nil),
        Some(last) => last,
    };
    reply::array(entries)
}

fn command(name: &str, key: &str) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(key);
    command
}

/// An entry's id as numbers, which sort in the order of the stream.
#[must_use]
pub fn place(id: &str) -> (u64, u64) {
    let (ms, sequence) = id.split_once('-').unwrap_or((id, "0"));
    (ms.parse().unwrap_or(0), sequence.parse().unwrap_or(0))
}
