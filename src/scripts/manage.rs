//! Operations on a queue and on single jobs: `lua/manage`.

use redis::Value;

use super::{eval, flag, lua, Call, Script};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{due, reply, Keys};

async fn run(link: &Link, call: &Call, retry: Retry) -> Result<Value> {
    eval(link, call, retry).await
}

/// Runs a script that answers with a BullMQ result code for job `id`.
async fn run_on_job(link: &Link, call: &Call, retry: Retry, id: &str, command: &str, state: &str) -> Result<i64> {
    reply::checked(run(link, call, retry).await?, id, command, state)
}

fn on_job(script: &'static Script, keys: &Keys, id: &str) -> Call {
    let mut call = Call::new(script, keys);
    call.arg(id);
    call
}

/// Pauses the queue.
///
/// # Errors
/// What [`eval`] returns.
pub async fn pause(link: &Link, keys: &Keys) -> Result<()> {
    run(link, &Call::new(&lua::manage::PAUSE, keys), Retry::Safe).await.map(drop)
}

/// Resumes the queue.
///
/// # Errors
/// What [`eval`] returns.
pub async fn resume(link: &Link, keys: &Keys) -> Result<()> {
    run(link, &Call::new(&lua::manage::RESUME, keys), Retry::Safe).await.map(drop)
}

/// Makes a delayed job wait now.
///
/// # Errors
/// [`Error::Code`] -1, -3.
pub async fn promote(link: &Link, keys: &Keys, id: &str) -> Result<()> {
    let call = on_job(&lua::manage::PROMOTE, keys, id);
    run_on_job(link, &call, Retry::Never, id, "promote", "delayed").await.map(drop)
}

/// Lets a delayed job become due `delay` ms after `now`.
///
/// # Errors
/// [`Error::Code`] -1, -3; [`Error::InvalidOption`] if that is too late.
pub async fn change_delay(link: &Link, keys: &Keys, now: i64, id: &str, delay: i64) -> Result<()> {
    due::check_delay(now, delay)?;
    let mut call = Call::new(&lua::manage::CHANGE_DELAY, keys);
    call.arg(now).arg(id).arg(delay);
    run_on_job(link, &call, Retry::Safe, id, "changeDelay", "delayed").await.map(drop)
}

/// Changes the priority of a job; `lifo` puts it first among its equals.
///
/// # Errors
/// [`Error::Code`] -1.
pub async fn change_priority(link: &Link, keys: &Keys, id: &str, priority: i64, lifo: bool) -> Result<()> {
    let mut call = on_job(&lua::manage::CHANGE_PRIORITY, keys, id);
    call.arg(priority).arg(flag(lifo));
    run_on_job(link, &call, Retry::Safe, id, "changePriority", "waiting").await.map(drop)
}

/// Replaces the data JSON of a job.
///
/// # Errors
/// [`Error::Code`] -1.
pub async fn update_data(link: &Link, keys: &Keys, id: &str, data: &[u8]) -> Result<()> {
    let mut call = on_job(&lua::manage::UPDATE_DATA, keys, id);
    call.arg(data);
    run_on_job(link, &call, Retry::Safe, id, "updateData", "active").await.map(drop)
}

/// Stores the progress JSON of a job and tells the event stream.
///
/// # Errors
/// [`Error::Code`] -1.
pub async fn update_progress(link: &Link, keys: &Keys, id: &str, progress: &[u8]) -> Result<()> {
    let mut call = on_job(&lua::manage::UPDATE_PROGRESS, keys, id);
    call.arg(progress);
    run_on_job(link, &call, Retry::Safe, id, "updateProgress", "active").await.map(drop)
}

/// Appends a log row and keeps the last `keep` rows. Returns the number of rows kept.
///
/// # Errors
/// [`Error::Code`] -1; [`Error::OutcomeUnknown`].
pub async fn add_log(link: &Link, keys: &Keys, id: &str, row: &str, keep: Option<i64>) -> Result<i64> {
    let mut call = on_job(&lua::manage::ADD_LOG, keys, id);
    call.arg(row).optional(keep);
    run_on_job(link, &call, Retry::Never, id, "addLog", "active").await
}

