//! Turns outcomes into finish, retry and delay calls; everything queued goes in one round trip.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{join3, join_all};

use super::fetcher::fetch_plan;
use super::held::HeldJob;
use super::options::WorkerOptions;
use super::outcome::{stacktrace, verdict, Failure, Outcome, Verdict};
use super::shared::Shared;
use crate::clock::now_ms;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::lock::Mutex;
use crate::protocol::{reply, JobOptions, Keep, Keys};
use crate::scripts::fetch::{FetchPlan, Fetched};
use crate::scripts::finish::{self, FinishReply, Finished};

/// Pause before outcomes are handed in again that the server could not take.
const AFTER_ERROR: Duration = Duration::from_millis(500);

/// What became of a job.
pub enum Went {
    Completed {
        value: Vec<u8>,
        finished_on: i64,
    },
    Failed {
        reason: String,
        stacktrace: Vec<u8>,
        finished_on: i64,
    },
    Retried {
        reason: String,
        stacktrace: Vec<u8>,
        delay: i64,
    },
    /// Given back to `wait`; the limiter's remaining ms.
    GivenBack {
        limit_ttl: i64,
    },
    /// The handler has moved it itself.
    Released,
    /// No longer this worker's.
    Lost(Error),
    /// Refused by Redis, with an error of this class: to be settled in another way.
    Instead(Outcome, &'static str),
}

pub struct Settled {
    pub job: Arc<HeldJob>,
    pub went: Went,
}

/// The fetch that rides on a finish call.
pub struct Ride {
    pub token: Arc<str>,
    pub count: usize,
}

/// What became of a ride.
pub enum Fetching {
    None,
    Brought(Fetched),
    /// The reply got lost: ask by the ride's token.
    Unknown,
}

/// What a round trip brought.
pub struct Round {
    pub sent: Instant,
    pub settled: Vec<Settled>,
    pub fetching: Fetching,
}

pub struct Finisher {
    pub link: Link,
    pub keys: Keys,
    pub shared: Arc<Shared>,
    /// When it was last told that outcomes wait.
    pub reported: Mutex<Option<Instant>>,
}

/// What a finish call said: the refused jobs by position, and what became of its fetch.
struct Reply {
    refused: Vec<(usize, Error)>,
    fetching: Fetching,
    /// When the call said that the jobs finished.
    now: i64,
    /// The call was repeated after an unknown outcome: a refusal may mean that the first try was accepted.
    repeated: bool,
}

/// A job on its way to a finished state.
struct Finishing {
    job: Arc<HeldJob>,
    keep: Keep,
    outcome: finish::Outcome,
}

/// A job on its way out, but not to a finished state.
struct Moving {
    job: Arc<HeldJob>,
    step: Step,
}

enum Step {
    Retry { reason: String, stack: String, lifo: bool },
    Delay { reason: String, stack: String, delay: i64 },
    Defer { delay: i64 },
    Release,
}

impl Finisher {
    /// Settle all outcomes, and fetch in the same round trip when there is a ride.
    pub async fn settle(&self, outcomes: Vec<Outcome>, ride: Option<&Ride>) -> Round {
        let Plan { finishing, moving, returning } = plan(&self.shared.options, outcomes);
        let sent = Instant::now();
        let moves = join_all(moving.iter().map(|moving| self.move_job(moving)));
        let (reply, moved, returned) = join3(self.finish(&finishing, ride), moves, self.give_back(&returning)).await;

        let mut settled: Vec<Settled> = moving.into_iter().zip(moved).map(Moving::settled).collect();
        settled.extend(returning.into_iter().zip(returned).map(|(job, returned)| {
            let went = returned.map_or_else(Went::Lost, |limit_ttl| Went::GivenBack { limit_ttl });
            Settled { job, went }
        }));
        let mut refused = reply.refused.into_iter().peekable();
        for (index, Finishing { job, outcome, .. }) in finishing.into_iter().enumerate() {
            let error = refused.next_if(|(at, _)| *at == index).map(|(_, error)| error);
            let went = match error {
                Some(error) if !(reply.repeated && self.was_finished(&error, &job).await) => {
                    refusal(error, &job, &outcome)
                }
                _ => accepted(outcome, reply.now),
            };
            settled.push(Settled { job, went });
        }
        Round { sent, settled, fetching: reply.fetching }
    }

