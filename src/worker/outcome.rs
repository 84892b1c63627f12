//! What a handler made of its job.

use std::sync::Arc;

use super::held::HeldJob;

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
    /// No handler has started it: it goes back to its place, as if it had never been claimed.
    GivenBack {
        job: Arc<HeldJob>,
    },
    /// Its handler has not finished it: it goes to the front of `wait`, and no attempt is counted.
    Returned {
        job: Arc<HeldJob>,
    },
    /// It goes to `delayed` for that many ms, and no attempt is counted.
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

    /// About how many bytes it adds to a call.
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
    /// The same with at most that many bytes of reason, and of stack.
    pub fn capped(self, most: usize) -> Self {
        Self { reason: cut(self.reason, most), stack: cut(self.stack, most), ..self }
    }

    /// A failure that is not retried.
    pub fn unrecoverable(reason: String) -> Self {
        let stack = format!("UnrecoverableError: {reason}");
        Self { reason, stack, retry: false, delay: None }
    }
}

/// Keep the beginning and the end of a text that is longer than that.
fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    // The text that replaces the middle counts as well.
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