/// Drops the log of a job but for its last `keep` rows.
///
/// # Errors
/// What [`eval`] returns.
pub async fn clear_logs(link: &Link, keys: &Keys, id: &str, keep: Option<i64>) -> Result<()> {
    let mut call = on_job(&lua::manage::CLEAR_LOGS, keys, id);
    call.optional(keep);
    run(link, &call, Retry::Safe).await.map(drop)
}

/// Removes a job. Returns 1, or 0 when a worker holds it (or, with children, one of them).
///
/// # Errors
/// [`Error::Code`] -8.
pub async fn remove(link: &Link, keys: &Keys, id: &str, remove_children: bool) -> Result<i64> {
    let mut call = on_job(&lua::manage::REMOVE, keys, id);
    call.arg(flag(remove_children));
    run_on_job(link, &call, Retry::Safe, id, "removeJob", "active").await
}

/// How a finished job runs again.
#[derive(Clone, Copy, Debug, Default)]
pub struct RetryOptions {
    /// Before the jobs that wait already.
    pub lifo: bool,
    /// Count its attempts from 0 again: those that ended, and those that began.
    pub reset_made: bool,
    pub reset_started: bool,
}

/// Makes a `completed` or `failed` job wait again.
///
/// # Errors
/// [`Error::Code`] -1, -3; [`Error::OutcomeUnknown`].
pub async fn retry(link: &Link, keys: &Keys, id: &str, state: &str, options: RetryOptions) -> Result<()> {
    let mut call = on_job(&lua::manage::RETRY, keys, id);
    call.arg(state).arg(flag(options.lifo)).arg(flag(options.reset_made)).arg(flag(options.reset_started));
    run_on_job(link, &call, Retry::Never, id, "reprocessJob", state).await.map(drop)
}

/// Makes up to `count` jobs of `state` that finished by `timestamp` wait again. Returns whether more are left.
///
/// # Errors
/// What [`eval`] returns.
pub async fn retry_jobs(link: &Link, keys: &Keys, state: &str, count: i64, timestamp: i64) -> Result<bool> {
    let mut call = Call::new(&lua::manage::RETRY_JOBS, keys);
    call.arg(state).arg(count).arg(timestamp);
    match reply::integer(run(link, &call, Retry::Safe).await?)? {
        -3 => Err(Error::InvalidOption(format!("only completed or failed jobs can be retried, not {state}"))),
        more => Ok(more == 1),
    }
}

/// Makes up to `count` delayed jobs wait now. Returns whether more are left.
///
/// # Errors
/// What [`eval`] returns.
pub async fn promote_jobs(link: &Link, keys: &Keys, count: i64) -> Result<bool> {
    let mut call = Call::new(&lua::manage::PROMOTE_JOBS, keys);
    call.arg(count);
    Ok(reply::integer(run(link, &call, Retry::Safe).await?)? == 1)
}

/// Removes the queue, up to `count` jobs per call. Returns whether more are left.
///
/// # Errors
/// [`Error::Refused`]: the queue is not paused, or has active jobs, without `force`.
pub async fn obliterate(link: &Link, keys: &Keys, count: i64, force: bool) -> Result<bool> {
    let mut call = Call::new(&lua::manage::OBLITERATE, keys);
    call.arg(count).arg(flag(force));
    let message = match reply::integer(run(link, &call, Retry::Safe).await?)? {
        -1 => "Cannot obliterate non-paused queue",
        -2 => "Cannot obliterate queue with active jobs",
        more => return Ok(more == 1),
    };
    Err(Error::Refused(message.into()))
}

/// Removes up to 250 waiting jobs, and with `delayed` delayed ones too. Returns whether more are left, and how many of each
/// state stay: what the next call gets as `kept`.
///
/// # Errors
/// What [`eval`] returns.
pub async fn drain(link: &Link, keys: &Keys, delayed: bool, kept: &[i64]) -> Result<(bool, Vec<i64>)> {
    let mut call = Call::new(&lua::manage::DRAIN, keys);
    call.arg(flag(delayed)).arg(kept);
    let mut reply = reply::array(run(link, &call, Retry::Safe).await?)?.into_iter().map(reply::integer);
    let more = reply.next().transpose()? == Some(1);
    Ok((more, reply.collect::<Result<_>>()?))
}

