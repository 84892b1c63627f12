//! How the engine waits when there is nothing to do, and when a run ends by itself.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use super::batching::GATHER_TIME;
use super::claims::CLAIM_CHECK;
use super::Engine;
use crate::clock::now_ms;
use crate::error::Error;
use crate::scripts;
use crate::worker::options::Until;
use crate::worker::sleep::{jittered, sleep_until};
use crate::worker::state::Closing;

/// How often a run that ends by itself checks whether its end is reached.
const END_CHECK: Duration = Duration::from_millis(50);

impl Engine {
    /// Wait for an outcome, a completed call, a marker, a timer or a change of settings.
    pub(super) async fn wait(&mut self, room: usize) {
        self.check_claims();
        // With more than one job in hand there is other work to do meanwhile.
        let (began, is_single) = (Instant::now(), self.in_hand == 1);
        if is_single && self.spin(began).await {
            return;
        }
        let ends_by_itself = self.in_hand == 0 && self.limits.until != Until::Closed;
        let has_claims = self.in_hand > 0 && self.state.ready_queue.has_claims();
        let gathering = self.is_gathering();
        let tick = match (gathering, has_claims) {
            (true, _) => GATHER_TIME,
            (_, true) => CLAIM_CHECK,
            _ => END_CHECK,
        };
        let limited_until = self.lane.limited_until.load(Ordering::Relaxed);
        let alone_until = self.alone_until().filter(|at| Instant::now() < *at);
        tokio::select! {
            Some(completed) = self.in_flight.next() => self.complete(completed),
            () = self.state.wake.notified() => {}
            () = self.fetcher.wait_for_jobs(jittered(self.state.options.drain_delay), limited_until, room > 0) => {}
            () = tokio::time::sleep(tick), if ends_by_itself || has_claims || gathering => {
                if ends_by_itself && room > 0 {
                    self.fetcher.look_again();
                }
            }
            () = sleep_until(self.fetch_paused_until.filter(|until| Instant::now() < *until)) => {}
            () = sleep_until(alone_until) => {}
            () = sleep_until(self.deadline) => {}
            stopped = self.tasks.join_next(), if !self.tasks.is_empty() => {
                if stopped.is_some_and(|result| result.is_err_and(|error| error.is_panic())) {
                    self.state.error("a timer of the worker stopped because of an internal error".to_owned());
                    self.state.close(Closing::Gracefully { deadline: None });
                }
            }
        }
        if is_single {
            self.spin_wait.end(began);
        }
    }

    /// Wait without sleeping for the outcome or the call of the only job in hand. True: it has come.
    async fn spin(&mut self, began: Instant) -> bool {
        while self.spin_wait.may_spin(began) {
            if self.state.outcomes.count() > 0 {
                return true;
            }
            if let Some(Some(completed)) = self.in_flight.next().now_or_never() {
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
            ready = self.fetch_link.ready() => !matches!(ready, Err(Error::ConnectionLost(_))),
            () = self.state.wake.notified() => false,
            () = sleep_until(self.deadline) => false,
        }
    }

    /// Whether a run that ends by itself has nothing left to do. Called only with nothing in hand.
    pub(super) async fn has_ended(&mut self) -> bool {
        if self.limits.max_jobs.is_some_and(|max| self.fetched >= max) {
            return true;
        }
        match self.limits.until {
            Until::Closed => false,
            Until::Empty => self.fetcher.is_idle() && self.lane.limited_until.load(Ordering::Relaxed) <= now_ms(),
            Until::Drained => {
                let ended =
                    scripts::inspect::is_drained(&self.fetch_link, &self.keys, now_ms(), self.limits.horizon_ms);
                ended.await.unwrap_or(false)
            }
        }
    }
}
