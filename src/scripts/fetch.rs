//! Taking jobs: `lua/fetch`.

use redis::Value;

use super::{eval, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, JobRecord, Keys};

/// How a worker fetches: shared by `move_to_active` and by `move_to_finished`.
#[derive(Clone, Debug)]
pub struct FetchPlan<'a> {
    /// How many jobs at most.
    pub count: usize,
    /// The lock token of the fetched jobs.
    pub token: &'a str,
    /// Milliseconds.
    pub lock_duration: i64,
    /// (max, duration ms) of the worker's own limiter.
    pub limiter: Option<(i64, i64)>,
    pub worker_name: Option<&'a str>,
}

/// What a fetch brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    pub jobs: Vec<JobRecord>,
    /// Milliseconds until the rate limit ends, 0 = not limited.
    pub limit_ttl: i64,
    /// When the next delayed job is due (ms since the epoch), 0 = none.
    pub next_delayed: i64,
}

impl Fetched {
    pub(super) fn read(mut items: impl Iterator<Item = Value>) -> Result<Self> {
        let limit_ttl = items.next().map_or(Ok(0), reply::integer)?;
        let next_delayed = items.next().map_or(Ok(0), reply::integer)?;
        Ok(Fetched { jobs: reply::jobs(items.next())?, limit_ttl, next_delayed })
    }
}

/// Takes up to `plan.count` jobs. Never sent twice: a lost reply is found by [`recover_active`].
///
/// # Errors
/// [`crate::error::Error::OutcomeUnknown`] when the reply got lost.
pub async fn move_to_active(link: &Link, keys: &Keys, now: i64, plan: &FetchPlan<'_>) -> Result<Fetched> {
    let mut call = Call::new(&lua::fetch::MOVE_TO_ACTIVE, keys);
    call.arg(now).arg(plan.token).arg(plan.lock_duration);
    call.optional(plan.limiter.map(|limiter| limiter.0));
    call.optional(plan.limiter.map(|limiter| limiter.1));
    call.optional(plan.worker_name).arg(plan.count);
    let reply = eval(link, &call, Retry::Never).await?;
    Fetched::read(reply::array(reply)?.into_iter())
}

/// Finds the jobs that `token` holds and the caller does not know: those of a fetch whose reply got lost.
///
/// # Errors
/// What [`eval`] returns.
pub async fn recover_active<'a>(
    link: &Link,
    keys: &Keys,
    token: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<JobRecord>> {
    let mut call = Call::new(&lua::fetch::RECOVER_ACTIVE, keys);
    call.arg(token);
    for id in known {
        call.arg(id);
    }
    let reply = eval(link, &call, Retry::Safe).await?;
    reply::jobs(Some(reply))
}
