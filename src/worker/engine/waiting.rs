//! How the engine waits when there is nothing to do, and when a run ends by itself.

use std::time::{Duration, Instant};

use futures_util::FutureExt;

use super::claims::CLAIM_CHECK;
use super::finishes::GATHER_TIME;
use super::Engine;
use crate::clock;
use crate::error::Error;
use crate::worker::options::Until;
use crate::worker::sleep::sleep_until;
use crate::worker::state::Closing;

/// The longest time between two turns: what a turn decides must not depend on being woken.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// How often a run that ends by itself checks whether its end is reached.
const END_CHECK: Duration = Duration::from_millis(50);

impl Engine {
    /// Wait for an outcome, a completed call, a marker, a timer or a change of settings.
    pub(super) async fn wait(&mut self, room: usize) {
        self.check_claims();
        // With more than one job in hand there is other work to do meanwhile. An outcome that is here already waits for
        // a call in flight: spinning would keep that call from its reply.
        let (began, is_single) = (Instant::now(), self.lanes.in_hand == 1 && self.state.outcomes.count() == 0);
        if is_single && self.spin(began).await {
            return;
        }
        let ends_by_itself = self.lanes.in_hand == 0 && self.end.limits.until != Until::Closed;
        let has_claims = self.lanes.in_hand > 0 && self.state.ready_queue.has_claims();
        let gathering = self.is_gathering();
        let tick = match (gathering, has_claims) {
            (true, _) => GATHER_TIME,
            (_, true) => CLAIM_CHECK,
            _ => END_CHECK,
        };
        let change = self.next_change(room > 0);
        let moves = clock::moves();
        if room > 0 && !self.waiting.waiter.is_waiting() {
            self.watch().into_iter().for_each(|watch| self.waiting.waiter.start_waiting(watch));
        }
        let alone_until = self.fetching.isolation.until().filter(|at| Instant::now() < *at);
        tokio::select! {
            Some(completed) = self.finishing.in_flight.next() => self.complete(completed),
            () = self.state.wake.notified() => {}
            // Also without room: then the marker is put back, for a worker that has some.
            popped = self.waiting.waiter.popped() => self.note_popped(popped),
            () = tokio::time::sleep(change.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)) => self.look_again_if_due(),
            () = clock::moved(moves), if change.is_some() || room > 0 => self.look_again(),
            () = tokio::time::sleep(tick), if ends_by_itself || has_claims || gathering => {
                if ends_by_itself && room > 0 {
                    self.look_in_turn();
                }
            }
            () = sleep_until(self.fetching.paused_until.filter(|until| Instant::now() < *until)) => {}
            () = sleep_until(alone_until) => {}
            () = sleep_until(self.fetching.late.next()) => {}
            () = sleep_until(self.end.deadline) => {}
            stopped = self.tasks.join_next(), if !self.tasks.is_empty() => {
                if stopped.is_some_and(|result| result.is_err_and(|error| error.is_panic())) {
                    self.state.error("a timer of the worker stopped because of an internal error".to_owned());
                    self.state.close(Closing::Gracefully { deadline: None });
                }
            }
        }
        if is_single {
            self.waiting.spin.end(began);
        }
    }

    /// Wait without sleeping for the outcome or the call of the only job in hand. True: it has come.
    async fn spin(&mut self, began: Instant) -> bool {
        while self.waiting.spin.may_spin(began) {
            if self.state.outcomes.count() > 0 {
                return true;
            }
            if let Some(Some(completed)) = self.finishing.in_flight.next().now_or_never() {
                self.complete(completed);
                return true;
            }
            std::thread::yield_now();
            tokio::task::yield_now().await;
        }
        false
    }

    /// Wait for a connection. False: something else has happened first.
    pub(super) async fn is_connected(&mut self) -> bool {
        tokio::select! {
            biased;
            // If the server refuses the connection, do not wait: the next call returns the reason.
            ready = self.fetching.link.ready() => !matches!(ready, Err(Error::ConnectionLost(_))),
            () = self.state.wake.notified() => false,
            () = sleep_until(self.end.deadline) => false,
        }
    }
}
