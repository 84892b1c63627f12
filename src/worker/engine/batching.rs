//! Which outcomes go into the next call.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Engine;
use crate::worker::limits;
use crate::worker::outcome::Outcome;
use crate::worker::state::Closing;

/// How long the first outcomes of quick handlers wait for others.
pub(super) const GATHER_TIME: Duration = Duration::from_millis(1);
/// The outcomes of handlers quicker than this are gathered.
const QUICK: Duration = Duration::from_micros(100);

impl Engine {
    /// Take the outcomes of the next call; none if there are too few.
    pub(super) fn take_outcomes(&mut self) -> Vec<Outcome> {
        let fewest = self.fewest_to_send();
        self.state.outcomes.take(fewest, limits::JOBS, limits::OUTCOME_BYTES)
    }

    /// How many outcomes are worth a call now. With quick handlers and no claims ahead, the next outcomes will come
    /// very soon: the call waits a moment for them.
    fn fewest_to_send(&mut self) -> usize {
        let good_batch = self.state.outcomes.good_batch.load(Ordering::Relaxed);
        let fewest = self.in_flight.fewest_to_send(good_batch);
        let since = self.gathering_since.take();
        let time = self.state.ready_queue.handler_time.get();
        if fewest > 1 || time.is_zero() || time >= QUICK || self.state.lifecycle.closing() != Closing::No {
            return fewest;
        }
        let waiting = self.state.outcomes.count();
        let coming = self.in_hand.saturating_sub(self.in_flight.leaving());
        let since = since.unwrap_or_else(Instant::now);
        if waiting == 0 || waiting >= coming.min(good_batch) || since.elapsed() >= GATHER_TIME {
            return fewest;
        }
        self.gathering_since = Some(since);
        usize::MAX
    }

    pub(super) fn is_gathering(&self) -> bool {
        self.gathering_since.is_some()
    }

    /// Send outcomes; the same call fetches jobs for the slots that become free.
    pub(super) fn send(&mut self, outcomes: Vec<Outcome>) {
        let room = self.room(outcomes.len());
        let fetch = (room.count > 0).then(|| self.fetcher.request(room));
        self.state.stats.calls.fetch_add(1, Ordering::Relaxed);
        self.in_flight.start(outcomes, fetch);
    }

    /// Send jobs back to their places, but only when no fetch is in flight: only then is their order known.
    pub(super) fn return_jobs(&mut self) {
        if self.in_flight.coming() == 0 {
            let returning = self.state.outcomes.take_returning();
            if !returning.is_empty() {
                self.in_flight.start(returning, None);
            }
        }
    }
}
