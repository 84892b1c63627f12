//! A server, and the queues on it.

use std::collections::BTreeMap;

use redis::Value;

use super::command;
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::reply;

/// A master of a cluster: its host and port as the cluster names them, and the first and last slot of each of its
/// parts.
pub type Master = (String, Vec<(i64, i64)>);

/// The clock of the server, in ms.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn server_time(link: &Link) -> Result<i64> {
    time_of(link.call(redis::cmd("TIME"), Retry::Look).await?)
}

/// A reply of TIME in ms.
pub(super) fn time_of(reply: Value) -> Result<i64> {
    Ok(reply::micros(reply)? / 1_000)
}

/// Whether the server answers.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn ping(link: &Link) -> Result<()> {
    link.call(redis::cmd("PING"), Retry::Look).await.map(drop)
}

/// Whether the server is a replica, which only reads.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn is_replica(link: &Link) -> Result<bool> {
    let info = reply::text(link.call(command("INFO", &["replication"]), Retry::Look).await?)?;
    Ok(info.lines().any(|line| line == "role:slave"))
}

/// The masters of a cluster that have slots.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn masters(link: &Link) -> Result<Vec<Master>> {
    let mut masters: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
    for row in reply::array(link.call(command("CLUSTER", &["SLOTS"]), Retry::Look).await?)? {
        let mut parts = reply::array(row)?.into_iter();
        let mut next = || parts.next().unwrap_or(Value::Nil);
        let slots = (reply::integer(next())?, reply::integer(next())?);
        let mut master = reply::array(next())?.into_iter();
        let mut next = || master.next().unwrap_or(Value::Nil);
        let host = reply::optional(next())?.unwrap_or_default();
        let address = format!("{}:{}", String::from_utf8_lossy(&host), reply::integer(next())?);
        masters.entry(address).or_default().push(slots);
    }
    Ok(masters.into_iter().collect())
}

/// Scans about `count` keys that begin with this text and end as this pattern says. Returns where to go on, 0 at the
/// end, and the keys; one may come twice.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn scan(
    link: &Link,
    beginning: &str,
    end: &str,
    cursor: u64,
    count: u64,
    kind: Option<&str>,
) -> Result<(u64, Vec<Vec<u8>>)> {
    let mut read = redis::cmd("SCAN");
    read.arg(cursor).arg("MATCH").arg(format!("{}*{end}", escaped(beginning))).arg("COUNT").arg(count);
    if let Some(kind) = kind {
        read.arg("TYPE").arg(kind);
    }
    let (next, found) = reply::page(link.call(read, Retry::Look).await?)?;
    Ok((next, reply::array(found)?.into_iter().map(reply::bytes).collect::<Result<_>>()?))
}

/// A text as a pattern that only this text matches.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}
