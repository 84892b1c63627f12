//! Handing in outcomes: `lua/finish`.

use redis::Value;

use super::fetch::{FetchPlan, Fetched};
use super::{eval, flag, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{due, reply, Keep, Keys};

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobResult {
    /// The JSON of the return value.
    Completed { value: Vec<u8> },
    /// `stack` is a JSON array of strings; `attempts` is the job's option, for `retries-exhausted`.
    Failed { reason: String, stack: Vec<u8>, attempts: i64 },
}

impl JobResult {
    /// The set the job goes to.
    #[must_use]
    pub fn target(&self) -> &'static str {
        match self {
            JobResult::Completed { .. } => "completed",
            JobResult::Failed { .. } => "failed",
        }
    }

    fn size(&self) -> usize {
        match self {
            JobResult::Completed { value } => value.len(),
            JobResult::Failed { reason, stack, .. } => reason.len() + stack.len() + 8,
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
    /// The number and the time (ms since the epoch) of its start, if it was claimed ahead and is to be stamped now.
    pub start: Option<(i64, i64)>,
    /// How many fields its hash has as long as nobody changes it, if there is neither a parent nor a deduplication id nor an
    /// attempt made among them.
    pub plain_fields: Option<usize>,
    pub outcome: &'a JobResult,
}

impl Finished<'_> {
    fn shares_run(&self, other: &Self) -> bool {
        self.keep == other.keep
            && self.start.map(|start| start.0) == other.start.map(|start| start.0)
            && self.plain_fields == other.plain_fields
            && self.outcome.target() == other.outcome.target()
            && self.token == other.token
    }
}

/// The value that all jobs of a run return. An empty one would look as if each had its own.
fn shared_value<'a>(run: &[Finished<'a>]) -> Option<&'a [u8]> {
    let JobResult::Completed { value } = run.first()?.outcome else { return None };
    let same = |job: &Finished<'_>| matches!(job.outcome, JobResult::Completed { value: other } if other == value);
    (!value.is_empty() && run.iter().all(same)).then_some(value)
}

/// What a finish call says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinishReply {
    /// (position in the call, why) of the jobs that were refused.
    pub failures: Vec<(usize, Refusal)>,
    pub fetched: Fetched,
    /// (key, what went wrong) of parents that could not be told.
    pub untold: Vec<(String, String)>,
}

/// Why a job was not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A negative result code.
    Code(i64),
    /// What the server said about one of the job's keys.
    Text(String),
}

impl Refusal {
    /// The error of a refused job of [`move_to_finished`].
    #[must_use]
    pub fn error(&self, id: &str) -> Error {
        match self {
            Refusal::Code(code) => Error::code(*code, id, "moveToFinished", "active"),
            Refusal::Text(text) => {
                let (code, message) = text.split_once(' ').unwrap_or(("ERR", text));
                Error::Server { code: code.to_owned(), message: format!("job {id}: {message}") }
            }
        }
    }
}

/// Finishes jobs and fetches the next ones in the same call. Never sent twice. `metrics_max_points` 0 = no metrics;
/// `worker_name` is for the stamps.
///
/// # Errors
/// [`Error::OutcomeUnknown`] when the reply got lost.
pub async fn move_to_finished(
    link: &Link,
    keys: &Keys,
    now: i64,
    metrics_max_points: i64,
    worker_name: Option<&str>,
    fetch: Option<&FetchPlan<'_>>,
    jobs: &[Finished<'_>],
) -> Result<FinishReply> {
    let bytes = jobs.iter().map(|job| job.id.len() + job.outcome.size()).sum::<usize>();
    let mut call =
        Call::with_capacity(&lua::finish::MOVE_TO_FINISHED, keys, 11 + jobs.len() * 4, bytes + jobs.len() * 16 + 256);
    call.arg(now).arg(metrics_max_points).arg(fetch.map_or(0, |plan| plan.count));
    call.optional(fetch.map(|plan| plan.token)).optional(fetch.map(|plan| plan.lock_duration));
    let limiter = fetch.and_then(|plan| plan.limiter);
    call.optional(limiter.map(|limiter| limiter.0)).optional(limiter.map(|limiter| limiter.1));
    call.optional(worker_name).arg(fetch.map_or(0, |plan| plan.slots));
    call.optional(fetch.and_then(|plan| plan.stalled_limit)).arg(flag(fetch.is_some_and(|plan| plan.alone)));
    for run in jobs.chunk_by(|job, next| job.shares_run(next)) {
        let head = &run[0];
        call.arg(run.len()).arg(head.outcome.target()).arg(head.token);
        let shared = shared_value(run);
        call.arg(head.keep.count).optional(head.keep.age).optional(head.start.map(|(ats, _)| ats));
        call.optional(head.plain_fields).optional(shared);
        for job in run {
            if let Some((_, at)) = job.start {
                call.arg(at);
            }
            call.arg(job.id);
            match job.outcome {
                JobResult::Completed { .. } if shared.is_some() => &mut call,
                JobResult::Completed { value } => call.arg(value),
                JobResult::Failed { reason, stack, attempts } => call.arg(reason).arg(stack).arg(*attempts),
            };
        }
    }
    let mut items = reply::array(eval(link, &call, Retry::Never).await?)?.into_iter();
    let failures = read_failures(items.next().unwrap_or(Value::Nil))?;
    let fetched = Fetched::read(items.by_ref())?;
    let untold = items.next().map_or(Ok(Vec::new()), reply::texts)?;
    let untold = untold.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    Ok(FinishReply { failures, fetched, untold })
}

fn read_failures(value: Value) -> Result<Vec<(usize, Refusal)>> {
    let mut items = reply::array(value)?.into_iter();
    let mut failures = Vec::with_capacity(items.len() / 2);
    while let (Some(index), Some(code)) = (items.next(), items.next()) {
        let index = usize::try_from(reply::integer(index)?).unwrap_or(usize::MAX);
        let refusal = match code {
            Value::Int(code) => Refusal::Code(code),
            text => Refusal::Text(reply::text(text)?),
        };
        failures.push((index, refusal));
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

/// A job that goes back as if it had never been claimed.
#[derive(Clone, Copy, Debug)]
pub struct GivenBack<'a> {
    pub id: &'a str,
    pub token: &'a str,
    /// What it had among the prioritized; `None` = it was in `wait`.
    pub score: Option<&'a str>,
    /// `ats`, `processedOn` and `pb` from before, if its fetch stamped it.
    pub before: Option<[Option<&'a [u8]>; 3]>,
}

/// Gives jobs back that no handler has started, in one call; the job to run first comes last. One result per job.
///
/// # Errors
/// [`Error::OutcomeUnknown`] for the whole call; per job [`Error::Code`] -1, -2, -3, -6.
pub async fn give_back(link: &Link, keys: &Keys, jobs: &[GivenBack<'_>]) -> Result<Vec<Result<()>>> {
    let mut call = Call::with_capacity(&lua::finish::GIVE_BACK, keys, jobs.len() * 7, jobs.len() * 100);
    for job in jobs {
        call.arg(job.id).arg(job.token).optional(job.score).arg(flag(job.before.is_some()));
        for value in job.before.unwrap_or_default() {
            call.optional(value);
        }
    }
    let codes = reply::array(eval(link, &call, Retry::Never).await?)?;
    let read = |(code, job): (Value, &GivenBack<'_>)| reply::checked(code, job.id, "giveBack", "active").map(drop);
    Ok(codes.into_iter().zip(jobs).map(read).collect())
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
