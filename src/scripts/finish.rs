//! Handing in outcomes: `lua/finish`.

use redis::Value;

use super::fetch::{FetchPlan, Fetched};
use super::{eval, flag, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{due, reply, Keep, Keys};

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The JSON of the return value.
    Completed { value: Vec<u8> },
    /// `stack` is a JSON array of strings; `attempts` is the job's option, for `retries-exhausted`.
    Failed { reason: String, stack: Vec<u8>, attempts: i64 },
}

impl Outcome {
    /// The set the job goes to.
    #[must_use]
    pub fn target(&self) -> &'static str {
        match self {
            Outcome::Completed { .. } => "completed",
            Outcome::Failed { .. } => "failed",
        }
    }

    fn size(&self) -> usize {
        match self {
            Outcome::Completed { value } => value.len(),
            Outcome::Failed { reason, stack, .. } => reason.len() + stack.len() + 8,
        }
    }
}

/// One job to finish. Consecutive jobs that differ in nothing but id and outcome cost one header; if they all return the
/// same value, it goes there as well.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    pub id: &'a str,
    pub token: &'a str,
    pub keep: Keep,
    /// [`crate::protocol::JobRecord::plain_fields`] of the job as it was fetched.
    pub plain_fields: Option<u8>,
    pub outcome: &'a Outcome,
}

impl Finished<'_> {
    fn shares_run(&self, other: &Self) -> bool {
        self.keep == other.keep
            && self.plain_fields == other.plain_fields
            && self.outcome.target() == other.outcome.target()
            && self.token == other.token
    }
}

/// The value that all jobs of a run return. An empty one would look as if each had its own.
fn shared_value<'a>(run: &[Finished<'a>]) -> Option<&'a [u8]> {
    let Outcome::Completed { value } = run.first()?.outcome else { return None };
    let same = |job: &Finished<'_>| matches!(job.outcome, Outcome::Completed { value: other } if other == value);
    (!value.is_empty() && run.iter().all(same)).then_some(value)
}

/// What a finish call says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinishReply {
    /// (position in the call, negative result code) of the jobs that were refused.
    pub failures: Vec<(usize, i64)>,
    pub fetched: Fetched,
}

/// Finishes jobs and fetches the next ones in the same call. Never sent twice. `metrics_max_points` 0 = no metrics.
///
/// # Errors
/// [`Error::OutcomeUnknown`] when the reply got lost.
pub async fn move_to_finished(
    link: &Link,
    keys: &Keys,
    now: i64,
    metrics_max_points: i64,
    fetch: Option<&FetchPlan<'_>>,
    jobs: &[Finished<'_>],
) -> Result<FinishReply> {
    let bytes = jobs.iter().map(|job| job.id.len() + job.outcome.size()).sum::<usize>();
    let mut call = Call::with_capacity(&lua::finish::MOVE_TO_FINISHED, keys, 8 + jobs.len() * 4, bytes + 256);
    call.arg(now).arg(metrics_max_points).arg(fetch.map_or(0, |plan| plan.count));
    call.optional(fetch.map(|plan| plan.token)).optional(fetch.map(|plan| plan.lock_duration));
    let limiter = fetch.and_then(|plan| plan.limiter);
    call.optional(limiter.map(|limiter| limiter.0)).optional(limiter.map(|limiter| limiter.1));
    call.optional(fetch.and_then(|plan| plan.worker_name));
    for run in jobs.chunk_by(|job, next| job.shares_run(next)) {
        let head = &run[0];
        call.arg(run.len()).arg(head.outcome.target()).arg(head.token);
        let shared = shared_value(run);
        call.arg(head.keep.count).optional(head.keep.age).optional(head.plain_fields).optional(shared);
        for job in run {
            call.arg(job.id);
            match job.outcome {
                Outcome::Completed { .. } if shared.is_some() => &mut call,
                Outcome::Completed { value } => call.arg(value),
                Outcome::Failed { reason, stack, attempts } => call.arg(reason).arg(stack).arg(*attempts),
            };
        }
    }
    let mut items = reply::array(eval(link, &call, Retry::Never).await?)?.into_iter();
    let failures = read_failures(items.next().unwrap_or(Value::Nil))?;
    Ok(FinishReply { failures, fetched: Fetched::read(items)? })
}

fn read_failures(value: Value) -> Result<Vec<(usize, i64)>> {
    let mut items = reply::array(value)?.into_iter();
    let mut failures = Vec::with_capacity(items.len() / 2);
    while let (Some(index), Some(code)) = (items.next(), items.next()) {
        let index = usize::try_from(reply::integer(index)?).unwrap_or(usize::MAX);
        failures.push((index, reply::integer(code)?));
    }
    Ok(failures)
}

/// What an attempt that will be repeated leaves behind; `stack` is a JSON array of strings.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    pub reason: &'a str,
    pub stack: &'a [u8],
}

