//! What became of a job whose outcome was sent.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use crate::error::Error;
use crate::scripts::finish;
use crate::worker::held::HeldJob;
use crate::worker::outcome::{Failure, Outcome};

/// What became of a job.
pub enum Settlement {
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
        next_run_at: i64,
    },
    /// As if it had never been claimed.
    GivenBack,
    /// Back to `wait`; the limiter's remaining ms.
    Returned {
        limit_ttl: i64,
    },
    /// Moved elsewhere, by its handler or to `delayed`.
    Released,
    /// It no longer belongs to this worker.
    Lost(Error),
    /// Redis refused the outcome with an error of this class; the job gets this outcome instead.
    Replaced(Outcome, &'static str),
}

pub struct Settled {
    pub job: Arc<HeldJob>,
    pub settlement: Settlement,
}

/// The settlement of a job whose outcome was accepted.
pub(super) fn accepted(outcome: finish::JobResult, finished_on: i64) -> Settlement {
    match outcome {
        finish::JobResult::Completed { value } => Settlement::Completed { value, finished_on },
        finish::JobResult::Failed { reason, stack, .. } => {
            Settlement::Failed { reason, stacktrace: stack, finished_on }
        }
    }
}

/// The settlement of a job whose outcome was refused. As in BullMQ, an error while completing fails the job, unless the
/// lock is lost.
pub(super) fn refused(error: Error, job: &Arc<HeldJob>, outcome: &finish::JobResult) -> Settlement {
    let completing = matches!(outcome, finish::JobResult::Completed { .. });
    let (kind, class, retry) = match &error {
        Error::Code { code: -4, .. } if completing => {
            ("Error", "PendingDependenciesError", !job.discarded.load(Ordering::Relaxed))
        }
        Error::TooLarge(_) if completing => ("TooLargeError", "TooLargeError", false),
        Error::Code { code: -9, .. } if completing => ("UnrecoverableError", "FailedChildrenError", false),
        _ => return Settlement::Lost(error),
    };
    let reason = error.to_string();
    let stack = format!("{kind}: {reason}");
    let failure = Failure { reason, stack, retry, delay: None };
    Settlement::Replaced(Outcome::Failed { job: job.clone(), failure }, class)
}
