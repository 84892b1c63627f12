//! The entries of a stream that are there already, for who reads it page after page.

use redis::Value;

use super::reader::Entry;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Keys};

/// Reads at most `count` entries after one id, up to another one.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn entries_between(link: &Link, keys: &Keys, after: &str, until: &str, count: u64) -> Result<Vec<Entry>> {
    let mut read = redis::cmd("XRANGE");
    read.arg(keys.of("events")).arg(format!("({after}")).arg(until).arg("COUNT").arg(count);
    reply::array(link.call(read, Retry::Look).await?)?.into_iter().map(Entry::from_value).collect()
}

/// The ends of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The id of the first entry; `None` if there is none.
    pub first: Option<String>,
    /// The id of the last entry that was ever added; `None` without a stream.
    pub last: Option<String>,
}

/// Asks for the ends of a stream, in one round trip.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn ends(link: &Link, keys: &Keys) -> Result<Ends> {
    let key = keys.of("events");
    let (mut exists, mut ask) = (redis::cmd("EXISTS"), redis::cmd("XINFO"));
    exists.arg(&key);
    ask.arg("STREAM").arg(&key);
    let mut replies = link.pipeline(&[exists, ask], Retry::Look).await?.into_iter();
    let (Some(exists), Some(asked)) = (replies.next(), replies.next()) else { return Err(Error::Closed) };
    if !reply::yes(exists?)? {
        return Ok(Ends::default());
    }
    let mut found = Ends::default();
    let mut parts = reply::array(asked?)?.into_iter();
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        match reply::text(name)?.as_str() {
            "first-entry" if value != Value::Nil => found.first = Some(Entry::from_value(value)?.id),
            "last-generated-id" => found.last = Some(reply::text(value)?),
            _ => {}
        }
    }
    Ok(found)
}
