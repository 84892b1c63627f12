//! Operations on a queue and on single jobs: `lua/manage`.

mod jobs;

use redis::Value;

pub use jobs::{
    add_log, change_delay, change_priority, clear_logs, promote, promote_many, remove, remove_child_dependency,
    remove_deduplication_key, remove_unprocessed_children, retry, update_data, update_progress, RetryOptions,
};

use super::{eval, flag, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Keys};

/// Pauses the queue.
///
/// # Errors
/// What [`eval`] returns.
pub async fn pause(link: &Link, keys: &Keys) -> Result<()> {
    eval(link, &Call::new(&lua::manage::PAUSE, keys), Retry::InOrder, reply::any).await
}

/// Resumes the queue. `fan_out`: wakes a worker for each waiting job.
///
/// # Errors
/// What [`eval`] returns.
pub async fn resume(link: &Link, keys: &Keys, fan_out: bool) -> Result<()> {
    let mut call = Call::new(&lua::manage::RESUME, keys);
    call.fan_out(fan_out);
    eval(link, &call, Retry::InOrder, reply::any).await
}

/// Moves up to `count` jobs of `state` that finished by `timestamp` back to wait. Returns whether more are left.
/// `fan_out`: wakes a worker for each.
///
/// # Errors
/// What [`eval`] returns.
pub async fn retry_jobs(
    link: &Link,
    keys: &Keys,
    state: &str,
    count: i64,
    timestamp: i64,
    fan_out: bool,
) -> Result<bool> {
    let mut call = Call::new(&lua::manage::RETRY_JOBS, keys);
    call.arg(state).arg(count).arg(timestamp).fan_out(fan_out);
    match eval(link, &call, Retry::InOrder, reply::integer).await? {
        -3 => Err(Error::InvalidOption(format!("only completed or failed jobs can be retried, not {state}"))),
        more => Ok(more == 1),
    }
}

/// Moves up to `count` delayed jobs to wait. Returns whether more are left. `fan_out`: wakes a worker for each.
///
/// # Errors
/// What [`eval`] returns.
pub async fn promote_jobs(link: &Link, keys: &Keys, count: i64, fan_out: bool) -> Result<bool> {
    let mut call = Call::new(&lua::manage::PROMOTE_JOBS, keys);
    call.arg(count).fan_out(fan_out);
    eval(link, &call, Retry::InOrder, reply::yes).await
}

/// Moves up to `limit` (1 to 1000) delayed jobs that are due to where they may run. Returns how many. `fan_out`: wakes
/// a worker for each.
///
/// # Errors
/// What [`eval`] returns.
pub async fn promote_due(link: &Link, keys: &Keys, now: i64, limit: i64, fan_out: bool) -> Result<i64> {
    let mut call = Call::new(&lua::manage::PROMOTE_DUE, keys);
    call.arg(now).arg(limit).fan_out(fan_out);
    eval(link, &call, Retry::Safe, reply::integer).await
}

/// Removes the queue, up to `count` jobs per call. Returns whether more are left.
///
/// # Errors
/// [`Error::Refused`]: the queue is not paused, or has active jobs and `force` is false.
pub async fn obliterate(link: &Link, keys: &Keys, count: i64, force: bool) -> Result<bool> {
    let mut call = Call::new(&lua::manage::OBLITERATE, keys);
    call.arg(count).arg(flag(force));
    let message = match eval(link, &call, Retry::InOrder, reply::integer).await? {
        -1 => "Cannot obliterate non-paused queue",
        -2 => "Cannot obliterate queue with active jobs",
        more => return Ok(more == 1),
    };
    Err(Error::Refused(message.into()))
}

/// Removes up to 250 waiting jobs, and with `delayed` delayed ones too. Returns whether more are left, and how many
/// jobs of each state stay: the next call gets these as `kept`.
///
/// # Errors
/// What [`eval`] returns.
pub async fn drain(link: &Link, keys: &Keys, delayed: bool, kept: &[i64]) -> Result<(bool, Vec<i64>)> {
    let mut call = Call::new(&lua::manage::DRAIN, keys);
    call.arg(flag(delayed)).arg(kept);
    let read = |reply| {
        let mut reply = reply::array(reply)?.into_iter().map(reply::integer);
        let more = reply.next().transpose()? == Some(1);
        Ok((more, reply.collect::<Result<_>>()?))
    };
    eval(link, &call, Retry::InOrder, read).await
}

/// What [`clean`] removes: jobs of a state that are not younger than `cutoff` (ms). A pass looks at `limit` of them.
pub struct Cleaning<'a> {
    pub state: &'a str,
    pub cutoff: i64,
    pub limit: i64,
    /// There is no event about a pass that has removed nothing.
    pub quiet: bool,
}

/// The result of one call of [`clean`].
pub struct Cleaned {
    /// The pass is not over.
    pub more: bool,
    /// How many jobs the pass has kept, and how many it has removed.
    pub kept: i64,
    pub removed: i64,
    /// The jobs that this call removed.
    pub ids: Vec<String>,
}

/// Removes up to 250 jobs as a part of a pass that has kept and removed so many before.
///
/// # Errors
/// What [`eval`] returns; [`Error::OutcomeUnknown`].
pub async fn clean(link: &Link, keys: &Keys, what: &Cleaning<'_>, kept: i64, removed: i64) -> Result<Cleaned> {
    let mut call = Call::new(&lua::manage::CLEAN, keys);
    call.arg(what.state).arg(what.cutoff).arg(what.limit).arg(kept).arg(removed).arg(flag(what.quiet));
    let read = |reply| {
        let mut reply = reply::array(reply)?.into_iter();
        let mut number = || reply::integer(reply.next().unwrap_or(Value::Nil));
        let (more, kept, removed) = (number()? == 1, number()?, number()?);
        Ok(Cleaned { more, kept, removed, ids: reply.map(reply::text).collect::<Result<_>>()? })
    };
    eval(link, &call, Retry::Never, read).await
}

/// Removes a job scheduler and its delayed job. Returns whether it existed. `oldest_stem`: the part of its jobs' ids
/// after `repeat:`, for a repeatable of the oldest form.
///
/// # Errors
/// What [`eval`] returns.
pub async fn remove_job_scheduler(link: &Link, keys: &Keys, id: &str, oldest_stem: Option<&str>) -> Result<bool> {
    let mut call = Call::new(&lua::manage::REMOVE_JOB_SCHEDULER, keys);
    call.arg(id).optional(oldest_stem);
    eval(link, &call, Retry::InOrder, reply::yes).await
}

/// Removes the jobs that are in no state of the queue. Returns how many it removed.
///
/// # Errors
/// What [`eval`] returns.
pub async fn remove_orphaned_jobs(link: &Link, keys: &Keys, ids: &[String]) -> Result<i64> {
    let mut call = Call::new(&lua::manage::REMOVE_ORPHANED_JOBS, keys);
    call.arg(ids);
    eval(link, &call, Retry::InOrder, reply::integer).await
}
