//! The outcomes that the engine has not sent yet.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use crate::mutex::Mutex;
use crate::worker::held::HeldJob;
use crate::worker::outcome::Outcome;

pub struct OutcomeQueue {
    waiting: Mutex<Vec<Outcome>>,
    /// Jobs that go back to the queue: they go all together, in their order.
    returning: Mutex<Vec<Outcome>>,
    /// This many outcomes are worth a second finish call while another one is in flight.
    pub good_batch: AtomicUsize,
}

impl Default for OutcomeQueue {
    fn default() -> Self {
        Self { waiting: Mutex::default(), returning: Mutex::default(), good_batch: AtomicUsize::new(100) }
    }
}

impl OutcomeQueue {
    /// Add an outcome. True if the engine is to be woken.
    #[must_use]
    pub fn push(&self, outcome: Outcome) -> bool {
        let mut outcomes = self.waiting.lock();
        outcomes.push(outcome);
        let count = outcomes.len();
        drop(outcomes);
        count == 1 || count == self.good_batch.load(Ordering::Relaxed)
    }

    /// Take the first outcomes, of that many bytes in all, or none if there are too few. The engine is not woken for
    /// the rest.
    pub fn take(&self, at_least: usize, at_most: usize, bytes: usize) -> Vec<Outcome> {
        let mut outcomes = self.waiting.lock();
        if outcomes.len() < at_least {
            return Vec::new();
        }
        let mut room = bytes;
        let fits = |outcome: &&Outcome| {
            let fitting = outcome.size() <= room;
            room = room.saturating_sub(outcome.size());
            fitting
        };
        // A larger one goes alone.
        let count = outcomes.iter().take(at_most).take_while(fits).count().max(1).min(outcomes.len());
        let rest = outcomes.split_off(count);
        std::mem::replace(&mut *outcomes, rest)
    }

    pub fn count(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Add jobs that no handler has started, to be given back.
    pub fn give_back(&self, jobs: impl IntoIterator<Item = Arc<HeldJob>>) {
        self.returning.lock().extend(jobs.into_iter().map(|job| Outcome::GivenBack { job }));
    }

    /// Add a job whose handler has not finished it, to go back together with those that are given back.
    pub fn return_started(&self, job: Arc<HeldJob>) {
        self.returning.lock().push(Outcome::Returned { job });
    }

    /// How many jobs wait to go back.
    pub fn count_returning(&self) -> usize {
        self.returning.lock().len()
    }

    /// Take the jobs that go back. The one that was claimed last comes first, so that each job ends in front of those
    /// that were behind it.
    pub fn take_returning(&self) -> Vec<Outcome> {
        let mut returning = std::mem::take(&mut *self.returning.lock());
        returning.sort_by_key(|outcome| std::cmp::Reverse(outcome.job().sequence));
        returning
    }
}
