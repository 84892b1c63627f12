//! Finishing jobs, and moving active jobs back: `lua/finish`.

mod moves;

use redis::Value;

pub use moves::{
    give_back, move_to_delayed, move_to_wait, move_to_waiting_children, retry_job, EndedAttempt, Failure, GivenBack,
};

use super::fetch::{FetchPlan, Fetched};
use super::{eval, flag, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Keep, Keys};

/// The result of a job that is to be finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobResult {
    /// The JSON of the return value.
    Completed { value: Vec<u8> },
    /// `stack` is a JSON array of strings; `attempts` is the job's option, for `retries-exhausted`.
    Failed { reason: String, stack: Vec<u8>, attempts: i64 },
}

impl JobResult {
    /// The set that the job moves to.
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

/// One job to finish. Consecutive jobs that differ only in id and result share one header; if they all return the same
/// value, the value is there as well.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    pub id: &'a str,
    pub token: &'a str,
    pub keep: Keep,
    /// The number and the time (ms since the epoch) of its start, if it was claimed ahead and its start is not written
    /// yet.
    pub start: Option<(i64, i64)>,
    /// For a job that had only the standard fields when it was fetched: how many fields its hash has if nobody has
    /// changed it.
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

/// A bug that the fault suite has to find: outcomes are accepted from workers that have lost their locks.
const IS_UNFENCED: bool = cfg!(feature = "planted-unfenced-finish");

/// The value that all jobs of a run return. An empty one is not shared: in the header it means that each job has its
/// own.
fn shared_value<'a>(run: &[Finished<'a>]) -> Option<&'a [u8]> {
    let JobResult::Completed { value } = run.first()?.outcome else { return None };
    let same = |job: &Finished<'_>| matches!(job.outcome, JobResult::Completed { value: other } if other == value);
    (!value.is_empty() && run.iter().all(same)).then_some(value)
}

/// The reply of a finish call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinishReply {
    /// (position in the call, why) of the jobs that were refused.
    pub failures: Vec<(usize, JobError)>,
    pub fetched: Fetched,
    /// (key, error) of the parents that could not be updated.
    pub failed_updates: Vec<(String, String)>,
}

/// Why a job was not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobError {
    /// A negative result code.
    Code(i64),
    /// The server's error about one of the job's keys.
    Text(String),
}

impl JobError {
    /// The error of a refused job of [`move_to_finished`].
    #[must_use]
    pub fn error(&self, id: &str) -> Error {
        match self {
            JobError::Code(code) => Error::code(*code, id, "moveToFinished", "active"),
            JobError::Text(text) => {
                let (code, message) = text.split_once(' ').unwrap_or(("ERR", text));
                Error::Server { code: code.to_owned(), message: format!("job {id}: {message}") }
            }
        }
    }
}

/// The queue to which outcomes are added as jobs.
#[derive(Clone, Copy, Debug)]
pub struct ResultsQueue<'a> {
    pub name: &'a str,
    /// The options of these jobs, in JSON.
    pub opts: &'a str,
}

/// What a finish call says about the worker that makes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FinishedBy<'a> {
    /// 0 = no metrics.
    pub metrics_max_points: i64,
    /// Written with the start of a job.
    pub worker_name: Option<&'a str>,
    /// The run whose list gets the ids of the finished jobs.
    pub run: Option<&'a str>,
    /// The queue to which the outcomes are added as jobs.
    pub results: Option<ResultsQueue<'a>>,
    /// Wakes a worker for each parent that is released, and for each promoted job that is not fetched.
    pub fan_out: bool,
    /// A call that does not fetch wakes a worker for the slots that become free.
    pub leaves_slots: bool,
}

/// Finishes jobs and fetches the next ones in the same call. Never sent twice.
///
/// # Errors
/// [`Error::OutcomeUnknown`] when the reply got lost.
pub async fn move_to_finished(
    link: &Link,
    keys: &Keys,
    now: i64,
    by: FinishedBy<'_>,
    fetch: Option<&FetchPlan<'_>>,
    jobs: &[Finished<'_>],
) -> Result<FinishReply> {
    let bytes = jobs.iter().map(|job| job.id.len() + job.outcome.size()).sum::<usize>();
    let (shared_limit, args) = (fetch.and_then(|plan| plan.shared_limit), 12 + jobs.len() * 4);
    let bytes = bytes + jobs.len() * 16 + 256;
    let mut call = Call::on_one_or_both(&lua::finish::MOVE_TO_FINISHED, keys, shared_limit, args, bytes);
    call.arg(now).arg(by.metrics_max_points);
    match fetch {
        Some(plan) => call.arg(plan.count),
        None => call.arg(-i64::from(by.leaves_slots)),
    };
    call.optional(fetch.map(|plan| plan.token)).optional(fetch.map(|plan| plan.lock_duration));
    let limiter = fetch.and_then(|plan| plan.limiter);
    call.optional(limiter.map(|limiter| limiter.0)).optional(limiter.map(|limiter| limiter.1));
    call.optional(by.worker_name).arg(fetch.map_or(0, |plan| plan.slots));
    call.optional(fetch.and_then(|plan| plan.stalled_limit)).arg(flag(fetch.is_some_and(|plan| plan.alone)));
    call.optional(by.run);
    if let Some(results) = by.results {
        call.arg("results").arg(format!("{}:{}:", keys.prefix(), results.name)).arg(results.opts);
    }
    for run in jobs.chunk_by(|job, next| job.shares_run(next)) {
        let head = &run[0];
        let token = if IS_UNFENCED { "0" } else { head.token };
        call.arg(run.len()).arg(head.outcome.target()).arg(token);
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
    call.fan_out(by.fan_out);
    call.number();
    eval(link, &call, Retry::Never, read_finish).await
}

fn read_finish(reply: Value) -> Result<FinishReply> {
    let mut items = reply::array(reply)?.into_iter();
    let failures = read_failures(items.next().unwrap_or(Value::Nil))?;
    let fetched = Fetched::read(items.by_ref())?;
    let failed_updates = items.next().map_or(Ok(Vec::new()), reply::texts)?;
    let failed_updates = failed_updates.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    Ok(FinishReply { failures, fetched, failed_updates })
}

fn read_failures(value: Value) -> Result<Vec<(usize, JobError)>> {
    let mut items = reply::array(value)?.into_iter();
    let mut failures = Vec::with_capacity(items.len() / 2);
    while let (Some(index), Some(code)) = (items.next(), items.next()) {
        let index = usize::try_from(reply::integer(index)?).unwrap_or(usize::MAX);
        let refusal = match code {
            Value::Int(code) => JobError::Code(code),
            text => JobError::Text(reply::text(text)?),
        };
        failures.push((index, refusal));
    }
    Ok(failures)
}
