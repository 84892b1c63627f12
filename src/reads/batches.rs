//! Batches of `enqueue`: how many jobs they added, and with which servers they were begun.

use redis::Cmd;

use super::{ask, command};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// How many jobs of a batch were really added to each of these queues.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn batch_counts(link: &Link, queues: &[Keys], batch_id: &str) -> Result<Vec<i64>> {
    let key = |keys: &Keys| keys.of(&format!("ext:enq-{batch_id}"));
    let reads: Vec<Cmd> = queues.iter().map(|keys| command("GET", &[&key(keys)])).collect();
    ask(link, &reads).await?.into_iter().map(reply::integer).collect()
}

/// The place of this server in the list with which a batch was begun, as [`crate::writes::batches::note_place`] wrote
/// it.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn place_of_batch(link: &Link, keys: &Keys, batch_id: &str) -> Result<Option<String>> {
    let read = command("GET", &[&keys.of(&format!("ext:servers-{batch_id}"))]);
    match reply::optional(link.call(read, Retry::Look).await?)? {
        None => Ok(None),
        Some(place) => Ok(Some(String::from_utf8_lossy(&place).into_owned())),
    }
}
