//! A job whose attempt has ended: what is stored of it, for the engine and for calls by hand. Whether a failed one is
//! tried again, and when, is decided in `worker/retry.rs::verdict`.

use crate::protocol::{JobOptions, Keep};
use crate::scripts::finish::JobResult;
use crate::worker::options::WorkerOptions;
use crate::worker::outcome::Failure;
use crate::worker::retry::{stacktrace, verdict, Verdict};

/// What is known of a job whose attempt has ended.
pub struct EndedJob<'a> {
    pub options: &'a JobOptions,
    /// Attempts that ended before this one.
    pub made: i64,
    /// The job's field `stacktrace` before this attempt.
    pub stacktrace: Option<&'a [u8]>,
}

/// How it ends for good.
pub struct Ending {
    pub result: JobResult,
    pub keep: Keep,
}

/// What becomes of a failed attempt.
pub struct Failed {
    /// As they are stored: the reason, and the job's field `stacktrace`.
    pub reason: String,
    pub stack: String,
    /// `NeedsStrategy` is the end as well: the worker has no strategy of that name, or it would have given the delay.
    pub verdict: Verdict,
}

impl EndedJob<'_> {
    /// Its handler has returned this JSON.
    pub fn completed(&self, worker: &WorkerOptions, value: Vec<u8>) -> Ending {
        let keep = self.options.remove_on_complete.or(worker.remove_on_complete).unwrap_or(Keep::ALL);
        Ending { result: JobResult::Completed { value }, keep }
    }

    /// Its attempt has failed.
    pub fn failed(&self, worker: &WorkerOptions, failure: Failure) -> Failed {
        let failure = failure.capped(worker.max_error_size);
        let stack = stacktrace(self.stacktrace, self.options, &failure.stack);
        let verdict = verdict(self.made, self.options, &failure, worker.max_backoff_ms);
        Failed { reason: failure.reason, stack, verdict }
    }

    /// It has failed for good.
    pub fn failed_for_good(&self, worker: &WorkerOptions, reason: String, stack: String) -> Ending {
        let keep = self.options.remove_on_fail.or(worker.remove_on_fail).unwrap_or(Keep::ALL);
        Ending {
            result: JobResult::Failed { reason, stack: stack.into_bytes(), attempts: self.options.attempts },
            keep,
        }
    }
}

/// The backoff type of a job that will be retried, if only a custom strategy can compute its delay.
pub fn needs_strategy(made: i64, options: &JobOptions) -> Option<String> {
    let failure = Failure { reason: String::new(), stack: String::new(), retry: true, delay: None };
    match verdict(made, options, &failure, None) {
        Verdict::NeedsStrategy(kind) => Some(kind),
        _ => None,
    }
}
