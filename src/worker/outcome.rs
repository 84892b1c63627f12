//! What became of a job, and the one decision whether a failed job is tried again.

use std::sync::Arc;

use super::held::HeldJob;
use crate::protocol::backoff::Delay;
use crate::protocol::JobOptions;

/// What a handler made of its job.
pub enum Outcome {
    Completed {
        job: Arc<HeldJob>,
        value: Vec<u8>,
    },
    Failed {
        job: Arc<HeldJob>,
        failure: Failure,
    },
    /// The handler has moved the job elsewhere itself.
    Released {
        job: Arc<HeldJob>,
    },
    /// No handler has started it: back to where it was, as if it had never been claimed.
    GivenBack {
        job: Arc<HeldJob>,
    },
    /// Its handler has not finished it: to the front of `wait`, without an attempt made.
    Returned {
        job: Arc<HeldJob>,
    },
    /// To `delayed` for so many ms, without an attempt made.
    Deferred {
        job: Arc<HeldJob>,
        delay: i64,
    },
}

impl Outcome {
    pub fn job(&self) -> &Arc<HeldJob> {
        match self {
            Self::Completed { job, .. }
            | Self::Failed { job, .. }
            | Self::Released { job }
            | Self::GivenBack { job }
            | Self::Returned { job }
            | Self::Deferred { job, .. } => job,
        }
    }

    /// Bytes that it hands in, about.
    pub fn size(&self) -> usize {
        match self {
            Self::Completed { value, .. } => value.len(),
            Self::Failed { failure, .. } => failure.reason.len() + failure.stack.len(),
            _ => 0,
        }
    }
}

#[derive(Clone)]
pub struct Failure {
    pub reason: String,
    /// One entry for the job's `stacktrace`; empty adds none.
    pub stack: String,
    /// False for an unrecoverable failure.
    pub retry: bool,
    /// Overrides the job's own backoff; -1 means do not retry.
    pub delay: Option<i64>,
}

impl Failure {
    /// With at most so many bytes of reason, and of stack.
    pub fn capped(self, most: usize) -> Self {
        Self { reason: cut(self.reason, most), stack: cut(self.stack, most), ..self }
    }

    /// A failure that no further attempt can mend.
    pub fn unrecoverable(reason: String) -> Self {
        let stack = format!("UnrecoverableError: {reason}");
        Self { reason, stack, retry: false, delay: None }
    }
}

/// So much of a longer text stays: its beginning and its end.
fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    // With the words between them.
    let most = most.saturating_sub(48);
    let floor = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (head, tail) = (floor(most / 2), floor(text.len() - most / 2));
    format!("{}\n... {} bytes left out ...\n{}", &text[..head], tail - head, &text[tail..])
}

/// What happens to a job that failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    RetryNow,
    RetryIn(i64),
    Fail,
}

/// Decide by attempts and backoff (protocol: lifecycle 6.4); `made`: attempts that ended before this one.
pub fn verdict(made: i64, options: &JobOptions, failure: &Failure, max_backoff_ms: Option<i64>) -> Verdict {
    let attempt = made + 1;
    if !failure.retry || attempt >= options.attempts {
        return Verdict::Fail;
    }
    let delay = match failure.delay {
        Some(delay) => delay,
        None => match &options.backoff {
            None => 0,
            Some(backoff) => match backoff.next_delay(attempt, max_backoff_ms, fastrand::f64()) {
                Delay::Millis(delay) => delay,
                // Only a worker's own strategy can know, and this worker has none of that name.
                Delay::Custom(_) => return Verdict::Fail,
            },
        },
    };
    match delay {
        -1 => Verdict::Fail,
        delay if delay > 0 => Verdict::RetryIn(delay),
        _ => Verdict::RetryNow,
    }
}

/// The backoff type of a job that will be retried, if only a custom strategy can compute its delay.
pub fn custom_backoff(made: i64, options: &JobOptions) -> Option<String> {
    let attempt = made + 1;
    if attempt >= options.attempts {
        return None;
    }
    match options.backoff.as_ref()?.next_delay(attempt, None, 0.0) {
        Delay::Custom(kind) => Some(kind),
        Delay::Millis(_) => None,
    }
}

/// The job's `stacktrace` field after one more failure: a JSON array with the last `limit` entries.
pub fn stacktrace(stored: Option<&[u8]>, options: &JobOptions, stack: &str) -> String {
    let mut entries: Vec<String> = serde_json::from_slice(stored.unwrap_or(b"[]")).unwrap_or_default();
    if !stack.is_empty() {
        entries.push(stack.to_owned());
    }
    if let Some(limit) = options.stack_trace_limit {
        entries.drain(..entries.len().saturating_sub(limit));
    }
    serde_json::to_string(&entries).unwrap_or_else(|_| "[]".to_owned())
}
