//! How a worker is asked to end, and when it has ended.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::worker::sleep::sleep_until;

/// How a worker was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    No,
    /// Wait for running handlers, at most until the deadline.
    Gracefully {
        deadline: Option<Instant>,
    },
    /// Do not wait for running jobs: the stalled check of another worker finds them.
    Now,
}

/// The way of a worker to its end.
pub struct Lifecycle {
    closing: watch::Sender<Closing>,
    ended: watch::Sender<bool>,
    refusal: OnceLock<Error>,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self { closing: watch::Sender::new(Closing::No), ended: watch::Sender::new(false), refusal: OnceLock::new() }
    }
}

impl Lifecycle {
    /// Ask the engine to end. `Now` replaces any other request, and is never replaced.
    pub fn request(&self, closing: Closing) {
        self.closing.send_if_modified(|current| {
            let replaces = *current != Closing::Now && *current != closing;
            if replaces {
                *current = closing;
            }
            replaces
        });
    }

    pub fn closing(&self) -> Closing {
        *self.closing.borrow()
    }

    pub fn watch(&self) -> watch::Receiver<Closing> {
        self.closing.subscribe()
    }

    /// Until when a graceful end waits for handlers; `None`: without limit.
    pub fn deadline(&self) -> Option<Instant> {
        match self.closing() {
            Closing::Gracefully { deadline } => deadline,
            Closing::No | Closing::Now => None,
        }
    }

    /// Wait until the engine must end at once: it was asked to, or the deadline of a graceful end is over, and `rest`
    /// after it for calls that are on their way.
    pub async fn end_demanded(&self, rest: Duration) {
        let mut closing = self.closing.subscribe();
        loop {
            if *closing.borrow_and_update() == Closing::Now {
                return;
            }
            tokio::select! {
                () = sleep_until(self.deadline().map(|at| at + rest)) => return,
                _ = closing.changed() => {}
            }
        }
    }

    /// The queue or the server cannot be used: the run ends with this error.
    pub fn refuse(&self, error: Error) {
        let _ = self.refusal.set(error);
    }

    /// The engine has ended.
    pub fn end(&self) {
        self.ended.send_replace(true);
    }

    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Wait for the end.
    ///
    /// # Errors
    /// Why the worker could not work at all.
    pub async fn ended(&self) -> Result<()> {
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
        self.refusal.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}
