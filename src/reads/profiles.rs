//! What the live workers of a queue have.

use super::{ask_each, command};
use crate::connection::Link;
use crate::error::Result;
use crate::protocol::{reply, Keys};
use crate::reads::servers::time_of;

/// The profile of a worker that is older than this is that of a dead one.
const LIVE_MS: i64 = 30_000;

/// The ids of the live workers with a profile, and the JSON of their entries.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn profiles(link: &Link, keys: &Keys) -> Result<Vec<(String, Vec<u8>)>> {
    let reads = [command("HGETALL", &[&keys.of("ext:workers")]), redis::cmd("TIME")];
    let [workers, time] = ask_each(link, reads).await?;
    let now = time_of(time)?;
    let is_live = |entry: &[u8]| live_profile(entry, now).is_some_and(|profile| profile.is_object());
    Ok(reply::pairs(workers)?.into_iter().filter(|(_, entry)| is_live(entry)).collect())
}

/// The profile in an entry of `ext:workers`; `None` if it is too old, or if something else wrote it.
#[must_use]
pub fn live_profile(entry: &[u8], now: i64) -> Option<serde_json::Value> {
    let mut entry: serde_json::Value = serde_json::from_slice(entry).ok()?;
    let is_live = now - entry.get("ts")?.as_i64()? <= LIVE_MS;
    is_live.then(|| entry.get_mut("profile").map(serde_json::Value::take)).flatten()
}
