//! What becomes of jobs that were claimed ahead.

use std::time::Duration;

use super::Engine;
use crate::worker::fetch::stamp_jobs;

/// How often a worker with jobs claimed ahead checks which have started, or wait for too long.
pub(super) const CLAIM_CHECK: Duration = Duration::from_millis(3);
/// The start of a job that has run this long is recorded; that of a quicker one is recorded with its outcome.
const BRIEF: Duration = Duration::from_millis(1);

impl Engine {
    /// Nothing may be claimed ahead while the queue is paused or has a limit; jobs that were claimed ahead go back.
    pub(super) fn forbid_claims(&mut self, forbidden: bool) {
        if forbidden && !self.fetching.prefetch.forbidden {
            self.state.give_back(self.state.ready_queue.withdraw_claims());
        }
        self.fetching.prefetch.forbidden = forbidden;
    }

    /// Record the starts of jobs that were claimed ahead and have run for a while; give back those that wait too long.
    pub(super) fn check_claims(&mut self) {
        let started = self.state.ready_queue.take_started(BRIEF);
        if !started.is_empty() {
            let (state, link) = (self.state.clone(), self.link.clone());
            let errors = self.fetching.stamp_errors.clone();
            self.tasks.spawn(async move {
                match stamp_jobs(&link, &state.options, &started).await {
                    Ok(()) => errors.ends(),
                    Err(error) if errors.begins(&error) => {
                        state.error(format!("could not record the starts of jobs: {error}"));
                    }
                    Err(_) => {}
                }
            });
        }
        if self.fetching.prefetch.is_late() {
            self.state.give_back(self.state.ready_queue.withdraw_claims());
        }
    }
}
