//! Counters of a worker.

use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::Arc;

#[derive(Default)]
pub struct Stats {
    pub completed: AtomicU64,
    pub failed: AtomicU64,
    pub retried: AtomicU64,
    pub fetched: AtomicU64,
    /// Fetch and finish calls; jobs per call show how large the batches are.
    pub calls: AtomicU64,
    pub stalled_skipped: Arc<AtomicU64>,
    pub schedulers_repaired: Arc<AtomicU64>,
    pub in_hand: AtomicUsize,
    /// Jobs that go back to the queue because their handlers have limited it.
    pub limiting: AtomicUsize,
    /// Handlers that still run although their job has timed out.
    pub overdue: AtomicUsize,
}
