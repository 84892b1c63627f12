//! Decides which call each outcome needs.

use std::sync::Arc;

use super::settled::{Settled, Settlement};
use crate::error::Result;
use crate::protocol::{JobOptions, Keep};
use crate::scripts::finish::{self, Finished};
use crate::worker::held::HeldJob;
use crate::worker::options::WorkerOptions;
use crate::worker::outcome::Outcome;
use crate::worker::retry::{stacktrace, verdict, Verdict};

/// A job that becomes completed or failed.
pub struct Finishing {
    pub job: Arc<HeldJob>,
    keep: Keep,
    pub outcome: finish::JobResult,
    /// Publish a message when the job has finished.
    pub wake: bool,
}

/// A job that moves to another state.
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
    fn new(job: Arc<HeldJob>, options: &JobOptions, keep: Option<Keep>, outcome: finish::JobResult) -> Self {
        Self { job, keep: keep.unwrap_or(Keep::ALL), outcome, wake: options.wake }
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
        let settlement = match (moved, moving.step) {
            (Err(error), _) => Settlement::Lost(error),
            (Ok(next_run_at), Step::Retry { reason, stack, .. }) => {
                Settlement::Retried { reason, stacktrace: stack.into(), delay: 0, next_run_at }
            }
            (Ok(next_run_at), Step::Delay { reason, stack, delay }) => {
                Settlement::Retried { reason, stacktrace: stack.into(), delay, next_run_at }
            }
            (Ok(limit_ttl), Step::Return) => Settlement::Returned { limit_ttl },
            (Ok(_), Step::Release | Step::Defer { .. }) => Settlement::Released,
        };
        Settled { job: moving.job, settlement }
    }
}

/// Outcomes by the call that they need.
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
                finishing.push(Finishing::new(job, &options, keep, finish::JobResult::Completed { value }));
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
                            &options,
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
    // Jobs of one fetch side by side: they share one header in the call. The oldest fetch first: `active` is searched
    // from its oldest end.
    finishing.sort_by_key(|finishing| finishing.job.fetched);
    Plan { finishing, moving, returning }
}
