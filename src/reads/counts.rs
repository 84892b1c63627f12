//! How many jobs there are, where no script is needed.

use redis::{Cmd, Value};

use super::{ask, ask_each, command};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{due, reply, Keys};

/// Scores of prioritized jobs are their priority times this, plus their place among the jobs of that priority.
const PER_PRIORITY: i64 = 1 << 32;

/// How many jobs each of these states has, by the names of their keys.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn count_states(link: &Link, keys: &Keys, states: &[&str]) -> Result<Vec<i64>> {
    let reads: Vec<Cmd> = states.iter().map(|state| size(keys, state)).collect();
    ask(link, &reads).await?.into_iter().map(reply::integer).collect()
}

pub(super) fn size(keys: &Keys, state: &str) -> Cmd {
    command(if is_list(state) { "LLEN" } else { "ZCARD" }, &[&keys.of(state)])
}

pub(super) fn is_list(state: &str) -> bool {
    matches!(state, "wait" | "paused" | "active")
}

/// How many jobs wait with each of these priorities; those with 0 have none.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn count_per_priority(link: &Link, keys: &Keys, priorities: &[i64]) -> Result<Vec<i64>> {
    // BullMQ 6 leaves the jobs of a paused queue in `wait`, BullMQ 5 moves them to `paused`.
    let mut reads = vec![size(keys, "wait"), size(keys, "paused")];
    let prioritized = keys.of("prioritized");
    reads.extend(priorities.iter().map(|priority| {
        let low = priority * PER_PRIORITY;
        let mut read = command("ZCOUNT", &[&prioritized]);
        read.arg(low).arg(low + PER_PRIORITY - 1);
        read
    }));
    let counts = ask(link, &reads).await?.into_iter().map(reply::integer).collect::<Result<Vec<i64>>>()?;
    let without = counts[0] + counts[1];
    Ok(priorities
        .iter()
        .zip(&counts[2..])
        .map(|(priority, count)| if *priority == 0 { without } else { *count })
        .collect())
}

/// How many delayed jobs are due before this time.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn count_due_before(link: &Link, keys: &Keys, ms: i64) -> Result<i64> {
    reply::integer(link.call(due_before(keys, ms), Retry::Look).await?)
}

fn due_before(keys: &Keys, ms: i64) -> Cmd {
    command("ZCOUNT", &[&keys.of("delayed"), "-inf", &format!("({}", due::first_score(ms))])
}

/// How many jobs each of these queues has that wait, are active, or are due up to this time.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn count_open(link: &Link, queues: &[Keys], until: i64) -> Result<Vec<i64>> {
    const PLACES: [&str; 4] = ["wait", "paused", "active", "prioritized"];
    let mut reads = Vec::with_capacity(queues.len() * (PLACES.len() + 1));
    for queue in queues {
        reads.extend(PLACES.map(|place| size(queue, place)));
        reads.push(due_before(queue, until.saturating_add(1)));
    }
    let counts = ask(link, &reads).await?.into_iter().map(reply::integer).collect::<Result<Vec<i64>>>()?;
    Ok(counts.chunks(PLACES.len() + 1).map(|counts| counts.iter().sum()).collect())
}

/// For how many ms the rate limit lets no job start. 0 while fewer than `most` jobs have started; without it that of
/// the global rate limit counts. Without any it is the TTL of the current limit: -2 if there is none, -1 if it does not
/// end.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn rate_limit_ttl(link: &Link, keys: &Keys, most: Option<i64>) -> Result<i64> {
    let limiter = keys.of("limiter");
    let reads = [command("HGET", &[keys.meta(), "max"]), command("GET", &[&limiter]), command("PTTL", &[&limiter])];
    let [stored, used, ttl] = ask_each(link, reads).await?;
    let number = |value: Value| Ok::<_, crate::error::Error>(reply::optional(value)?.as_deref().and_then(reply::whole));
    let most = most.map(|most| most as f64).or(number(stored)?);
    let is_reached = most.is_none_or(|most| number(used).ok().flatten().unwrap_or(0.0) >= most);
    Ok(if is_reached { reply::integer(ttl)? } else { 0 })
}

/// The last id that the queue has given a job.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn last_id(link: &Link, keys: &Keys) -> Result<i64> {
    reply::integer(link.call(command("GET", &[&keys.of("id")]), Retry::Look).await?)
}

/// Which of these queues are paused.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn are_paused(link: &Link, queues: &[Keys]) -> Result<Vec<bool>> {
    let reads: Vec<Cmd> = queues.iter().map(|queue| command("HEXISTS", &[queue.meta(), "paused"])).collect();
    ask(link, &reads).await?.into_iter().map(reply::yes).collect()
}
