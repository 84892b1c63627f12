//! What a program changes in a queue by hand.

use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};
use crate::reads::command;

/// How long a worker may take to see that a job is to be cancelled.
const CANCEL_MS: i64 = 60_000;

/// Asks the worker that runs a job to cancel it; false if no worker runs it. Two round trips.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn cancel_job(link: &Link, keys: &Keys, id: &str, reason: &str) -> Result<bool> {
    let token = link.call(command("GET", &[&keys.of(&format!("{id}:lock"))]), Retry::Look).await?;
    let Some(token) = reply::optional(token)? else { return Ok(false) };
    let (cancellations, entry) = (keys.of("ext:cancel"), format!("{} {reason}", String::from_utf8_lossy(&token)));
    let mut expire = command("PEXPIRE", &[&cancellations]);
    expire.arg(CANCEL_MS);
    let writes = [command("HSET", &[&cancellations, id, &entry]), expire];
    for written in link.pipeline(&writes, Retry::Safe).await? {
        written?;
    }
    Ok(true)
}

/// The id of the job that has a deduplication id; `None` if it is free.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn deduplication_owner(link: &Link, keys: &Keys, deduplication_id: &str) -> Result<Option<String>> {
    let owner = link.call(command("GET", &[&keys.of(&format!("de:{deduplication_id}"))]), Retry::Look).await?;
    Ok(reply::optional(owner)?.map(|owner| String::from_utf8_lossy(&owner).into_owned()))
}

/// Frees a deduplication id. Returns 1, or 0 if it was free.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn free_deduplication_id(link: &Link, keys: &Keys, deduplication_id: &str) -> Result<i64> {
    delete(link, &keys.of(&format!("de:{deduplication_id}"))).await
}

/// Ends the current rate limit. Returns 1, or 0 if there was none.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn end_rate_limit(link: &Link, keys: &Keys) -> Result<i64> {
    delete(link, &keys.of("limiter")).await
}

/// Deletes the key in which BullMQ before version 4 kept priorities. Returns 1, or 0 if there was none.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn remove_old_priorities(link: &Link, keys: &Keys) -> Result<i64> {
    delete(link, &keys.of("priority")).await
}

async fn delete(link: &Link, key: &str) -> Result<i64> {
    reply::integer(link.call(command("DEL", &[key]), Retry::InOrder).await?)
}

/// Shortens the event stream to about this many entries. Returns how many were removed.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn trim_events(link: &Link, keys: &Keys, most: i64) -> Result<i64> {
    let mut trim = command("XTRIM", &[&keys.of("events"), "MAXLEN", "~"]);
    trim.arg(most);
    reply::integer(link.call(trim, Retry::Safe).await?)
}

/// Publishes an event, with about `most` entries kept. It is sent once: nobody can tell whether it came when its reply
/// was lost.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn publish_event(link: &Link, keys: &Keys, most: i64, fields: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
    let mut add = command("XADD", &[&keys.of("events"), "MAXLEN", "~"]);
    add.arg(most).arg("*");
    for (name, value) in fields {
        add.arg(name).arg(value);
    }
    link.call(add, Retry::Never).await.map(drop)
}