/// What one call of [`clean`] did.
pub struct Cleaned {
    /// The pass goes on.
    pub more: bool,
    /// How many jobs the pass has looked at and left, and how many it has removed.
    pub kept: i64,
    pub removed: i64,
    /// What this call removed.
    pub ids: Vec<String>,
}

/// Removes up to 250 jobs of a state that are not younger than `cutoff` (ms), as a part of a pass over `limit` jobs.
///
/// # Errors
/// What [`eval`] returns; [`Error::OutcomeUnknown`].
pub async fn clean(
    link: &Link,
    keys: &Keys,
    state: &str,
    cutoff: i64,
    limit: i64,
    kept: i64,
    removed: i64,
) -> Result<Cleaned> {
    let mut call = Call::new(&lua::manage::CLEAN, keys);
    call.arg(state).arg(cutoff).arg(limit).arg(kept).arg(removed);
    let mut reply = reply::array(run(link, &call, Retry::Never).await?)?.into_iter();
    let mut number = || reply::integer(reply.next().unwrap_or(Value::Nil));
    let (more, kept, removed) = (number()? == 1, number()?, number()?);
    Ok(Cleaned { more, kept, removed, ids: reply.map(reply::text).collect::<Result<_>>()? })
}

/// Parts a child from its parent. Returns whether the parent waited for it.
///
/// # Errors
/// [`Error::Code`] -1, -5.
pub async fn remove_child_dependency(link: &Link, keys: &Keys, id: &str, parent_key: &str) -> Result<bool> {
    let call = on_job(&lua::manage::REMOVE_CHILD_DEPENDENCY, keys, id);
    match reply::integer(run(link, &call, Retry::Never).await?)? {
        -5 => Err(Error::code(-5, parent_key, "removeChildDependency", "")),
        reply => reply::checked(Value::Int(reply), id, "removeChildDependency", "").map(|removed| removed == 1),
    }
}

/// Removes the children that a job still waits for, but for those that a worker has or that have failed.
///
/// # Errors
/// What [`eval`] returns.
pub async fn remove_unprocessed_children(link: &Link, keys: &Keys, id: &str) -> Result<()> {
    let call = on_job(&lua::manage::REMOVE_UNPROCESSED_CHILDREN, keys, id);
    run(link, &call, Retry::Safe).await.map(drop)
}

/// Removes a job scheduler and its delayed job. Returns whether there was one. `oldest_stem`: how the ids of its jobs go on
/// after `repeat:` if it is a repeatable of the oldest form.
///
/// # Errors
/// What [`eval`] returns.
pub async fn remove_job_scheduler(link: &Link, keys: &Keys, id: &str, oldest_stem: Option<&str>) -> Result<bool> {
    let mut call = on_job(&lua::manage::REMOVE_JOB_SCHEDULER, keys, id);
    call.optional(oldest_stem);
    Ok(reply::integer(run(link, &call, Retry::Safe).await?)? == 1)
}

/// Removes those of the jobs that no state of the queue holds. Returns how many they were.
///
/// # Errors
/// What [`eval`] returns.
pub async fn remove_orphaned_jobs(link: &Link, keys: &Keys, ids: &[String]) -> Result<i64> {
    let mut call = Call::new(&lua::manage::REMOVE_ORPHANED_JOBS, keys);
    call.arg(ids);
    reply::integer(run(link, &call, Retry::Safe).await?)
}

/// Frees a deduplication id, if the job has it. Returns whether it had.
///
/// # Errors
/// What [`eval`] returns.
pub async fn remove_deduplication_key(link: &Link, keys: &Keys, id: &str, deduplication_id: &str) -> Result<bool> {
    let mut call = on_job(&lua::manage::REMOVE_DEDUPLICATION_KEY, keys, id);
    call.arg(deduplication_id);
    Ok(reply::integer(run(link, &call, Retry::Never).await?)? == 1)
}
