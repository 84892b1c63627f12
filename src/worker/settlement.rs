//! Which call settles which outcome.

use std::sync::Arc;

use super::held::HeldJob;
use super::options::WorkerOptions;
use super::outcome::{stacktrace, verdict, Outcome, Verdict};
use crate::error::{Error, Result};
use crate::protocol::{JobOptions, Keep};
use crate::scripts::finish::{self, Finished};

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
    /// As if it had never been claimed.
    GivenBack,
    /// Back to `wait`; the limiter's remaining ms.
    Returned {
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

/// A job on its way to a finished state.
pub struct Finishing {
    pub job: Arc<HeldJob>,
    keep: Keep,
    pub outcome: finish::JobResult,
}

/// A job on its way out, but not to a finished state.
pub struct Moving {
    pub job: Arc<HeldJob>,
    pub step: Step,
}

pub enum Step {
    Retry { reason: String, stack: String, lifo: bool },
    Delay { reason: String, stack: String, delay: i64 },
    Defer { delay: i64 },
    Return,
    Release,
}

impl Finishing {
    fn new(job: Arc<HeldJob>, keep: Option<Keep>, outcome: finish::JobResult) -> Self {
        Self { job, keep: keep.unwrap_or(Keep::ALL), outcome }
    }

    pub fn finished(&self) -> Finished<'_> {
        let job = &*self.job;
        let start = job.unstamped().map(|start| (start.ats, start.at));
        let (keep, plain_fields) = (self.keep, job.plain_fields());
        Finished { id: job.id(), token: &job.token, keep, start, plain_fields, outcome: &self.outcome }
    }
}

impl Moving {
    pub fn settled((moving, moved): (Moving, Result<i64>)) -> Settled {
        let went = match (moved, moving.step) {
            (Err(error), _) => Went::Lost(error),
            (Ok(_), Step::Retry { reason, stack, .. }) => Went::Retried { reason, stacktrace: stack.into(), delay: 0 },
            (Ok(_), Step::Delay { reason, stack, delay }) => Went::Retried { reason, stacktrace: stack.into(), delay },
            (Ok(limit_ttl), Step::Return) => Went::Returned { limit_ttl },
            (Ok(_), Step::Release | Step::Defer { .. }) => Went::Released,
        };
        Settled { job: moving.job, went }
    }
}

/// Outcomes by the call that settles them.
pub struct Plan {
    pub finishing: Vec<Finishing>,
    pub moving: Vec<Moving>,
    pub returning: Vec<Arc<HeldJob>>,
}

pub fn plan(worker: &WorkerOptions, outcomes: Vec<Outcome>) -> Plan {
    let mut finishing = Vec::with_capacity(outcomes.len());
    let (mut moving, mut returning) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Outcome::Completed { job, value } => {
                let options = JobOptions::parse(job.record.opts());
                let keep = options.remove_on_complete.or(worker.remove_on_complete);
                finishing.push(Finishing::new(job, keep, finish::JobResult::Completed { value }));
            }
            Outcome::Failed { job, failure } => {
                let options = JobOptions::parse(job.record.opts());
                let failure = failure.capped(worker.max_error_size);
                let stack = stacktrace(job.record.get("stacktrace"), &options, &failure.stack);
                let verdict = verdict(job.record.atm(), &options, &failure, worker.max_backoff_ms);
                let reason = failure.reason;
                let step = match verdict {
                    Verdict::RetryNow => Step::Retry { reason, stack, lifo: options.lifo },
                    Verdict::RetryIn(delay) => Step::Delay { reason, stack, delay },
                    Verdict::Fail => {
                        let (stack, attempts) = (stack.into_bytes(), options.attempts);
                        let keep = options.remove_on_fail.or(worker.remove_on_fail);
                        finishing.push(Finishing::new(
                            job,
                            keep,
                            finish::JobResult::Failed { reason, stack, attempts },
                        ));
                        continue;
                    }
                };
                moving.push(Moving { job, step });
            }
            Outcome::GivenBack { job } => returning.push(job),
            Outcome::Returned { job } => moving.push(Moving { job, step: Step::Return }),
            Outcome::Deferred { job, delay } => moving.push(Moving { job, step: Step::Defer { delay } }),
            Outcome::Released { job } => moving.push(Moving { job, step: Step::Release }),
        }
    }
    // Equal runs side by side, oldest fetch first: each run costs a header, and `active` is searched from its old end.
    finishing.sort_by_key(|finishing| finishing.job.fetched);
    Plan { finishing, moving, returning }
}
