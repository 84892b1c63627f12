//! How many jobs the engine has room for.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::lane_state::LaneState;
use super::Engine;
use crate::worker::fetch::Room;
use crate::worker::state::Closing;

/// The shortest time for which a job runs alone, as a part of the longest.
const SHORTEST: u32 = 10;

/// The time in which a job runs alone, since its next stall would fail it: one that ends its process must not fail others.
///
/// After that time others run beside it, since a long job must not hold up the queue. Each further one in a row has half the
/// time: a worker that died had many jobs, and most of them do no harm.
pub(super) struct Isolation {
    longest: Duration,
    /// Such a job runs, or waits until nothing else is in hand.
    since: Option<Instant>,
    time: Duration,
    next: Duration,
}

impl Isolation {
    pub fn new(longest: Duration) -> Self {
        Self { longest, since: None, time: longest, next: longest }
    }

    /// Such a job waits.
    pub fn expect(&mut self) {
        if self.since.is_none() {
            (self.since, self.time) = (Some(Instant::now()), self.next);
        }
    }

    /// Such a job starts.
    pub fn begin(&mut self) {
        (self.since, self.time) = (Some(Instant::now()), self.next);
        self.next = (self.next / 2).max(self.longest / SHORTEST);
    }

    /// Nothing is in hand.
    pub fn end(&mut self) {
        self.since = None;
    }

    /// Other jobs were fetched, by a decision of that moment: no such job is next.
    pub fn is_over(&mut self, decided: Instant) {
        if self.since.is_none_or(|since| since < decided) {
            *self = Self::new(self.longest);
        }
    }

    pub fn until(&self) -> Option<Instant> {
        self.since.map(|since| since + self.time)
    }
}

impl Engine {
    /// How many jobs the next fetch may bring, if that many of the jobs in hand leave with it, beside those in flight.
    pub(super) fn room(&mut self, leaving: usize) -> Room {
        // The time first: what holds up the worker is either seen below or is later than this time.
        let decided = Instant::now();
        let mut room = Room { count: 0, slots: 0, alone: false, decided };
        let state = &self.state;
        let overdue = state.stats.overdue.load(Ordering::Relaxed);
        let coming = self.in_flight.coming();
        let taken = self.in_hand.saturating_sub(leaving + self.in_flight.leaving()) + coming + overdue;
        room.alone = taken == 0 || self.isolation.until().is_some_and(|at| at <= decided);
        let is_isolated = self.isolation.until().is_some();
        state.stats.isolated.store(is_isolated && !room.alone, Ordering::Relaxed);
        let waits = state.lifecycle.closing() != Closing::No
            || state.is_held_up()
            || !self.lanes.iter().any(LaneState::is_open)
            || self.is_fetch_paused()
            || state.outcomes.count_returning() > 0
            || (is_isolated && !room.alone)
            || self.lost_reply_of().is_some();
        if waits {
            return room;
        }
        let concurrency = state.concurrency.load(Ordering::Relaxed);
        room.slots = concurrency.saturating_sub(taken);
        if is_isolated {
            room.slots = room.slots.min(1);
            room.count = room.slots;
        } else {
            let most = concurrency + self.prefetch.ahead(concurrency);
            room.count = most.saturating_sub(taken).min(self.prefetch.batch());
        }
        let fetched = self.fetched + coming as u64;
        let allowed = self.limits.max_jobs.map_or(u64::MAX, |max| max.saturating_sub(fetched));
        room.count = room.count.min(usize::try_from(allowed).unwrap_or(usize::MAX));
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_job_in_a_row_runs_alone_for_half_the_time() {
        let mut isolation = Isolation::new(Duration::from_secs(30));
        let mut next = || {
            isolation.begin();
            let time = isolation.until().unwrap() - isolation.since.unwrap();
            isolation.end();
            time.as_millis()
        };
        assert_eq!([(); 6].map(|()| next()), [30_000, 15_000, 7_500, 3_750, 3_000, 3_000]);
    }

    #[test]
    fn other_jobs_end_the_row_if_they_were_fetched_after_it_began() {
        let mut isolation = Isolation::new(Duration::from_secs(30));
        let before = Instant::now();
        isolation.begin();
        isolation.is_over(before);
        assert!(isolation.until().is_some());
        isolation.is_over(Instant::now() + Duration::from_secs(1));
        assert!(isolation.until().is_none() && isolation.next == isolation.longest);
    }
}
