//! The orderly end of the engine.

use super::claims::CLAIM_CHECK;
use super::{Engine, MAX_WAIT};
use crate::worker::limits;

impl Engine {
    /// Give back jobs that have not started, wait for running ones, send every outcome.
    pub(super) async fn shut_down(&mut self) {
        while let Some(completed) = self.in_flight.next().await {
            self.complete(completed);
        }
        self.fetcher.stop().await;
        for sent in std::mem::take(&mut self.lost_replies) {
            if tokio::time::timeout(MAX_WAIT, self.recover(sent.clone())).await.is_err() {
                self.lost_replies.push(sent);
            }
        }
        if !self.lost_replies.is_empty() {
            let text = "the reply to a fetch got lost: its jobs, if any, run again when their locks expire";
            self.state.error(text.to_owned());
        }
        self.state.give_back_unstarted();
        self.state.ready_queue.close();
        loop {
            self.return_jobs();
            let outcomes = self.state.outcomes.take(1, limits::JOBS, limits::OUTCOME_BYTES);
            if !outcomes.is_empty() {
                self.in_flight.start(outcomes, None);
            }
            if let Some(completed) = self.in_flight.next().await {
                self.complete(completed);
            } else if self.in_hand == 0 {
                return;
            } else {
                self.check_claims();
                tokio::select! {
                    () = self.state.wake.notified() => {}
                    () = tokio::time::sleep(CLAIM_CHECK), if self.state.ready_queue.has_claims() => {}
                }
            }
        }
    }
}
