//! How many jobs a worker may hold: one per slot, and some claimed ahead so that handlers do not wait for round trips. And how
//! many it may ask for at once.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::shared::Shared;
use crate::protocol::JobRecord;

/// Work claimed ahead per slot.
const AHEAD: Duration = Duration::from_millis(20);
const MOST_AHEAD: usize = 500;
/// Jobs per fetch or finish call: beyond it batches gain nothing and other clients of that Redis wait longer.
pub const BATCH: usize = 250;
/// Bytes of jobs per fetch call, for the same reason.
const BATCH_BYTES: usize = 512 * 1024;
/// Claimed jobs that no handler takes for this long were not needed so soon.
pub const LATE: Duration = Duration::from_millis(200);
/// How long after a stalled job nothing is claimed ahead.
const CAUTION: Duration = Duration::from_secs(1);

pub struct Appetite {
    shared: Arc<Shared>,
    cautious_until: Option<Instant>,
    /// Bytes, of the jobs fetched last on average.
    job_size: usize,
}

impl Appetite {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, cautious_until: None, job_size: 1 }
    }

    /// The most jobs to hold now.
    pub fn most(&self) -> usize {
        let slots = self.shared.concurrency.load(Ordering::Relaxed);
        slots + if self.is_cautious() { 0 } else { self.ahead(slots) }
    }

    fn ahead(&self, slots: usize) -> usize {
        let time = self.shared.handout.handler_time();
        match self.shared.options.prefetch {
            Some(ahead) => ahead,
            // What dies with this worker counts as stalled, also what has not begun: here that would be its end.
            None if self.shared.options.max_stalled_count == 0 => 0,
            None if time.is_zero() || time >= AHEAD => 0,
            None => {
                let per_slot = AHEAD.as_nanos() / time.as_nanos();
                (slots.saturating_mul(usize::try_from(per_slot).unwrap_or(MOST_AHEAD))).min(MOST_AHEAD)
            }
        }
    }

    /// The most jobs to ask for in one call.
    pub fn batch(&self) -> usize {
        (BATCH_BYTES / self.job_size).clamp(1, BATCH)
    }

    /// Expect the next jobs to be as large as these.
    pub fn observe(&mut self, jobs: &[JobRecord]) {
        if !jobs.is_empty() {
            self.job_size = (jobs.iter().map(JobRecord::size).sum::<usize>() / jobs.len()).max(1);
            self.shared.many_outcomes.store((self.batch() * 2 / 5).max(1), Ordering::Relaxed);
        }
    }

    /// A job came whose worker had died. It may be the one that kills its workers: nothing else should be at stake.
    pub fn be_cautious(&mut self) {
        self.cautious_until = Some(Instant::now() + CAUTION);
    }

    fn is_cautious(&self) -> bool {
        self.cautious_until.is_some_and(|until| Instant::now() < until)
    }

    /// How many of the jobs in hand should go back, if that many have not begun.
    pub fn surplus(&self, in_hand: usize) -> usize {
        let late = self.shared.handout.oldest().is_some_and(|fetched| fetched.elapsed() >= LATE);
        if late {
            // Until it has seen otherwise: else they would come again at once, and go back again.
            self.shared.handout.expect_at_least(AHEAD);
        }
        if late || self.is_cautious() {
            return in_hand.saturating_sub(self.most());
        }
        0
    }
}
