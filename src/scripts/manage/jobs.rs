//! Operations on single jobs.

use redis::Value;

use super::super::{eval, flag, lua, Call, Script};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{due, reply, Keys};

/// Runs a script that returns a BullMQ result code for job `id`.
async fn run_on_job(link: &Link, call: &Call, retry: Retry, id: &str, command: &str, state: &str) -> Result<i64> {
    eval(link, call, retry, |reply| reply::checked(reply, id, command, state)).await
}

fn on_job(script: &'static Script, keys: &Keys, id: &str) -> Call {
    let mut call = Call::new(script, keys);
    call.arg(id);
    call
}

/// Moves a delayed job to wait.
///
/// # Errors
/// [`Error::Code`] -1, -3.
pub async fn promote(link: &Link, keys: &Keys, id: &str) -> Result<()> {
    let call = on_job(&lua::manage::PROMOTE, keys, id);
    run_on_job(link, &call, Retry::Never, id, "promote", "delayed").await.map(drop)
}

/// Moves delayed jobs, at most 1000, to where they may run. Returns the positions, from 1, of those that are not delayed.
/// `fan_out`: wakes a worker for each.
///
/// # Errors
/// What [`eval`] returns.
pub async fn promote_many(link: &Link, keys: &Keys, ids: &[String], fan_out: bool) -> Result<Vec<i64>> {
    let mut call = Call::with_capacity(&lua::manage::PROMOTE_MANY, keys, ids.len() + 2, 32 * ids.len());
    call.arg(ids.len()).arg(ids).fan_out(fan_out);
    // Sent again, it would find none of them delayed.
    eval(link, &call, Retry::Never, |reply| reply::array(reply)?.into_iter().map(reply::integer).collect()).await
}

/// Makes a delayed job due `delay` ms after `now`.
///
/// # Errors
/// [`Error::Code`] -1, -3; [`Error::InvalidOption`] if that is too late.
pub async fn change_delay(link: &Link, keys: &Keys, now: i64, id: &str, delay: i64) -> Result<()> {
    due::check_delay(now, delay)?;
    let mut call = Call::new(&lua::manage::CHANGE_DELAY, keys);
    call.arg(now).arg(id).arg(delay);
    run_on_job(link, &call, Retry::InOrder, id, "changeDelay", "delayed").await.map(drop)
}

/// Changes the priority of a job; `lifo` puts it first among its equals.
///
/// # Errors
/// [`Error::Code`] -1.
pub async fn change_priority(link: &Link, keys: &Keys, id: &str, priority: i64, lifo: bool) -> Result<()> {
    let mut call = on_job(&lua::manage::CHANGE_PRIORITY, keys, id);
    call.arg(priority).arg(flag(lifo));
    run_on_job(link, &call, Retry::InOrder, id, "changePriority", "waiting").await.map(drop)
}

/// Replaces the data JSON of a job.
///
/// # Errors
/// [`Error::Code`] -1.
pub async fn update_data(link: &Link, keys: &Keys, id: &str, data: &[u8]) -> Result<()> {
    let mut call = on_job(&lua::manage::UPDATE_DATA, keys, id);
    call.arg(data);
    run_on_job(link, &call, Retry::InOrder, id, "updateData", "active").await.map(drop)
}

/// Stores the progress JSON of a job and adds an event.
///
/// # Errors
/// [`Error::Code`] -1.
pub async fn update_progress(
    link: &Link,
    keys: &Keys,
    id: &str,
    progress: &[u8],
    row: Option<(&str, Option<i64>)>,
) -> Result<()> {
    let mut call = on_job(&lua::manage::UPDATE_PROGRESS, keys, id);
    call.arg(progress);
    if let Some((row, keep)) = row {
        call.arg(row).optional(keep);
    }
    // Sent again, a row would be there twice.
    let retry = if row.is_some() { Retry::Never } else { Retry::InOrder };
    run_on_job(link, &call, retry, id, "updateProgress", "active").await.map(drop)
}

/// Appends a log row and keeps the last `keep` rows; with `own`, as many as the job's own option says, if it has one.
/// Returns the number of rows kept.
///
/// # Errors
/// [`Error::Code`] -1; [`Error::OutcomeUnknown`].
pub async fn add_log(link: &Link, keys: &Keys, id: &str, row: &str, keep: Option<i64>, own: bool) -> Result<i64> {
    let mut call = on_job(&lua::manage::ADD_LOG, keys, id);
    call.arg(row).optional(keep);
    if own {
        call.arg("own");
    }
    run_on_job(link, &call, Retry::Never, id, "addLog", "active").await
}

