//! Decides which call each outcome needs.

use std::sync::Arc;

use super::ended_job::{EndedJob, Ending, Failed};
use super::settled::{Settled, Settlement};
use crate::error::Result;
use crate::protocol::{JobOptions, Keep};
use crate::scripts::finish::{self, Finished};
use crate::worker::held::HeldJob;
use crate::worker::options::WorkerOptions;
use crate::worker::outcome::Outcome;
use crate::worker::retry::Verdict;

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
    fn new(job: Arc<HeldJob>, options: &JobOptions, Ending { result, keep }: Ending) -> Self {
        Self { job, keep, outcome: result, wake: options.wake }
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
                let ending = ended(&job, &options).completed(worker, value);
                finishing.push(Finishing::new(job, &options, ending));
            }
            Outcome::Failed { job, failure } => {
                let options = JobOptions::parse(job.record.opts());
                let Failed { reason, stack, verdict } = ended(&job, &options).failed(worker, failure);
                let step = match verdict {
                    Verdict::RetryNow => Step::Retry { reason, stack, lifo: options.lifo },
                    Verdict::RetryIn(delay) => Step::Delay { reason, stack, delay },
                    Verdict::Fail | Verdict::NeedsStrategy(_) => {
                        let ending = ended(&job, &options).failed_for_good(worker, reason, stack);
                        finishing.push(Finishing::new(job, &options, ending));
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

fn ended<'a>(job: &'a HeldJob, options: &'a JobOptions) -> EndedJob<'a> {
    EndedJob { options, made: job.record.atm(), stacktrace: job.record.get("stacktrace") }
}