    async fn finish(&self, jobs: &[Finishing], ride: Option<&Ride>) -> Reply {
        let mut reply = Reply { refused: Vec::new(), fetching: Fetching::None, now: 0, repeated: false };
        if jobs.is_empty() {
            // The engine fetches by itself in its next turn.
            return reply;
        }
        let mut fetch = ride.map(|ride| fetch_plan(&self.shared.options, &ride.token, ride.count));
        loop {
            reply.now = now_ms();
            match self.finish_call(jobs, fetch.as_ref(), reply.now).await {
                Ok(FinishReply { failures, fetched }) => {
                    let error =
                        |(index, code): (usize, i64)| Some((index, finish::refusal(jobs.get(index)?.job.id(), code)));
                    reply.refused = failures.into_iter().filter_map(error).collect();
                    if fetch.is_some() {
                        reply.fetching = Fetching::Brought(fetched);
                    }
                    return reply;
                }
                // Safe to repeat: what was accepted is refused now, and `was_finished` tells it apart.
                Err(Error::OutcomeUnknown(_)) => {
                    reply.repeated = true;
                    if fetch.take().is_some() {
                        reply.fetching = Fetching::Unknown;
                    }
                }
                Err(error) if error.is_passing() => self.wait_out(&error).await,
                Err(error) if jobs.len() == 1 => {
                    reply.refused = vec![(0, error)];
                    return reply;
                }
                // One poisoned job must not hold up the others: find it by finishing them one by one.
                Err(_) => {
                    for (index, job) in jobs.iter().enumerate() {
                        match self.finish_call(std::slice::from_ref(job), None, reply.now).await {
                            Ok(alone) => {
                                let code = alone.failures.first().map(|(_, code)| *code);
                                reply.refused.extend(code.map(|code| (index, finish::refusal(job.job.id(), code))));
                            }
                            Err(error) => reply.refused.push((index, error)),
                        }
                    }
                    return reply;
                }
            }
        }
    }

    async fn wait_out(&self, error: &Error) {
        self.report_once(error);
        tokio::time::sleep(AFTER_ERROR).await;
    }

    /// Hundreds may wait at the same time, for the same reason.
    fn report_once(&self, error: &Error) {
        let mut reported = self.reported.lock();
        if reported.is_none_or(|last| last.elapsed() >= AFTER_ERROR) {
            *reported = Some(Instant::now());
            self.shared.error(format!("outcomes wait: {error}"));
        }
    }

    async fn finish_call(&self, jobs: &[Finishing], fetch: Option<&FetchPlan<'_>>, now: i64) -> Result<FinishReply> {
        let points = self.shared.options.metrics_max_points.unwrap_or(0);
        let jobs: Vec<_> = jobs.iter().map(Finishing::finished).collect();
        finish::move_to_finished(&self.link, &self.keys, now, points, fetch, &jobs).await
    }

    /// Give jobs back, each in front of the one before, in one round trip.
    async fn give_back(&self, jobs: &[Arc<HeldJob>]) -> Vec<Result<i64>> {
        let mut results: Vec<Option<Result<i64>>> = vec![None; jobs.len()];
        let mut repeated = false;
        loop {
            let open: Vec<usize> = (0..jobs.len()).filter(|&at| results[at].is_none()).collect();
            if open.is_empty() {
                return results.into_iter().flatten().collect();
            }
            let calls: Vec<_> = open.iter().map(|&at| (jobs[at].id(), &*jobs[at].token)).collect();
            let mut passing = None;
            match finish::move_many_to_wait(&self.link, &self.keys, &calls).await {
                Ok(replies) => {
                    for (at, reply) in open.into_iter().zip(replies) {
                        match reply {
                            Err(error) if error.is_passing() => passing = Some(error),
                            // As in `move_job`.
                            Err(Error::Code { .. }) if repeated => results[at] = Some(Ok(0)),
                            reply => results[at] = Some(reply),
                        }
                    }
                }
                Err(Error::OutcomeUnknown(_)) => repeated = true,
                Err(error) if error.is_passing() => passing = Some(error),
                Err(error) => return vec![Err(error); jobs.len()],
            }
            if let Some(error) = passing {
                self.wait_out(&error).await;
            }
        }
    }

    async fn move_job(&self, moving: &Moving) -> Result<i64> {
        let (link, keys, id, token) = (&self.link, &self.keys, moving.job.id(), &*moving.job.token);
        let mut repeated = false;
        loop {
            let moved = match &moving.step {
                Step::Retry { reason, stack, lifo } => {
                    let failure = finish::Failure { reason, stack: stack.as_bytes() };
                    let moved = finish::retry_job(link, keys, now_ms(), id, token, *lifo, Some(failure));
                    moved.await.map(|()| 0)
                }
                Step::Delay { reason, stack, delay } => {
                    let failure = finish::Failure { reason, stack: stack.as_bytes() };
                    let moved = finish::move_to_delayed(link, keys, now_ms(), id, token, *delay, false, Some(failure));
                    moved.await.map(|()| 0)
                }
                Step::Defer { delay } => {
                    let moved = finish::move_to_delayed(link, keys, now_ms(), id, token, *delay, true, None);
                    moved.await.map(|()| 0)
                }
                Step::Release => Ok(0),
            };
            match moved {
                Err(Error::OutcomeUnknown(_)) => repeated = true,
                // The first try was accepted, or the lock is lost: either way the job is on its way again.
                Err(Error::Code { .. }) if repeated => return Ok(0),
                Err(error) if error.is_passing() => self.wait_out(&error).await,
                result => return result,
            }
        }
    }

