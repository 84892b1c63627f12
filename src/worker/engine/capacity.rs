//! How many jobs the engine has room for.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::lane_state::LaneState;
use super::Engine;
use crate::worker::fetch::Room;
use crate::worker::state::Closing;

impl Engine {
    /// How many jobs the next fetch may bring, if that many of the jobs in hand leave with it, beside those in flight.
    pub(super) fn room(&mut self, leaving: usize) -> Room {
        // The time first: what holds up the worker is either seen below or is later than this time.
        let decided = Instant::now();
        let mut room = Room { count: 0, slots: 0, alone: false, decided };
        let state = &self.state;
        let overdue = state.stats.overdue.load(Ordering::Relaxed);
        let coming = self.finishing.in_flight.coming();
        let taken = self.lanes.in_hand.saturating_sub(leaving + self.finishing.in_flight.leaving()) + coming + overdue;
        room.alone = taken == 0 || self.fetching.isolation.until().is_some_and(|at| at <= decided);
        let is_isolated = self.fetching.isolation.until().is_some();
        state.stats.isolated.store(is_isolated && !room.alone, Ordering::Relaxed);
        let concurrency = state.concurrency.load(Ordering::Relaxed);
        let taken = match state.options.has_batches() {
            true => taken.max(state.in_batches(self.finishing.in_flight.batches_coming(state.options.batch_size))),
            false => taken,
        };
        // A thread that runs on after its timeout has no job: its slot counts as free for those who look after it.
        state.stats.free_slots.store(concurrency.saturating_sub(taken.saturating_sub(overdue)), Ordering::Relaxed);
        let waits = state.lifecycle.closing() != Closing::No
            || state.is_held_up()
            || !self.lanes.states.iter().any(LaneState::is_open)
            || self.is_fetch_paused()
            || state.outcomes.count_returning() > 0
            || (is_isolated && !room.alone)
            || self.lost_reply_of().is_some();
        if waits {
            return room;
        }
        room.slots = concurrency.saturating_sub(taken);
        if is_isolated {
            room.slots = room.slots.min(1);
            room.count = room.slots;
        } else {
            let most = concurrency + self.fetching.prefetch.ahead(concurrency);
            room.count = most.saturating_sub(taken).min(self.fetching.prefetch.batch());
        }
        let fetched = self.fetching.count + coming as u64;
        room.count = room.count.min(self.end.allows(fetched));
        room
    }
}
