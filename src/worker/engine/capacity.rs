//! How many jobs the engine has room for.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Instant;

use super::Engine;
use crate::clock::now_ms;
use crate::worker::fetch::FetchRequest;

impl Engine {
    /// What the next fetch asks for, if that many of the jobs in hand leave with it, beside those in flight.
    pub(super) fn next_request(&mut self, leaving: usize) -> FetchRequest {
        // The time first: what holds up the worker is either seen below or is later than this time.
        let decided = Instant::now();
        let mut request = FetchRequest { token: Arc::default(), count: 0, slots: 0, alone: false, decided };
        let state = &self.state;
        let overdue = state.stats.overdue.load(Ordering::Relaxed);
        let coming = self.in_flight.coming();
        let taken = self.in_hand.saturating_sub(leaving + self.in_flight.leaving()) + coming + overdue;
        request.alone = taken == 0 || self.alone_until().is_some_and(|at| at <= Instant::now());
        let waits = state.is_held_up()
            || state.stats.limiting.load(Ordering::SeqCst) > 0
            || state.limited_until.load(Ordering::Relaxed) > now_ms()
            || self.is_fetch_paused()
            || state.outcomes.count_returning() > 0
            || (self.alone_since.is_some() && !request.alone)
            || !self.lost_replies.is_empty();
        if waits {
            return request;
        }
        let concurrency = state.concurrency.load(Ordering::Relaxed);
        request.slots = concurrency.saturating_sub(taken);
        if self.alone_since.is_some() {
            request.slots = request.slots.min(1);
            request.count = request.slots;
        } else {
            let most = concurrency + self.prefetch.ahead(concurrency);
            request.count = most.saturating_sub(taken).min(self.prefetch.batch());
        }
        let fetched = self.fetched + coming as u64;
        let allowed = self.limits.max_jobs.map_or(u64::MAX, |max| max.saturating_sub(fetched));
        request.count = request.count.min(usize::try_from(allowed).unwrap_or(usize::MAX));
        request
    }

    /// Until when a job that must run alone does not run beside others. After that it does: a long job must not hold up
    /// the queue.
    pub(super) fn alone_until(&self) -> Option<Instant> {
        self.alone_since.map(|since| since + self.state.options.lock_duration)
    }

    /// Fetch nothing for the limiter's remaining ms.
    pub(super) fn limit_for(&self, ttl_ms: i64) {
        if ttl_ms > 0 {
            self.state.limited_until.fetch_max(now_ms().saturating_add(ttl_ms), Ordering::Relaxed);
        }
    }

    pub(super) fn count_in_hand(&mut self, count: usize) {
        self.in_hand = count;
        if count == 0 {
            self.alone_since = None;
        }
        self.state.stats.in_hand.store(count, Ordering::Relaxed);
    }
}
