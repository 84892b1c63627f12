//! The pause after a scan that found only jobs for other workers.

use std::time::{Duration, Instant};

const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(5);

/// Until when a queue is not scanned again. The marker that led to the scan is put back only then: at once, this worker
/// would pop it again and again.
pub struct ScanRest {
    until: Option<Instant>,
    next: Duration,
    owes_marker: bool,
}

impl Default for ScanRest {
    fn default() -> Self {
        Self { until: None, next: SHORTEST, owes_marker: false }
    }
}

impl ScanRest {
    /// A scan found only jobs for others. Each rest is twice as long as the one before.
    pub fn begin(&mut self, took_marker: bool) {
        self.until = Some(Instant::now() + self.next);
        self.next = (self.next * 2).min(LONGEST);
        self.owes_marker |= took_marker;
    }

    /// A scan found a job, or nothing at all.
    pub fn reset(&mut self) {
        *self = Self { owes_marker: self.owes_marker, ..Self::default() };
    }

    pub fn until(&self) -> Option<Instant> {
        self.until.filter(|until| Instant::now() < *until)
    }

    /// Whether a marker is to be put back now: the rest is over.
    pub fn take_marker(&mut self) -> bool {
        self.until().is_none() && std::mem::take(&mut self.owes_marker)
    }

    /// No marker is put back: the worker does not scan any more.
    pub fn forget_marker(&mut self) {
        self.owes_marker = false;
    }
}
