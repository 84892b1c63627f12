//! How many jobs finished, per minute and in all, where workers count them.

use redis::Cmd;

use super::{ask, ask_each, command};
use crate::connection::Link;
use crate::error::Result;
use crate::protocol::{job, reply, Keys};

/// A series of counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// In all.
    pub count: i64,
    /// When the newest minute of the series ended, and what was counted up to then.
    pub prev_ts: i64,
    pub prev_count: i64,
    /// Per minute, the newest first.
    pub data: Vec<i64>,
    /// How many minutes there are.
    pub length: i64,
}

/// Reads the minutes from `start` to `end`; `kind` is `completed` or `failed`.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn metrics(link: &Link, keys: &Keys, kind: &str, start: i64, end: i64) -> Result<Metrics> {
    let key = keys.of(&format!("metrics:{kind}"));
    let data = format!("{key}:data");
    let reads = [
        command("HMGET", &[&key, "count", "prevTS", "prevCount"]),
        command("LRANGE", &[&data, &start.to_string(), &end.to_string()]),
        command("LLEN", &[&data]),
    ];
    let [meta, minutes, length] = ask_each(link, reads).await?;
    let meta = reply::per_member(3, meta)?;
    let number = |at: usize| meta[at].as_deref().map_or(0, job::number);
    Ok(Metrics {
        count: number(0),
        prev_ts: number(1),
        prev_count: number(2),
        data: reply::texts(minutes)?.iter().map(|count| job::number(count.as_bytes())).collect(),
        length: reply::integer(length)?,
    })
}

/// How many jobs finished in all in each of these queues; `None` where no worker counts.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn metric_totals(link: &Link, queues: &[Keys], kind: &str) -> Result<Vec<Option<i64>>> {
    let key = |keys: &Keys| keys.of(&format!("metrics:{kind}"));
    let reads: Vec<Cmd> = queues.iter().map(|keys| command("HGET", &[&key(keys), "count"])).collect();
    let totals = ask(link, &reads).await?.into_iter();
    totals.map(|total| Ok(reply::optional(total)?.map(|count| job::number(&count)))).collect()
}
