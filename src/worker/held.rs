//! A job in this worker's hands.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::protocol::JobRecord;
use crate::timers::lock_extender::Lease;

/// A fetched job, from the fetch to the accepted outcome.
pub struct HeldJob {
    pub record: JobRecord,
    pub token: Arc<str>,
    /// When the fetch was sent: the lock is at most this old.
    pub fetched: Instant,
    /// Shared with the lock extender.
    pub lease: Arc<Lease>,
    started: OnceLock<Instant>,
    settled: AtomicBool,
    /// Settled without its handler, which still runs.
    pub overdue: AtomicBool,
}

impl HeldJob {
    pub fn new(record: JobRecord, token: Arc<str>, fetched: Instant) -> Self {
        Self {
            record,
            token,
            fetched,
            lease: Arc::new(Lease::new(fetched)),
            started: OnceLock::new(),
            settled: AtomicBool::new(false),
            overdue: AtomicBool::new(false),
        }
    }

    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// What the lock extender needs to know.
    pub fn lock(&self) -> (Arc<str>, Arc<str>, Arc<Lease>) {
        (self.record.id.clone(), self.token.clone(), self.lease.clone())
    }

    pub fn mark_started(&self, now: Instant) {
        let _ = self.started.set(now);
    }

    pub fn handler_time(&self) -> Option<Duration> {
        self.started.get().map(Instant::elapsed)
    }

    pub fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    /// True for the first caller only: a job has one outcome.
    pub fn settle(&self) -> bool {
        !self.settled.swap(true, Ordering::AcqRel)
    }
}
