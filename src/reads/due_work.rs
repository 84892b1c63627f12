//! What is due in a queue: whether work waits that may start.

use redis::Value;

use super::{ask, ask_each, command};
use crate::connection::Link;
use crate::error::Result;
use crate::protocol::{due, reply, Keys};

/// `Queue.rate_limit` stores a number of started jobs that no limit reaches.
const LIMITED_BY_HAND: f64 = (1_i64 << 50) as f64;

/// What waits in a queue, as Redis says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueWork {
    pub paused: bool,
    /// The rate limit or the global concurrency lets no job start now.
    pub limited: bool,
    /// Perhaps a rate limit lets no job start now: only the workers know it, and one has begun a period of it.
    pub limited_by_workers: bool,
    /// The global concurrency: so many jobs may be active over all workers.
    pub slots: Option<i64>,
    /// The global rate limit: so many starts per so many ms.
    pub rate: Option<(i64, i64)>,
    /// For how many ms the current period of a rate limit lasts; `None` outside one.
    pub period_left: Option<i64>,
    /// So many jobs have started in it that no other one may.
    pub rate_reached: bool,
    /// How many jobs run, on all workers.
    pub active: i64,
    /// How many jobs wait for a worker, also while the queue is paused; without delayed ones.
    pub waiting: i64,
    /// The job that has been due the longest; `None` if none is due.
    pub oldest_id: Option<String>,
    /// For how many ms it has been due; `None` if nobody knows, since its hash is gone.
    pub oldest_age: Option<i64>,
    /// How many ms ago a job started or finished, on any worker; `None` if Redis does not know.
    pub last_start_age: Option<i64>,
}

/// Asks what is due, in two round trips. `most`: the `max` of the worker's limiter; without it that of the global rate
/// limit counts.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn due_work(link: &Link, keys: &Keys, now: i64, most: Option<i64>) -> Result<DueWork> {
    let last = due::last_score(now).to_string();
    let [meta, wait, prioritized, delayed, active] =
        ["meta", "wait", "prioritized", "delayed", "active"].map(|name| keys.of(name));
    let [limiter, completed, failed, paused] = ["limiter", "completed", "failed", "paused"].map(|name| keys.of(name));
    let [settings, waiting, first, first_delayed, count, running, used, ttl, completed, failed, listed, held, ranked] =
        ask_each(
            link,
            [
                command("HMGET", &[&meta, "paused", "concurrency", "max", "duration"]),
                command("LINDEX", &[&wait, "-1"]),
                command("ZRANGE", &[&prioritized, "0", "0"]),
                command("ZRANGEBYSCORE", &[&delayed, "-inf", &last, "WITHSCORES", "LIMIT", "0", "1"]),
                command("LLEN", &[&active]),
                command("LINDEX", &[&active, "0"]),
                command("GET", &[&limiter]),
                command("PTTL", &[&limiter]),
                command("ZREVRANGE", &[&completed, "0", "0", "WITHSCORES"]),
                command("ZREVRANGE", &[&failed, "0", "0", "WITHSCORES"]),
                command("LLEN", &[&wait]),
                command("LLEN", &[&paused]),
                command("ZCARD", &[&prioritized]),
            ],
        )
        .await?;
    let number = |text: &Option<Vec<u8>>| text.as_deref().and_then(reply::whole);
    let text =
        |value: Value| Ok::<_, crate::error::Error>(if value == Value::Nil { None } else { Some(reply::text(value)?) });
    let settings = reply::per_member(4, settings)?;
    let (waiting, running) = (text(waiting)?, text(running)?);
    let first = reply::texts(first)?.into_iter().next();
    let ids: Vec<&String> = [&waiting, &first, &running].into_iter().flatten().collect();
    let times = times(link, keys, &ids).await?;
    let mut due: Vec<(String, Option<i64>)> = Vec::new();
    let waits = ids.iter().zip(&times).filter(|(id, _)| Some(**id) != running.as_ref());
    due.extend(waits.map(|(id, times)| ((*id).clone(), times.due_since)));
    due.extend(reply::scored(first_delayed)?.into_iter().map(|(id, score)| (id, Some(due::of_score(score)))));
    let oldest =
        due.iter().filter(|(_, since)| since.is_some()).min_by_key(|(_, since)| *since).or(due.first()).cloned();
    let mut starts: Vec<i64> = Vec::new();
    for newest in [completed, failed] {
        starts.extend(reply::scored(newest)?.into_iter().map(|(_, at)| at as i64));
    }
    if running.is_some() {
        starts.push(times.last().map_or(0, |times| times.started));
    }
    let active = reply::integer(count)?;
    let limit = most.map(|most| most as f64).or(number(&settings[2])).filter(|limit| *limit != 0.0);
    let ttl = reply::integer(ttl)?;
    let started = if ttl > 0 { number(&reply::optional(used)?).unwrap_or(0.0) } else { 0.0 };
    let setting = |at: usize| number(&settings[at]).map(|number| number as i64);
    let (oldest_id, since) = oldest.unzip();
    let rate_reached = started >= limit.unwrap_or(LIMITED_BY_HAND);
    Ok(DueWork {
        paused: settings[0].is_some(),
        limited: number(&settings[1]).is_some_and(|slots| active as f64 >= slots) || rate_reached,
        slots: setting(1),
        rate: setting(2).zip(setting(3)),
        period_left: (ttl > 0).then_some(ttl),
        rate_reached,
        limited_by_workers: most.is_none() && number(&settings[2]).is_none() && started > 0.0,
        active,
        waiting: reply::integer(listed)? + reply::integer(held)? + reply::integer(ranked)?,
        oldest_id,
        oldest_age: since.flatten().map(|since| now.saturating_sub(since).max(0)),
        last_start_age: starts.into_iter().max().map(|last| now.saturating_sub(last).max(0)),
    })
}

/// The times of a job.
struct Times {
    /// Since when it may run; `None` without a hash.
    due_since: Option<i64>,
    /// When it started last; 0 if it never did.
    started: i64,
}

async fn times(link: &Link, keys: &Keys, ids: &[&String]) -> Result<Vec<Times>> {
    let reads: Vec<_> =
        ids.iter().map(|id| command("HMGET", &[&keys.job(id), "timestamp", "processedOn", "opts"])).collect();
    let mut times = Vec::with_capacity(ids.len());
    for fields in ask(link, &reads).await? {
        let fields = reply::per_member(3, fields)?;
        let started = fields[1].as_deref().and_then(reply::whole).map_or(0, |at| at as i64);
        times.push(Times { due_since: since(&fields), started });
    }
    Ok(times)
}

/// Since when a job that waits may run, by its `timestamp`, `processedOn` and `opts`; `None` without a hash.
pub(crate) fn since(fields: &[Option<Vec<u8>>]) -> Option<i64> {
    let text = |at: usize| fields.get(at)?.as_deref().map(String::from_utf8_lossy);
    let (added, started, opts) = (text(0), text(1), text(2));
    let is_there = added.is_some() || started.is_some();
    is_there.then(|| due::since(added.as_deref(), started.as_deref(), opts.as_deref()))
}
