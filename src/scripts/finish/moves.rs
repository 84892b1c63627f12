//! Moves of active jobs that are not finished: back to wait, to delayed, to waiting-children.

use redis::Value;

use super::super::{eval, flag, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{due, reply, Keys};

/// The error of an attempt that will be repeated; `stack` is a JSON array of strings.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    pub reason: &'a str,
    pub stack: &'a [u8],
}

/// An attempt of a held job that has ended, and why it failed.
#[derive(Clone, Copy, Debug)]
pub struct EndedAttempt<'a> {
    pub id: &'a str,
    pub token: &'a str,
    pub failure: Option<Failure<'a>>,
}

fn add_failure(call: &mut Call, failure: Option<Failure<'_>>) {
    call.optional(failure.map(|failure| failure.reason));
    call.optional(failure.map(|failure| failure.stack));
}

/// Moves an active job back to wait, for its next attempt. `fan_out`: wakes a worker for each job that it promotes.
///
/// # Errors
/// [`crate::error::Error::Code`] -1, -2, -3, -6; [`crate::error::Error::OutcomeUnknown`].
pub async fn retry_job(
    link: &Link,
    keys: &Keys,
    now: i64,
    attempt: EndedAttempt<'_>,
    lifo: bool,
    fan_out: bool,
) -> Result<()> {
    let EndedAttempt { id, token, failure } = attempt;
    let mut call = Call::new(&lua::finish::RETRY_JOB, keys);
    call.arg(now).arg(id).arg(token).arg(flag(lifo));
    add_failure(&mut call, failure);
    call.fan_out(fan_out);
    eval(link, &call, Retry::Never, |reply| reply::checked(reply, id, "retryJob", "active").map(drop)).await
}

/// Moves an active job to `delayed`, at most as far ahead as a job can be due. `skip_attempt`: this does not count as
/// an attempt made.
///
/// # Errors
/// [`crate::error::Error::Code`] -1, -2, -3, -6; [`crate::error::Error::OutcomeUnknown`].
pub async fn move_to_delayed(
    link: &Link,
    keys: &Keys,
    now: i64,
    attempt: EndedAttempt<'_>,
    delay: i64,
    skip_attempt: bool,
) -> Result<()> {
    let EndedAttempt { id, token, failure } = attempt;
    let mut call = Call::new(&lua::finish::MOVE_TO_DELAYED, keys);
    // A backoff that doubles reaches that limit after some attempts; the job then gets the longest possible delay.
    call.arg(now).arg(id).arg(token).arg(due::capped(now, delay)).arg(flag(skip_attempt));
    add_failure(&mut call, failure);
    eval(link, &call, Retry::Never, |reply| reply::checked(reply, id, "moveToDelayed", "active").map(drop)).await
}

/// Gives an active job back to the front of its queue. Returns the remaining milliseconds of its rate limit, or of that
/// of another queue, 0 if none.
///
/// # Errors
/// [`crate::error::Error::Code`] -1, -2, -6; [`crate::error::Error::OutcomeUnknown`].
pub async fn move_to_wait(link: &Link, keys: &Keys, shared_limit: Option<&Keys>, id: &str, token: &str) -> Result<i64> {
    let mut call = Call::on_one_or_both(&lua::finish::MOVE_TO_WAIT, keys, shared_limit, 2, 256);
    call.arg(id).arg(token);
    eval(link, &call, Retry::Never, |reply| reply::checked(reply, id, "moveJobFromActiveToWait", "active")).await
}

/// A job to give back, as if it had never been claimed.
#[derive(Clone, Copy, Debug)]
pub struct GivenBack<'a> {
    pub id: &'a str,
    pub token: &'a str,
    /// Its score in `prioritized`; `None` = it was in `wait`.
    pub score: Option<&'a str>,
    /// The earlier `ats`, `processedOn` and `pb`, if its fetch wrote its start.
    pub before: Option<[Option<&'a [u8]>; 3]>,
}

/// Gives back jobs that no handler has started, in one call; the job that runs first is the last one. One result per
/// job.
///
/// # Errors
/// [`crate::error::Error::OutcomeUnknown`] for the whole call; per job [`crate::error::Error::Code`] -1, -2, -3, -6.
pub async fn give_back(link: &Link, keys: &Keys, jobs: &[GivenBack<'_>]) -> Result<Vec<Result<()>>> {
    let mut call = Call::with_capacity(&lua::finish::GIVE_BACK, keys, jobs.len() * 7, jobs.len() * 100);
    for job in jobs {
        call.arg(job.id).arg(job.token).optional(job.score).arg(flag(job.before.is_some()));
        for value in job.before.unwrap_or_default() {
            call.optional(value);
        }
    }
    let read = |(code, job): (Value, &GivenBack<'_>)| reply::checked(code, job.id, "giveBack", "active").map(drop);
    let read_all = |reply| Ok(reply::exactly(jobs.len(), reply)?.into_iter().zip(jobs).map(read).collect());
    eval(link, &call, Retry::Never, read_all).await
}

/// Lets an active job wait for one child, by its key, or for all children. False: there is nothing to wait for.
///
/// # Errors
/// [`crate::error::Error::Code`] -1, -2, -3, -6, -9; [`crate::error::Error::OutcomeUnknown`].
pub async fn move_to_waiting_children(
    link: &Link,
    keys: &Keys,
    now: i64,
    id: &str,
    token: &str,
    child_key: Option<&str>,
) -> Result<bool> {
    let mut call = Call::new(&lua::finish::MOVE_TO_WAITING_CHILDREN, keys);
    call.arg(now).arg(id).arg(token).optional(child_key);
    let read = |reply| reply::checked(reply, id, "moveToWaitingChildren", "active").map(|reply| reply == 0);
    eval(link, &call, Retry::Never, read).await
}
