//! How much the engine asks for, and what becomes of jobs that it claimed ahead.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Engine, GATHERING};
use crate::clock::now_ms;
use crate::worker::fetcher::{stamp_jobs, Order};
use crate::worker::shared::Closing;

/// A job that has run for so long gets its start on record; a quicker one together with its outcome.
const BRIEF: Duration = Duration::from_millis(1);

/// Handlers quicker than this bring their outcomes together.
const QUICK: Duration = Duration::from_micros(100);

impl Engine {
    /// What to ask for, when so many of the jobs in hand are on their way out beside those in flight.
    pub(super) fn room(&mut self, leaving: usize) -> Order {
        let mut order = Order { token: Arc::default(), count: 0, slots: 0, alone: false };
        let shared = &self.shared;
        let overdue = shared.stats.overdue.load(Ordering::Relaxed);
        let coming = self.flights.coming();
        let taken = self.in_hand.saturating_sub(leaving + self.flights.leaving()) + coming + overdue;
        order.alone = taken == 0 || self.company_at().is_some_and(|at| at <= Instant::now());
        let waits = shared.is_held_up()
            || shared.stats.limiting.load(Ordering::Relaxed) > 0
            || shared.limited_until.load(Ordering::Relaxed) > now_ms()
            || self.is_refused()
            || shared.is_returning()
            || (self.alone_since.is_some() && !order.alone)
            || !self.strays.is_empty();
        if waits {
            return order;
        }
        let concurrency = shared.concurrency.load(Ordering::Relaxed);
        order.slots = concurrency.saturating_sub(taken);
        if self.alone_since.is_some() {
            order.slots = order.slots.min(1);
            order.count = order.slots;
        } else {
            let most = concurrency + self.appetite.ahead(concurrency);
            order.count = most.saturating_sub(taken).min(self.appetite.batch());
        }
        let fetched = self.fetched + coming as u64;
        let allowed = self.limits.max_jobs.map_or(u64::MAX, |max| max.saturating_sub(fetched));
        order.count = order.count.min(usize::try_from(allowed).unwrap_or(usize::MAX));
        order
    }

    /// When others may run beside a job that had to start alone, or that one beside others: a long job must not hold up a queue.
    pub(super) fn company_at(&self) -> Option<Instant> {
        self.alone_since.map(|since| since + self.shared.options.lock_duration)
    }

    /// How many outcomes are worth a call now. Of quick handlers without claims ahead the next ones are about to come: for a
    /// moment, a call waits for them.
    pub(super) fn fewest_to_send(&mut self) -> usize {
        let many = self.shared.many_outcomes.load(Ordering::Relaxed);
        let fewest = self.flights.fewest_to_send(many);
        let since = self.gathering_since.take();
        let time = self.shared.handout.handler_time();
        if fewest > 1 || time.is_zero() || time >= QUICK || self.shared.closing() != Closing::No {
            return fewest;
        }
        let waiting = self.shared.outcomes_waiting();
        let coming = self.in_hand.saturating_sub(self.flights.leaving());
        let since = since.unwrap_or_else(Instant::now);
        if waiting == 0 || waiting >= coming.min(many) || since.elapsed() >= GATHERING {
            return fewest;
        }
        self.gathering_since = Some(since);
        usize::MAX
    }

    pub(super) fn gathering(&self) -> bool {
        self.gathering_since.is_some()
    }

    /// Nothing may be claimed ahead while the queue is paused or has a limit; what was goes back.
    pub(super) fn hold_claims(&mut self, holds: bool) {
        if holds && !self.appetite.holds {
            self.shared.give_back(self.shared.handout.withdraw_claims());
        }
        self.appetite.holds = holds;
    }

    pub(super) fn limit_for(&self, ttl_ms: i64) {
        if ttl_ms > 0 {
            self.shared.limited_until.fetch_max(now_ms().saturating_add(ttl_ms), Ordering::Relaxed);
        }
    }

    /// Put the starts on record of jobs that were claimed ahead and run for a while; give back what waits behind them.
    pub(super) fn look_after_claims(&mut self) {
        let started = self.shared.handout.begun(BRIEF);
        if !started.is_empty() {
            let (shared, link, keys) = (self.shared.clone(), self.link.clone(), self.keys.clone());
            let trouble = self.stamping.clone();
            self.tasks.spawn(async move {
                match stamp_jobs(&link, &keys, &shared.options, &started).await {
                    Ok(()) => trouble.ends(),
                    Err(error) if trouble.begins(&error) => {
                        shared.error(format!("could not put starts on record: {error}"));
                    }
                    Err(_) => {}
                }
            });
        }
        if self.appetite.is_late() {
            self.shared.give_back(self.shared.handout.withdraw_claims());
        }
    }
}
