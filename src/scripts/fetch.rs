//! Fetching jobs: `lua/fetch`.

use std::sync::Arc;

use redis::Value;

use super::{eval, flag, lua, Call, Script};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, JobRecord, Keys};

/// How a worker fetches, in `move_to_active` and in `move_to_finished`.
#[derive(Clone, Debug)]
pub struct FetchPlan<'a> {
    /// How many jobs at most.
    pub count: usize,
    /// How many of them start now. The others are claimed ahead: nothing in them changes before they start.
    pub slots: usize,
    /// A job that has stalled this many times is fetched alone, and only if `alone`: its next stall would fail it.
    pub stalled_limit: Option<i64>,
    /// The worker holds no other job.
    pub alone: bool,
    /// The lock token of the fetched jobs.
    pub token: &'a str,
    /// Milliseconds.
    pub lock_duration: i64,
    /// (max, duration ms) of the worker's own limiter.
    pub limiter: Option<(i64, i64)>,
    /// Another queue whose rate limit counts, in the same slot.
    pub shared_limit: Option<&'a Keys>,
    pub worker_name: Option<&'a str>,
    /// Wakes a worker for each promoted job that is not fetched.
    pub fan_out: bool,
}

/// The queue was at its global concurrency after a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// The global concurrency.
    pub limit: usize,
    /// A worker has taken the marker that the fetch before had left, if this fetch brought jobs.
    pub awaited: bool,
}

/// Why a worker must not claim jobs ahead, as a fetch reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    #[default]
    No,
    /// The queue is paused, or has a limit.
    Ahead,
    /// The next job must run alone: it is fetched when the worker holds no other job.
    Alone,
}

/// The reply of a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// As they were before the fetch, which wrote the start of the first `slots` of them.
    pub jobs: Vec<JobRecord>,
    /// The scores of the last jobs: of those that were prioritized.
    pub scores: Vec<String>,
    pub hold: Hold,
    pub full: Option<Full>,
    /// How many jobs a rate limit lets start in each of its windows, if one counts and the queue is not full.
    pub rate_limit: Option<usize>,
    /// Milliseconds until the rate limit ends, 0 = not limited.
    pub limit_ttl: i64,
    /// When the next delayed job is due (ms since the epoch), 0 = none.
    pub next_delayed: i64,
    /// How many jobs a scan has looked at and left for other workers.
    pub unmatched: usize,
}

impl Fetched {
    pub(super) fn read(mut items: impl Iterator<Item = Value>) -> Result<Self> {
        let mut number = || match items.next() {
            Some(Value::Int(number)) => Ok(number),
            _ => Err(Error::wrong_shape("what stopped a fetch")),
        };
        let (limit_ttl, next_delayed, hold) = (number()?, number()?, number()?);
        let limit = usize::try_from(hold / 4).ok().filter(|limit| *limit > 0);
        let full = limit.map(|limit| Full { limit, awaited: hold % 4 == 1 });
        let rate_limit = usize::try_from(hold.unsigned_abs()).ok().filter(|_| hold < 0);
        let hold = match hold {
            0 => Hold::No,
            2 => Hold::Alone,
            _ => Hold::Ahead,
        };
        let jobs = reply::jobs(items.next().filter(|jobs| *jobs != Value::Nil))?;
        let scores = items.next().map_or(Ok(Vec::new()), reply::texts)?;
        Ok(Fetched { jobs, scores, hold, full, rate_limit, limit_ttl, next_delayed, unmatched: 0 })
    }
}

/// Fetches up to `plan.count` jobs. Never sent twice: [`recover_active`] finds the jobs of a lost reply.
///
/// # Errors
/// [`crate::error::Error::OutcomeUnknown`] when the reply got lost.
pub async fn move_to_active(link: &Link, keys: &Keys, now: i64, plan: &FetchPlan<'_>) -> Result<Fetched> {
    let mut call = fetch_call(&lua::fetch::MOVE_TO_ACTIVE, keys, now, plan);
    call.fan_out(plan.fan_out);
    eval(link, &call, Retry::Never, |reply| Fetched::read(reply::array(reply)?.into_iter())).await
}

/// A call of a script whose first arguments are those of `move_to_active`.
pub(super) fn fetch_call(script: &'static Script, keys: &Keys, now: i64, plan: &FetchPlan<'_>) -> Call {
    let mut call = Call::on_one_or_both(script, keys, plan.shared_limit, 12, 256);
    call.arg(now).arg(plan.token).arg(plan.lock_duration);
    call.optional(plan.limiter.map(|limiter| limiter.0));
    call.optional(plan.limiter.map(|limiter| limiter.1));
    call.optional(plan.worker_name).arg(plan.count);
    call.arg(plan.slots).optional(plan.stalled_limit).arg(flag(plan.alone));
    call
}

/// A job that was claimed ahead and whose handler has started.
#[derive(Clone, Copy, Debug)]
pub struct Started<'a> {
    pub id: &'a str,
    pub token: &'a str,
    /// The number of this start.
    pub ats: i64,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// Writes the start of jobs that were claimed ahead and have started.
///
/// # Errors
/// What [`eval`] returns.
pub async fn start_jobs(link: &Link, keys: &Keys, worker_name: Option<&str>, jobs: &[Started<'_>]) -> Result<()> {
    let mut call = Call::with_capacity(&lua::fetch::START_JOBS, keys, 1 + jobs.len() * 4, jobs.len() * 80);
    call.optional(worker_name);
    for job in jobs {
        call.arg(job.id).arg(job.token).arg(job.ats).arg(job.at);
    }
    eval(link, &call, Retry::Safe, reply::any).await
}

/// Finds the jobs that `token` holds and the caller does not know: the jobs of a lost reply.
///
/// # Errors
/// What [`eval`] returns.
pub async fn recover_active<'a>(
    link: &Link,
    keys: &Keys,
    token: &str,
    known: impl IntoIterator<Item = &'a str>,
    retry: Retry,
) -> Result<Vec<JobRecord>> {
    let mut call = Call::new(&lua::fetch::RECOVER_ACTIVE, keys);
    call.arg(token).arg(flag(true));
    for id in known {
        call.arg(id);
    }
    eval(link, &call, retry, |reply| reply::jobs(Some(reply))).await
}

/// The ids of all jobs that `token` holds, oldest first.
///
/// # Errors
/// What [`eval`] returns.
pub async fn active_ids(link: &Link, keys: &Keys, token: &str) -> Result<Vec<Arc<str>>> {
    let mut call = Call::new(&lua::fetch::RECOVER_ACTIVE, keys);
    call.arg(token).arg(flag(false));
    let jobs = eval(link, &call, Retry::Look, |reply| reply::jobs(Some(reply))).await?;
    Ok(jobs.into_iter().map(|job| job.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_does_not_say_what_stopped_the_fetch_is_none_of_a_fetch() {
        assert!(Fetched::read([Value::Int(0), Value::Int(0), Value::Int(0)].into_iter()).is_ok());
        for reply in [vec![], vec![Value::Int(0)], vec![Value::Int(0), Value::Int(0), Value::Nil]] {
            assert!(matches!(Fetched::read(reply.into_iter()), Err(Error::WrongShape(_))));
        }
    }
}
