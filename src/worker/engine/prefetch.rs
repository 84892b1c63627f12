//! How many jobs to claim ahead of free slots, so that handlers do not wait for round trips, and how many per fetch.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::protocol::JobRecord;
use crate::worker::limits;
use crate::worker::state::WorkerState;

/// Claim ahead as many jobs as the handlers take in this time.
const AHEAD: Duration = Duration::from_millis(10);
const MOST_AHEAD: usize = 500;
/// A job that was claimed ahead goes back if no handler has taken it for this long.
const LATE: Duration = Duration::from_millis(20);
/// The shortest and the longest time over which the pace is measured.
const PACE_SPAN: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// This many claims ahead, at most one per slot, do not depend on the pace.
const UNPROVEN: usize = 16;

pub struct Prefetch {
    state: Arc<WorkerState>,
    /// The average size in bytes of the jobs of the last fetch.
    job_size: usize,
    /// How many jobs handlers take per second.
    pace: f64,
    /// When the pace was measured, and how many jobs were taken by then.
    measured: (Instant, u64),
    /// The last reply said that no jobs may be claimed ahead.
    pub forbidden: bool,
}

impl Prefetch {
    pub fn new(state: Arc<WorkerState>) -> Self {
        Self { state, job_size: 1, pace: 0.0, measured: (Instant::now(), 0), forbidden: false }
    }

    /// How many jobs to hold beyond one per slot.
    pub fn ahead(&mut self, slots: usize) -> usize {
        let options = &self.state.options;
        // A worker of several queues shares its slots fairly. With these options claims ahead would have effects: a
        // limiter counts them, and when a worker dies, a job that it had claimed may have no start or stall left.
        let strict =
            options.limiter.is_some() || options.max_started_attempts.is_some() || options.max_stalled_count == 0;
        if self.forbidden || strict || self.state.lanes.are_several() {
            return 0;
        }
        if let Some(ahead) = options.prefetch {
            return ahead;
        }
        let time = self.state.ready_queue.handler_time.get();
        if time.is_zero() || time >= AHEAD {
            return 0;
        }
        self.measure();
        let per_slot = usize::try_from(AHEAD.as_nanos() / time.as_nanos()).unwrap_or(MOST_AHEAD);
        let in_time = ((self.pace * AHEAD.as_secs_f64()) as usize).max(slots.min(UNPROVEN));
        slots.saturating_mul(per_slot).min(in_time).min(MOST_AHEAD)
    }

    /// Measure the pace. Handlers that share one processor are slower together than the time of each one suggests.
    fn measure(&mut self) {
        let (at, before) = self.measured;
        let (span, taken) = (at.elapsed(), self.state.ready_queue.taken());
        if span < PACE_SPAN.0 {
            return;
        }
        let pace = taken.saturating_sub(before) as f64 / span.as_secs_f64();
        self.pace = if span > PACE_SPAN.1 { pace } else { (self.pace + pace) / 2.0 };
        self.measured = (Instant::now(), taken);
    }

    /// The most jobs to ask for in one call.
    pub fn batch(&self) -> usize {
        (limits::JOB_BYTES / self.job_size).clamp(1, limits::JOBS)
    }

    /// Expect the next jobs to be as large as these.
    pub fn observe(&mut self, jobs: &[JobRecord]) {
        if !jobs.is_empty() {
            self.job_size = (jobs.iter().map(JobRecord::size).sum::<usize>() / jobs.len()).max(1);
            // Without claims ahead, half of the slots work while the outcomes of the other half are in flight.
            let slots = self.state.concurrency.load(Ordering::Relaxed);
            let most = if self.ahead(slots) == 0 { slots.div_ceil(2) } else { usize::MAX };
            self.state.outcomes.good_batch.store((self.batch() * 2 / 5).min(most).max(1), Ordering::Relaxed);
        }
    }

    /// Whether jobs that were claimed ahead have waited too long. If so, no more are claimed ahead for a while.
    pub fn is_late(&self) -> bool {
        let late = self.state.options.prefetch.is_none()
            && self.state.ready_queue.oldest_claim().is_some_and(|arrived| arrived.elapsed() >= LATE);
        if late {
            self.state.ready_queue.handler_time.raise_to(AHEAD);
        }
        late
    }
}