/// Removes the log of a job except its last `keep` rows.
///
/// # Errors
/// What [`eval`] returns.
pub async fn clear_logs(link: &Link, keys: &Keys, id: &str, keep: Option<i64>) -> Result<()> {
    let mut call = on_job(&lua::manage::CLEAR_LOGS, keys, id);
    call.optional(keep);
    eval(link, &call, Retry::InOrder, reply::any).await
}

/// Removes a job. Returns 1, or 0 when a worker holds it (or, with children, holds a child). `seen`: only if it is still in
/// this state and, if that is a finished one, finished at this time; "" else.
///
/// # Errors
/// [`Error::Code`] -8; with `seen` -1 and -3, and [`Error::OutcomeUnknown`].
pub async fn remove(
    link: &Link,
    keys: &Keys,
    id: &str,
    remove_children: bool,
    seen: Option<(&str, &str)>,
) -> Result<i64> {
    let mut call = on_job(&lua::manage::REMOVE, keys, id);
    call.arg(flag(remove_children));
    let Some((state, finished_on)) = seen else {
        return run_on_job(link, &call, Retry::InOrder, id, "removeJob", "active").await;
    };
    call.arg(state).arg(finished_on);
    // Sent again, it would not find the job that it has removed.
    run_on_job(link, &call, Retry::Never, id, "removeJob", state).await
}

/// How to retry a finished job.
#[derive(Clone, Copy, Debug, Default)]
pub struct RetryOptions {
    /// It runs before the jobs that wait already.
    pub lifo: bool,
    /// Counts its attempts from 0 again: `reset_made` those that ended, `reset_started` those that began.
    pub reset_made: bool,
    pub reset_started: bool,
}

/// Moves a `completed` or `failed` job back to wait. `finished_on`: only if it still finished at this time.
///
/// # Errors
/// [`Error::Code`] -1, -3; [`Error::OutcomeUnknown`].
pub async fn retry(
    link: &Link,
    keys: &Keys,
    id: &str,
    state: &str,
    options: RetryOptions,
    finished_on: Option<&str>,
) -> Result<()> {
    let mut call = on_job(&lua::manage::RETRY, keys, id);
    call.arg(state).arg(flag(options.lifo)).arg(flag(options.reset_made)).arg(flag(options.reset_started));
    if let Some(finished_on) = finished_on {
        call.arg(finished_on);
    }
    run_on_job(link, &call, Retry::Never, id, "reprocessJob", state).await.map(drop)
}

/// Removes the link of a child to its parent. Returns whether the parent waited for it.
///
/// # Errors
/// [`Error::Code`] -1, -5.
pub async fn remove_child_dependency(link: &Link, keys: &Keys, id: &str, parent_key: &str) -> Result<bool> {
    let call = on_job(&lua::manage::REMOVE_CHILD_DEPENDENCY, keys, id);
    match eval(link, &call, Retry::Never, reply::integer).await? {
        -5 => Err(Error::code(-5, parent_key, "removeChildDependency", "")),
        reply => reply::checked(Value::Int(reply), id, "removeChildDependency", "").map(|removed| removed == 1),
    }
}

/// Removes the children that a job still waits for, except those that a worker holds or that have failed.
///
/// # Errors
/// What [`eval`] returns.
pub async fn remove_unprocessed_children(link: &Link, keys: &Keys, id: &str) -> Result<()> {
    let call = on_job(&lua::manage::REMOVE_UNPROCESSED_CHILDREN, keys, id);
    eval(link, &call, Retry::InOrder, reply::any).await
}

/// Removes a deduplication id, if this job has it. Returns whether it had it.
///
/// # Errors
/// What [`eval`] returns.
pub async fn remove_deduplication_key(link: &Link, keys: &Keys, id: &str, deduplication_id: &str) -> Result<bool> {
    let mut call = on_job(&lua::manage::REMOVE_DEDUPLICATION_KEY, keys, id);
    call.arg(deduplication_id);
    eval(link, &call, Retry::Never, reply::yes).await
}
