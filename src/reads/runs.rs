//! Runs of `drain`: the lists of what they finished, and the active jobs that their workers hold.

use redis::Cmd;

use super::{ask, command};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// Active ids per call. Parts overlap, since jobs leave the list between two calls.
const WINDOW: i64 = 5_000;
const OVERLAP: i64 = 1_000;

/// How many jobs the list of a run has in each of these queues.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn run_lengths(link: &Link, queues: &[Keys], run: &str) -> Result<Vec<i64>> {
    let reads: Vec<Cmd> = queues.iter().map(|keys| command("LLEN", &[&keys.run(run)])).collect();
    ask(link, &reads).await?.into_iter().map(reply::integer).collect()
}

/// The active jobs of a run, each once, with the ms until their lock ends; 0 if it has ended. Costs an LRANGE and an
/// MGET per 5,000 active jobs, and a PTTL or an HGET for each job of the run.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn held_jobs(link: &Link, keys: &Keys, run: &str) -> Result<Vec<(String, i64)>> {
    let mut held: Vec<(String, i64)> = Vec::new();
    let active = keys.of("active");
    for start in (0..).step_by((WINDOW - OVERLAP) as usize) {
        let mut read = command("LRANGE", &[&active]);
        read.arg(start).arg(start + WINDOW - 1);
        let ids = reply::texts(link.call(read, Retry::Look).await?)?;
        let is_last = ids.len() < WINDOW as usize;
        held.extend(of_run(link, keys, run, ids).await?);
        if is_last {
            break;
        }
    }
    // In the order of the list; what was seen again counts as it was seen last.
    let mut seen = std::collections::HashMap::new();
    for (id, left) in &held {
        seen.insert(id.clone(), *left);
    }
    Ok(held.into_iter().filter_map(|(id, _)| seen.remove_entry(&id)).collect())
}

async fn of_run(link: &Link, keys: &Keys, run: &str, ids: Vec<String>) -> Result<Vec<(String, i64)>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let lock = |id: &String| keys.of(&format!("{id}:lock"));
    let mut read = redis::cmd("MGET");
    read.arg(ids.iter().map(lock).collect::<Vec<_>>());
    let tokens = reply::per_member(ids.len(), link.call(read, Retry::Look).await?)?;
    let begins = format!("{run}.").into_bytes();
    let reads: Vec<(String, bool, Cmd)> = ids
        .into_iter()
        .zip(tokens)
        .filter_map(|(id, token)| match token {
            Some(token) if !token.starts_with(&begins) => None,
            Some(_) => Some((command("PTTL", &[&lock(&id)]), true, id)),
            None => Some((command("HGET", &[&keys.job(&id), "pb"]), false, id)),
        })
        .map(|(read, is_locked, id)| (id, is_locked, read))
        .collect();
    let commands: Vec<Cmd> = reads.iter().map(|(_, _, read)| read.clone()).collect();
    let mut held = Vec::new();
    for ((id, is_locked, _), found) in reads.into_iter().zip(ask(link, &commands).await?) {
        if is_locked {
            held.push((id, reply::integer(found)?.max(0)));
        // A prefetched job has no name of a worker yet. Whoever fetched it is not there any more.
        } else if reply::optional(found)?.is_none_or(|worker| worker.starts_with(&begins)) {
            held.push((id, 0));
        }
    }
    Ok(held)
}

/// How many of these jobs exist and are not finished.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn count_unfinished(link: &Link, keys: &Keys, ids: &[String]) -> Result<usize> {
    let reads: Vec<Cmd> = ids.iter().map(|id| command("HMGET", &[&keys.job(id), "name", "finishedOn"])).collect();
    let mut count = 0;
    for fields in ask(link, &reads).await? {
        let fields = reply::per_member(2, fields)?;
        count += usize::from(fields[0].is_some() && fields[1].is_none());
    }
    Ok(count)
}
