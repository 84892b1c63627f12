//! Decides whether a failed job is tried again, and when: by its attempts and its backoff. What its exception means is
//! asked before: `python/bullrush/job/failure.py::decide_retry`.

use super::outcome::Failure;
use crate::protocol::backoff::Delay;
use crate::protocol::JobOptions;

/// What happens to a job that failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    RetryNow,
    RetryIn(i64),
    Fail,
    /// It is retried, after a delay that only a custom strategy of this name can compute.
    NeedsStrategy(String),
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
                Delay::Custom(kind) => return Verdict::NeedsStrategy(kind),
            },
        },
    };
    match delay {
        -1 => Verdict::Fail,
        delay if delay > 0 => Verdict::RetryIn(delay),
        _ => Verdict::RetryNow,
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
