//! Which outcomes go into the next call.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Engine;
use crate::worker::fetch::{FetchRequest, Room};
use crate::worker::limits;
use crate::worker::outcome::Outcome;
use crate::worker::state::Closing;

/// The outcomes of handlers quicker than this are gathered.
const QUICK: Duration = Duration::from_micros(100);

impl Engine {
    /// Take the outcomes of the next call; none if there are too few.
    pub(super) fn take_outcomes(&mut self) -> Vec<Outcome> {
        let fewest = self.fewest_to_send();
        let outcomes = self.state.outcomes.take(fewest, limits::JOBS, limits::OUTCOME_BYTES);
        self.leave_batches(&outcomes);
        outcomes
    }

    /// The slots of batches whose last outcomes these are become free. The handler of a job that is overdue still runs.
    fn leave_batches(&self, outcomes: &[Outcome]) {
        if !self.state.options.has_batches() {
            return;
        }
        for job in outcomes.iter().map(Outcome::job).filter(|job| !job.overdue.load(Ordering::Acquire)) {
            self.state.leave_batch(job);
        }
    }

    /// How many outcomes are worth a call now. With quick handlers and no claims ahead, the next outcomes will come
    /// very soon: the call waits a moment for them.
    fn fewest_to_send(&mut self) -> usize {
        let good_batch = self.state.outcomes.good_batch.load(Ordering::Relaxed);
        let fewest = self.finishing.in_flight.fewest_to_send(good_batch);
        let since = self.finishing.gathering_since.take();
        let time = self.state.ready_queue.handler_time.get();
        if fewest > 1 || time.is_zero() || time >= QUICK || self.state.lifecycle.closing() != Closing::No {
            return fewest;
        }
        let waiting = self.state.outcomes.count();
        let coming = self.lanes.in_hand.saturating_sub(self.finishing.in_flight.leaving());
        if self.finishing.gathers(since, waiting, coming.min(good_batch), Instant::now()) {
            usize::MAX
        } else {
            fewest
        }
    }

    pub(super) fn is_gathering(&self) -> bool {
        self.finishing.gathering_since.is_some()
    }

    /// Send outcomes; the same call fetches jobs for the slots that become free, if it is the turn of their queue.
    pub(super) fn send(&mut self, outcomes: Vec<Outcome>) {
        let leaving = outcomes.len();
        let mut groups = self.by_lane(outcomes);
        for (position, outcomes) in &groups {
            self.lanes.states[*position].leave(outcomes.len());
        }
        let room = self.room(leaving);
        let mut fetching = match &groups[..] {
            _ if room.count == 0 => None,
            [(0, _)] if !self.has_several_lanes() => Some(0),
            // If no queue is known to have jobs, the fetch costs nobody a turn.
            groups => self
                .next_turn()
                .or_else(|| groups.iter().map(|(at, _)| *at).find(|at| self.lanes.states[*at].is_open())),
        };
        if let Some(position) = fetching.filter(|at| groups.iter().all(|(position, _)| position != at)) {
            groups.push((position, Vec::new()));
        }
        for (position, outcomes) in groups {
            let turn = fetching.take_if(|at| *at == position);
            let fetch = turn.and_then(|_| self.request(position, outcomes.len(), room));
            self.state.stats.calls.fetch_add(1, Ordering::Relaxed);
            self.start(position, outcomes, fetch);
        }
    }

    /// Send outcomes of a lane. If its queue is full and the call does not fetch, it wakes another worker.
    fn start(&mut self, position: usize, outcomes: Vec<Outcome>, fetch: Option<FetchRequest>) {
        let state = &self.lanes.states[position];
        let leaves_slots = fetch.is_none() && state.share.is_full();
        self.finishing.in_flight.start(state.finisher.clone(), outcomes, fetch, leaves_slots);
    }

    /// The outcomes by the position of their lane.
    fn by_lane(&self, outcomes: Vec<Outcome>) -> Vec<(usize, Vec<Outcome>)> {
        if !self.has_several_lanes() {
            return vec![(0, outcomes)];
        }
        let mut groups: Vec<(usize, Vec<Outcome>)> = Vec::new();
        for outcome in outcomes {
            let position = outcome.job().lane.position;
            match groups.iter_mut().find(|(at, _)| *at == position) {
                Some((_, group)) => group.push(outcome),
                None => groups.push((position, vec![outcome])),
            }
        }
        groups
    }

    /// A fetch from a lane where so many jobs leave in the same call. `None` if their slots are left to other workers.
    pub(super) fn request(&mut self, position: usize, frees: usize, room: Room) -> Option<FetchRequest> {
        let several = self.has_several_lanes();
        let (state, options) = (&mut self.lanes.states[position], &self.state.options);
        let mut room = state.room(room);
        if options.scan(&state.lane).is_some() {
            room.count = room.count.min(room.slots); // nothing is claimed ahead
        }
        room.count = state.share.of_rate_limit(room.count);
        if several && state.share.has_rate_limit() {
            // One lane must not take all jobs that the limit allows.
            room.count = self.lanes.turns.part(position, room.count);
        }
        if frees > 0 {
            room.count = state.share.refill(frees, state.in_hand, room.count, Instant::now());
        }
        if room.count == 0 {
            self.lanes.turns.settle(position, 0);
            return None;
        }
        let (woken, fanned_out) = state.hint.fetching();
        state.coming += room.count;
        Some(self.fetching.fetcher.request(&state.lane, room, fanned_out, woken))
    }

    /// Send jobs back to their places, but only when no fetch is in flight: only then is their order known.
    pub(super) fn return_jobs(&mut self) {
        if self.finishing.in_flight.coming() == 0 {
            let returning = self.state.outcomes.take_returning();
            if !returning.is_empty() {
                self.leave_batches(&returning);
                self.end.owe_wake_up();
                self.send_without_fetch(returning);
            }
        }
    }

    pub(super) fn send_without_fetch(&mut self, outcomes: Vec<Outcome>) {
        for (position, outcomes) in self.by_lane(outcomes) {
            self.lanes.states[position].leave(outcomes.len());
            self.start(position, outcomes, None);
        }
    }
}
