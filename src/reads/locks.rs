//! Who holds jobs: the locks of active jobs.

use redis::Cmd;

use super::{ask, command};
use crate::connection::Link;
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// The token of a lock, and the ms until it ends: -2 without a lock, -1 for one without an end.
pub type Lock = (Option<Vec<u8>>, i64);

/// The locks of these jobs. The token begins with what is unique to a worker.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn locks(link: &Link, keys: &Keys, ids: &[String]) -> Result<Vec<Lock>> {
    let mut reads: Vec<Cmd> = Vec::with_capacity(2 * ids.len());
    for id in ids {
        let lock = keys.of(&format!("{id}:lock"));
        reads.push(command("GET", &[&lock]));
        reads.push(command("PTTL", &[&lock]));
    }
    let mut found = Vec::with_capacity(ids.len());
    let mut replies = ask(link, &reads).await?.into_iter();
    while let (Some(token), Some(left)) = (replies.next(), replies.next()) {
        found.push((reply::optional(token)?, reply::integer(left)?));
    }
    Ok(found)
}