fn add_failure(call: &mut Call, failure: Option<Failure<'_>>) {
    call.optional(failure.map(|failure| failure.reason));
    call.optional(failure.map(|failure| failure.stack));
}

/// Puts an active job back to wait for its next attempt.
///
/// # Errors
/// [`Error::Code`] -1, -2, -3, -6; [`Error::OutcomeUnknown`].
pub async fn retry_job(
    link: &Link,
    keys: &Keys,
    now: i64,
    id: &str,
    token: &str,
    lifo: bool,
    failure: Option<Failure<'_>>,
) -> Result<()> {
    let mut call = Call::new(&lua::finish::RETRY_JOB, keys);
    call.arg(now).arg(id).arg(token).arg(flag(lifo));
    add_failure(&mut call, failure);
    let reply = eval(link, &call, Retry::Never).await?;
    reply::checked(reply, id, "retryJob", "active").map(drop)
}

/// Puts an active job into `delayed`, as far ahead as a job can be due. `skip_attempt`: this does not count as an attempt made.
///
/// # Errors
/// [`Error::Code`] -1, -2, -3, -6; [`Error::OutcomeUnknown`].
#[allow(clippy::too_many_arguments)]
pub async fn move_to_delayed(
    link: &Link,
    keys: &Keys,
    now: i64,
    id: &str,
    token: &str,
    delay: i64,
    skip_attempt: bool,
    failure: Option<Failure<'_>>,
) -> Result<()> {
    let mut call = Call::new(&lua::finish::MOVE_TO_DELAYED, keys);
    // A backoff that doubles gets there after some attempts, and the job must go somewhere.
    call.arg(now).arg(id).arg(token).arg(due::capped(now, delay)).arg(flag(skip_attempt));
    add_failure(&mut call, failure);
    let reply = eval(link, &call, Retry::Never).await?;
    reply::checked(reply, id, "moveToDelayed", "active").map(drop)
}

/// Gives an active job back to the front of its queue. Returns the limiter's remaining milliseconds, 0 if none.
///
/// # Errors
/// [`Error::Code`] -1, -2, -6; [`Error::OutcomeUnknown`].
pub async fn move_to_wait(link: &Link, keys: &Keys, id: &str, token: &str) -> Result<i64> {
    let mut call = Call::new(&lua::finish::MOVE_TO_WAIT, keys);
    call.arg(id).arg(token);
    let reply = eval(link, &call, Retry::Never).await?;
    reply::checked(reply, id, "moveJobFromActiveToWait", "active")
}

/// [`move_to_wait`] for many jobs in one pipeline; one result per job.
///
/// # Errors
/// [`Error::OutcomeUnknown`] for the whole pipeline.
pub async fn move_many_to_wait(link: &Link, keys: &Keys, jobs: &[(&str, &str)]) -> Result<Vec<Result<i64>>> {
    let calls: Vec<Call> = jobs
        .iter()
        .map(|(id, token)| {
            let mut call = Call::new(&lua::finish::MOVE_TO_WAIT, keys);
            call.arg(id).arg(token);
            call
        })
        .collect();
    let replies = super::eval_many(link, &calls, Retry::Never).await?;
    let read = |(reply, (id, _)): (Result<Value>, &(&str, &str))| {
        reply.and_then(|value| reply::checked(value, id, "moveJobFromActiveToWait", "active"))
    };
    Ok(replies.into_iter().zip(jobs).map(read).collect())
}

/// Lets an active job wait for one child, by its key, or for all of them. False: there is nothing to wait for.
///
/// # Errors
/// [`Error::Code`] -1, -2, -3, -6, -9; [`Error::OutcomeUnknown`].
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
    let reply = eval(link, &call, Retry::Never).await?;
    reply::checked(reply, id, "moveToWaitingChildren", "active").map(|reply| reply == 0)
}

/// The error of a refused job of [`move_to_finished`].
#[must_use]
pub fn refusal(id: &str, code: i64) -> Error {
    Error::code(code, id, "moveToFinished", "active")
}
