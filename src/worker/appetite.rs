//! How many jobs a worker may hold: one per slot, and some claimed ahead so that handlers do not wait for round trips. And how
//! many it may ask for at once.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::shared::Shared;
use crate::protocol::JobRecord;

/// Work claimed ahead: what the handlers take in this time.
const AHEAD: Duration = Duration::from_millis(10);
const MOST_AHEAD: usize = 500;
/// Jobs per fetch or finish call: beyond it batches gain nothing and other clients of that Redis wait longer.
pub const BATCH: usize = 120;
/// Bytes of jobs per fetch call, for the same reason.
const BATCH_BYTES: usize = 512 * 1024;
/// Bytes of results per finish call.
pub const OUTCOME_BYTES: usize = 1024 * 1024;
/// A claimed job that no handler has taken for this long was not needed so soon.
pub const LATE: Duration = Duration::from_millis(20);
/// The shortest and the longest time over which the pace is measured.
const PACE_SPAN: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// Claims beside so many slots need no proof of pace.
const UNPROVEN: usize = 16;

pub struct Appetite {
    shared: Arc<Shared>,
    /// Bytes, of the jobs fetched last on average.
    job_size: usize,
    /// Jobs that handlers take per second, when that was measured, and the count of taken jobs then.
    pace: f64,
    measured: (Instant, u64),
    /// The queue's plan allows no claims ahead, as the last reply told.
    pub holds: bool,
}

impl Appetite {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, job_size: 1, pace: 0.0, measured: (Instant::now(), 0), holds: false }
    }

    /// How many jobs to hold beyond one per slot.
    pub fn ahead(&mut self, slots: usize) -> usize {
        let options = &self.shared.options;
        // What would be noticed is not done: a limit counts claims, and what dies with a worker may be its last start.
        let strict =
            options.limiter.is_some() || options.max_started_attempts.is_some() || options.max_stalled_count == 0;
        if self.holds || strict {
            return 0;
        }
        if let Some(ahead) = options.prefetch {
            return ahead;
        }
        let time = self.shared.handout.handler_time();
        if time.is_zero() || time >= AHEAD {
            return 0;
        }
        self.measure();
        let per_slot = usize::try_from(AHEAD.as_nanos() / time.as_nanos()).unwrap_or(MOST_AHEAD);
        let in_time = ((self.pace * AHEAD.as_secs_f64()) as usize).max(slots.min(UNPROVEN));
        slots.saturating_mul(per_slot).min(in_time).min(MOST_AHEAD)
    }

    /// Handlers that share one processor are slower together than each alone tells.
    fn measure(&mut self) {
        let (at, before) = self.measured;
        let (span, taken) = (at.elapsed(), self.shared.handout.taken());
        if span < PACE_SPAN.0 {
            return;
        }
        let pace = taken.saturating_sub(before) as f64 / span.as_secs_f64();
        self.pace = if span > PACE_SPAN.1 { pace } else { (self.pace + pace) / 2.0 };
        self.measured = (Instant::now(), taken);
    }

    /// The most jobs to ask for in one call.
    pub fn batch(&self) -> usize {
        (BATCH_BYTES / self.job_size).clamp(1, BATCH)
    }

    /// Expect the next jobs to be as large as these.
    pub fn observe(&mut self, jobs: &[JobRecord]) {
        if !jobs.is_empty() {
            self.job_size = (jobs.iter().map(JobRecord::size).sum::<usize>() / jobs.len()).max(1);
            // Without claims ahead, one half of the slots works while the outcomes of the other half are on their way.
            let slots = self.shared.concurrency.load(Ordering::Relaxed);
            let most = if self.ahead(slots) == 0 { slots.div_ceil(2) } else { usize::MAX };
            self.shared.many_outcomes.store((self.batch() * 2 / 5).min(most).max(1), Ordering::Relaxed);
        }
    }

    /// Whether claims have waited for too long; then they must go back, and others must not come so soon.
    pub fn is_late(&self) -> bool {
        let late = self.shared.options.prefetch.is_none()
            && self.shared.handout.oldest_claim().is_some_and(|arrived| arrived.elapsed() >= LATE);
        if late {
            self.shared.handout.expect_at_least(AHEAD);
        }
        late
    }
}
