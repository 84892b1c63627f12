//! The job schedulers of a queue.

use redis::{Cmd, Value};

use super::{ask, ask_each, command};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// How many schedulers are read per round trip.
const PAGE: usize = 250;

/// A scheduler as it is stored: its id, when its latest job is due, and the fields of its hash.
pub type Stored = (String, f64, Vec<(String, String)>);

/// Reads a scheduler; `None` if there is none.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn scheduler(link: &Link, keys: &Keys, id: &str) -> Result<Option<Stored>> {
    let reads = [command("ZSCORE", &[&keys.of("repeat"), id]), hash(keys, id)];
    let [next, fields] = ask_each(link, reads).await?;
    let Some(next) = reply::optional(next)? else { return Ok(None) };
    Ok(Some((id.to_owned(), reply::whole(&next).unwrap_or(0.0), texts(fields)?)))
}

/// Reads the schedulers from one place to another by the times of their latest jobs.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn schedulers(link: &Link, keys: &Keys, start: i64, end: i64, asc: bool) -> Result<Vec<Stored>> {
    let mut read = command(if asc { "ZRANGE" } else { "ZREVRANGE" }, &[&keys.of("repeat")]);
    read.arg(start).arg(end).arg("WITHSCORES");
    let listed = reply::scored(link.call(read, Retry::Look).await?)?;
    let mut found = Vec::with_capacity(listed.len());
    for page in listed.chunks(PAGE) {
        let reads: Vec<Cmd> = page.iter().map(|(id, _)| hash(keys, id)).collect();
        for ((id, next), fields) in page.iter().zip(ask(link, &reads).await?) {
            found.push((id.clone(), *next, texts(fields)?));
        }
    }
    Ok(found)
}

/// How many schedulers there are.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn count_schedulers(link: &Link, keys: &Keys) -> Result<i64> {
    reply::integer(link.call(command("ZCARD", &[&keys.of("repeat")]), Retry::Look).await?)
}

/// What `@tasks.cron` noted of the schedulers that it made: [`crate::writes::cron`].
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn noted_crons(link: &Link, keys: &Keys) -> Result<Vec<String>> {
    reply::texts(link.call(command("SMEMBERS", &[&keys.of("ext:cron")]), Retry::Look).await?)
}

fn texts(fields: Value) -> Result<Vec<(String, String)>> {
    let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
    Ok(reply::pairs(fields)?.into_iter().map(|(name, value)| (name, text(value))).collect())
}

fn hash(keys: &Keys, id: &str) -> Cmd {
    command("HGETALL", &[&keys.of(&format!("repeat:{id}"))])
}
