//! Locks and stalled jobs: `lua/lock`.

use super::{eval, flag, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// Renews the locks of (id, token) pairs. Returns the ids whose lock this worker no longer holds.
///
/// # Errors
/// What [`eval`] returns; an error proves nothing about the locks.
pub async fn extend_locks<'a>(
    link: &Link,
    keys: &Keys,
    lock_duration: i64,
    locks: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<String>> {
    let mut call = Call::new(&lua::lock::EXTEND_LOCKS, keys);
    call.arg(lock_duration);
    for (id, token) in locks {
        call.arg(id).arg(token);
    }
    eval(link, &call, Retry::Safe, reply::texts).await
}

/// Deletes a lock; false when another token holds it.
///
/// # Errors
/// What [`eval`] returns.
pub async fn release_lock(link: &Link, keys: &Keys, id: &str, token: &str) -> Result<bool> {
    let mut call = Call::new(&lua::lock::RELEASE_LOCK, keys);
    call.arg(id).arg(token);
    eval(link, &call, Retry::Safe, reply::yes).await
}

/// The options of one check for stalled jobs.
#[derive(Clone, Copy, Debug)]
pub struct StalledPlan {
    pub max_stalled_count: i64,
    /// Milliseconds.
    pub stalled_interval: i64,
    /// Jobs per call; the others stay marked for the next call.
    pub limit: usize,
    /// Wakes a worker for each job that was put back.
    pub fan_out: bool,
}

/// Moves stalled jobs back to wait. Returns (whether to call again with `continued`, ids that were moved).
///
/// # Errors
/// What [`eval`] returns.
pub async fn move_stalled_jobs_to_wait(
    link: &Link,
    keys: &Keys,
    now: i64,
    plan: StalledPlan,
    continued: bool,
) -> Result<(bool, Vec<String>)> {
    let mut call = Call::new(&lua::lock::MOVE_STALLED_JOBS_TO_WAIT, keys);
    call.arg(now).arg(plan.max_stalled_count).arg(plan.stalled_interval);
    call.arg(plan.limit).arg(flag(continued)).fan_out(plan.fan_out);
    let read = |reply| {
        let mut items = reply::array(reply)?.into_iter();
        let more = items.next().map_or(Ok(0), reply::integer)? == 1;
        Ok((more, items.map(reply::text).collect::<Result<_>>()?))
    };
    eval(link, &call, Retry::Safe, read).await
}