    /// After an unknown outcome, a refusal may mean that the first try was accepted: ask Redis.
    async fn was_finished(&self, error: &Error, job: &HeldJob) -> bool {
        if !matches!(error, Error::Code { code: -1 | -2 | -3 | -6, .. }) {
            return false;
        }
        let mut ask = redis::cmd("HMGET");
        ask.arg(self.keys.job(job.id())).arg("finishedOn").arg("name");
        let Ok(Ok(fields)) = self.link.call(&ask, Retry::Safe).await.map(reply::array) else {
            return false;
        };
        let present = |at: usize| !matches!(fields.get(at), None | Some(redis::Value::Nil));
        // Gone altogether: removed by its keep rule as it finished.
        present(0) || !present(1)
    }
}

impl Finishing {
    fn new(job: Arc<HeldJob>, keep: Option<Keep>, outcome: finish::Outcome) -> Self {
        Self { job, keep: keep.unwrap_or(Keep::ALL), outcome }
    }

    fn finished(&self) -> Finished<'_> {
        let HeldJob { record, token, .. } = &*self.job;
        let plain_fields = record.plain_fields();
        Finished { id: &record.id, token, keep: self.keep, plain_fields, outcome: &self.outcome }
    }
}

impl Moving {
    fn settled((moving, moved): (Moving, Result<i64>)) -> Settled {
        let went = match (moved, moving.step) {
            (Err(error), _) => Went::Lost(error),
            (Ok(_), Step::Retry { reason, stack, .. }) => Went::Retried { reason, stacktrace: stack.into(), delay: 0 },
            (Ok(_), Step::Delay { reason, stack, delay }) => Went::Retried { reason, stacktrace: stack.into(), delay },
            (Ok(_), Step::Release | Step::Defer { .. }) => Went::Released,
        };
        Settled { job: moving.job, went }
    }
}

/// Outcomes by the call that settles them.
struct Plan {
    finishing: Vec<Finishing>,
    moving: Vec<Moving>,
    returning: Vec<Arc<HeldJob>>,
}

fn plan(worker: &WorkerOptions, outcomes: Vec<Outcome>) -> Plan {
    let mut finishing = Vec::with_capacity(outcomes.len());
    let (mut moving, mut returning) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Outcome::Completed { job, value } => {
                let options = JobOptions::parse(job.record.opts());
                let keep = options.remove_on_complete.or(worker.remove_on_complete);
                finishing.push(Finishing::new(job, keep, finish::Outcome::Completed { value }));
            }
            Outcome::Failed { job, failure } => {
                let options = JobOptions::parse(job.record.opts());
                let stack = stacktrace(job.record.get("stacktrace"), &options, &failure.stack);
                let verdict = verdict(job.record.atm(), &options, &failure, worker.max_backoff_ms);
                let reason = failure.reason;
                let step = match verdict {
                    Verdict::RetryNow => Step::Retry { reason, stack, lifo: options.lifo },
                    Verdict::RetryIn(delay) => Step::Delay { reason, stack, delay },
                    Verdict::Fail => {
                        let (stack, attempts) = (stack.into_bytes(), options.attempts);
                        let keep = options.remove_on_fail.or(worker.remove_on_fail);
                        finishing.push(Finishing::new(job, keep, finish::Outcome::Failed { reason, stack, attempts }));
                        continue;
                    }
                };
                moving.push(Moving { job, step });
            }
            Outcome::GivenBack { job } => returning.push(job),
            Outcome::Deferred { job, delay } => moving.push(Moving { job, step: Step::Defer { delay } }),
            Outcome::Released { job } => moving.push(Moving { job, step: Step::Release }),
        }
    }
    // Equal runs side by side, oldest fetch first: each run costs a header, and `active` is searched from its old end.
    finishing.sort_by_key(|finishing| finishing.job.fetched);
    Plan { finishing, moving, returning }
}

fn accepted(outcome: finish::Outcome, finished_on: i64) -> Went {
    match outcome {
        finish::Outcome::Completed { value } => Went::Completed { value, finished_on },
        finish::Outcome::Failed { reason, stack, .. } => Went::Failed { reason, stacktrace: stack, finished_on },
    }
}

/// BullMQ runs its failure decision with the error that completing raised; a lost lock cannot be mended so.
fn refusal(error: Error, job: &Arc<HeldJob>, outcome: &finish::Outcome) -> Went {
    let completing = matches!(outcome, finish::Outcome::Completed { .. });
    let (kind, class, retry) = match &error {
        Error::Code { code: -4, .. } if completing => ("Error", "PendingDependenciesError", true),
        Error::Code { code: -9, .. } if completing => ("UnrecoverableError", "FailedChildrenError", false),
        _ => return Went::Lost(error),
    };
    let reason = error.to_string();
    let stack = format!("{kind}: {reason}");
    let failure = Failure { reason, stack, retry, delay: None };
    Went::Instead(Outcome::Failed { job: job.clone(), failure }, class)
}
