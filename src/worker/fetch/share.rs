//! How much of a queue's global concurrency and rate limit a worker takes, and what it leaves to other workers.
//!
//! Of a global concurrency: a finish call takes the next jobs for the slots that it frees. So a worker could keep all
//! slots of a queue for as long as jobs wait. Therefore a worker that holds several slots of a full queue offers one
//! from time to time: its call fetches one job fewer than it frees and leaves the marker, which wakes a worker that
//! waits. If nobody takes the slot, the worker takes it itself again.
//!
//! Of a rate limit: a worker of BullMQ takes one job per call, and each call takes longer there than here. So a call
//! takes a small part of what the limit allows at most, and in some windows others fetch first.

use std::time::{Duration, Instant};

use crate::scripts::fetch::Fetched;
use crate::worker::options::Limiter;

/// A worker offers a slot at most this often; one that holds less than half of the slots more seldom, in proportion, so
/// that the shares of workers become equal.
const OFFER_EVERY: Duration = Duration::from_millis(50);
/// For how long others may take a slot that is offered.
const OFFER_TIME: Duration = Duration::from_millis(5);
/// A worker with jobs in hand waits for a marker only when so much time has passed since it last got jobs: workers
/// without jobs go first.
const REST: Duration = Duration::from_millis(5);

/// So many calls at least take the jobs that a rate limit allows.
const CALLS_PER_WINDOW: usize = 50;

/// What a worker knows of the share of a queue that it holds.
pub struct Share {
    /// The global concurrency, if the queue was at it after the last call.
    limit: Option<usize>,
    /// How many jobs a rate limit lets start in each of its windows.
    rate_limit: Option<usize>,
    /// Another worker waits for jobs of the queue, as far as is known.
    awaited: bool,
    /// This worker has popped a marker since its last fetch: it is not known whether another one would have.
    has_popped: bool,
    offered_at: Option<Instant>,
    /// When the last jobs came.
    filled_at: Option<Instant>,
}

impl Default for Share {
    fn default() -> Self {
        Self { limit: None, rate_limit: None, awaited: true, has_popped: false, offered_at: None, filled_at: None }
    }
}

impl Share {
    /// What is known before the first reply: the limit of the worker itself.
    pub fn new(limiter: Option<Limiter>) -> Self {
        let rate_limit = limiter.map(|limiter| usize::try_from(limiter.max).unwrap_or(usize::MAX));
        Share { rate_limit, ..Share::default() }
    }

    /// Whether the queue was at its global concurrency after the last call.
    pub fn is_full(&self) -> bool {
        self.limit.is_some()
    }

    pub fn has_rate_limit(&self) -> bool {
        self.rate_limit.is_some()
    }

    /// Note what a reply says.
    pub fn note_reply(&mut self, fetched: &Fetched, now: Instant) {
        self.limit = fetched.full.map(|full| full.limit);
        if fetched.full.is_none() {
            self.rate_limit = fetched.rate_limit;
        }
        if !fetched.jobs.is_empty() {
            self.filled_at = Some(now);
            let has_popped = std::mem::take(&mut self.has_popped);
            if let Some(full) = fetched.full.filter(|_| !has_popped) {
                self.awaited = full.awaited;
            }
        }
    }

    /// The worker has popped the marker.
    pub fn note_popped(&mut self) {
        self.has_popped = true;
    }

    /// How many jobs a finish call fetches that frees so many of the slots that the worker holds, if it has room for
    /// `room` jobs then.
    pub fn refill(&mut self, frees: usize, held: usize, room: usize, now: Instant) -> usize {
        let Some(limit) = self.limit else {
            return if self.is_offering(now) { room.min(frees) } else { room };
        };
        if frees > 0 && held > 1 && (self.awaited || held < limit) && self.may_offer(held, limit, now) {
            self.offered_at = Some(now);
            return room.min(frees - 1);
        }
        // The slots that others have freed are for the one that waits.
        if self.awaited || self.is_offering(now) {
            room.min(frees)
        } else {
            room
        }
    }

    /// How many jobs a call fetches, of `room`.
    pub fn of_rate_limit(&self, room: usize) -> usize {
        self.rate_limit.map_or(room, |limit| room.min((limit / CALLS_PER_WINDOW).max(1)))
    }

    /// For how many ms other workers fetch first after the end of a rate limit that lasts so many ms: for a few, in a
    /// third of its windows.
    pub fn leaves_after(limit_ttl: i64) -> i64 {
        if fastrand::u8(..3) == 0 {
            (limit_ttl / 40).min(3)
        } else {
            0
        }
    }

    fn may_offer(&self, held: usize, limit: usize, now: Instant) -> bool {
        let pause = OFFER_EVERY.mul_f64((limit as f64 / (2 * held) as f64).max(1.0));
        self.offered_at.is_none_or(|at| now.saturating_duration_since(at) >= pause)
    }

    /// Whether a slot is offered to others: meanwhile the worker takes no further one itself.
    pub fn is_offering(&self, now: Instant) -> bool {
        self.offer_ends(now).is_some()
    }

