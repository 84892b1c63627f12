//! Counters of a worker, and when it last heard from Redis.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;

use crate::connection::CallTimes;
use crate::heartbeat::Moment;
use crate::histogram::Histogram;
use crate::timers::held_locks::Loss;
use crate::timers::lock_extender::Renewals;
use crate::timers::route_keeper::Unmatched;

#[derive(Default)]
pub struct Stats {
    pub completed: AtomicU64,
    pub failed: AtomicU64,
    pub retried: AtomicU64,
    pub fetched: AtomicU64,
    /// Fetch and finish calls; jobs per call show how large the batches are.
    pub calls: AtomicU64,
    pub stalled_skipped: Arc<AtomicU64>,
    /// Jobs that this worker put back because their workers had stopped renewing their locks.
    pub stalled: AtomicU64,
    pub renewals: Arc<Renewals>,
    /// How often the connection for calls was made anew.
    pub reconnects: AtomicU64,
    /// Jobs in hand at the end of the run, which run again when their locks have expired.
    pub abandoned: AtomicUsize,
    pub schedulers_repaired: Arc<AtomicU64>,
    /// The jobs of routes without a worker, if this worker looks after the routes.
    pub unmatched: Unmatched,
    /// Scans that found only jobs for other workers, as many as they may look at.
    pub scans_exhausted: AtomicU64,
    pub in_hand: AtomicUsize,
    /// Slots without a job or a batch.
    pub free_slots: AtomicUsize,
    /// Slots are free, and a job runs or will run alone.
    pub isolated: AtomicBool,
    /// Handlers that still run although their job has timed out.
    pub overdue: AtomicUsize,
    /// Batches that were taken and whose outcomes are not all on their way to Redis.
    pub batches: AtomicUsize,
    /// Locks that were lost, by [`Loss`].
    lost: [AtomicU64; Loss::ALL.len()],
    /// The last reply to a fetch, and the last one that brought jobs.
    pub answered: Moment,
    pub claimed: Moment,
    /// From the start of a handler to its outcome.
    pub durations: Histogram,
    /// From the moment a job was due to its first start.
    pub waits: Histogram,
    /// How long its calls of scripts took.
    pub scripts: Arc<CallTimes>,
}

impl Stats {
    /// A lock was lost.
    pub fn lost(&self, how: Loss) {
        self.lost[how as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many locks were lost in this way.
    pub fn lost_count(&self, how: Loss) -> u64 {
        self.lost[how as usize].load(Ordering::Relaxed)
    }
}
