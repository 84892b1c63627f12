//! Orphaned jobs: jobs that are in no state of a queue, and left-over keys of removed jobs.

use std::collections::HashSet;

use redis::Cmd;

use super::servers::scan;
use super::{ask, command};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::key_table::{is_of_the_queue, owner_of};
use crate::protocol::{reply, Keys};

const LISTS: [&str; 3] = ["wait", "paused", "active"];
const SETS: [&str; 5] = ["completed", "failed", "delayed", "prioritized", "waiting-children"];
const PAGE: i64 = 10_000;

/// All ids in the lists of a queue. To look up a single id in a list would be slow.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn listed_ids(link: &Link, keys: &Keys) -> Result<HashSet<String>> {
    let mut listed = HashSet::new();
    for list in LISTS.map(|name| keys.of(name)) {
        for start in (0..).step_by(PAGE as usize) {
            let mut read = command("LRANGE", &[&list]);
            read.arg(start).arg(start + PAGE - 1);
            let page = reply::texts(link.call(read, Retry::Look).await?)?;
            if page.is_empty() {
                break;
            }
            listed.extend(page);
        }
    }
    Ok(listed)
}

/// Scans about `count` keys of the database. Returns where to go on, 0 at the end, and the ids of jobs that seem to be
/// in no state.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn find_orphans(
    link: &Link,
    keys: &Keys,
    cursor: u64,
    count: u64,
    listed: &HashSet<String>,
) -> Result<(u64, Vec<String>)> {
    let (next, found) = scan(link, keys.base(), "", cursor, count, None).await?;
    let mut seen = HashSet::new();
    let mut ids = Vec::new();
    for key in found {
        let key = String::from_utf8_lossy(&key);
        let id = owner_of(key.strip_prefix(keys.base()).unwrap_or_default());
        if !listed.contains(id) && !is_of_the_queue(id) && seen.insert(id.to_owned()) {
            ids.push(id.to_owned());
        }
    }
    if ids.is_empty() {
        return Ok((next, ids));
    }
    let scores = |set: &str| {
        let mut read = command("ZMSCORE", &[&keys.of(set)]);
        read.arg(&ids);
        read
    };
    let reads: Vec<Cmd> = SETS.iter().map(|set| scores(set)).collect();
    let mut is_there = vec![false; ids.len()];
    for scores in ask(link, &reads).await? {
        for (there, score) in is_there.iter_mut().zip(reply::per_member(ids.len(), scores)?) {
            *there |= score.is_some();
        }
    }
    let orphans = ids.into_iter().zip(is_there).filter(|(_, there)| !there).map(|(id, _)| id).collect();
    Ok((next, orphans))
}