    /// When the worker may wait for the marker again, or take further jobs.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        [self.offer_ends(now), self.rests_until(now)].into_iter().flatten().min()
    }

    /// When the offer of a slot ends, if there is one.
    pub fn offer_ends(&self, now: Instant) -> Option<Instant> {
        self.offered_at.map(|at| at + OFFER_TIME).filter(|end| now < *end)
    }

    /// Until when a worker that holds jobs does not wait for the marker.
    pub fn rests_until(&self, now: Instant) -> Option<Instant> {
        self.limit.and(self.filled_at).map(|at| at + REST).filter(|end| now < *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::JobRecord;
    use crate::scripts::fetch::Full;

    const FULL: Option<Full> = Some(Full { limit: 4, awaited: true });

    /// A reply that brings a job.
    fn job(full: Option<Full>) -> Fetched {
        Fetched {
            jobs: vec![JobRecord::from_flat("1", redis::Value::Array(Vec::new())).unwrap()],
            full,
            ..Fetched::default()
        }
    }

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    /// A worker whose last fetch has filled the queue.
    fn filled(full: Option<Full>, now: Instant) -> Share {
        let mut share = Share::default();
        share.note_reply(&job(full), now);
        share
    }

    #[test]
    fn a_worker_with_several_slots_of_a_full_queue_offers_one_every_50_ms() {
        let start = Instant::now();
        let mut share = filled(FULL, start);
        let refills: Vec<_> = [0, 1, 49, 50, 51, 99, 100].map(|ms| share.refill(2, 4, 8, at(start, ms))).into();
        assert_eq!(refills, [1, 2, 2, 1, 2, 2, 1]);
    }

    #[test]
    fn a_worker_keeps_its_last_slot() {
        let start = Instant::now();
        assert_eq!(filled(FULL, start).refill(1, 1, 8, start), 1);
    }

    #[test]
    fn a_worker_that_holds_all_slots_keeps_them_while_nobody_waits() {
        let start = Instant::now();
        let mut share = filled(Some(Full { limit: 4, awaited: false }), start);
        assert_eq!(share.refill(1, 4, 8, start), 8);
        // Others hold slots: they do not wait while they are busy.
        assert_eq!(share.refill(1, 3, 8, start), 0);
    }

    #[test]
    fn a_marker_that_the_worker_itself_has_popped_says_nothing_about_others() {
        let start = Instant::now();
        let mut share = filled(Some(Full { limit: 4, awaited: false }), start);
        share.note_popped();
        share.note_reply(&job(FULL), start);
        assert_eq!(share.refill(1, 4, 8, start), 8);
        share.note_reply(&job(FULL), start);
        assert_eq!(share.refill(1, 4, 8, start), 0);
    }

    #[test]
    fn a_worker_with_few_of_many_slots_offers_more_seldom() {
        let start = Instant::now();
        let offers = |held| {
            let mut share = filled(Some(Full { limit: 100, awaited: true }), start);
            (0..2000).filter(|ms| share.refill(1, held, 9, at(start, *ms)) == 0).count()
        };
        assert_eq!([2, 10, 25, 50, 90].map(offers), [2, 8, 20, 40, 40]);
    }

    #[test]
    fn a_slot_that_is_offered_is_left_to_others_for_5_ms() {
        let start = Instant::now();
        let mut share = filled(FULL, start);
        assert_eq!(share.refill(1, 4, 8, start), 0);
        share.note_reply(&job(None), at(start, 1));
        assert!(share.is_offering(at(start, 4)) && !share.is_offering(at(start, 5)));
        assert_eq!(share.next_change(at(start, 1)), Some(at(start, 5)));
        assert_eq!([2, 5].map(|ms| share.refill(1, 3, 8, at(start, ms))), [1, 8]);
    }

    #[test]
    fn a_call_takes_a_small_part_of_what_a_rate_limit_allows() {
        let now = Instant::now();
        let mut share = Share::default();
        let takes = [None, Some(1), Some(99), Some(1000), None].map(|rate_limit| {
            share.note_reply(&Fetched { rate_limit, ..job(None) }, now);
            share.of_rate_limit(30)
        });
        assert_eq!(takes, [30, 1, 1, 20, 30]);
    }

    #[test]
    fn a_rate_limit_is_known_while_the_queue_is_at_its_global_concurrency() {
        let now = Instant::now();
        let mut share = Share::default();
        share.note_reply(&Fetched { rate_limit: Some(5), ..job(None) }, now);
        share.note_reply(&job(FULL), now);
        assert_eq!(share.of_rate_limit(30), 1);
    }

    #[test]
    fn without_a_global_concurrency_a_worker_fills_its_room() {
        let start = Instant::now();
        let mut share = filled(None, start);
        assert_eq!(share.refill(2, 4, 8, at(start, 500)), 8);
        assert_eq!(share.next_change(start), None);
    }

    #[test]
    fn a_busy_worker_of_a_full_queue_lets_idle_ones_wait_for_the_marker_first() {
        let start = Instant::now();
        let share = filled(FULL, start);
        assert_eq!(share.rests_until(at(start, 4)), Some(at(start, 5)));
        assert_eq!(share.rests_until(at(start, 5)), None);
    }
}
