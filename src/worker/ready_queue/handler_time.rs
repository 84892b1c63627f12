//! How long handlers take on average.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A moving average in nanoseconds; zero before the first sample.
#[derive(Default)]
pub struct HandlerTime(AtomicU64);

impl HandlerTime {
    /// Add the time of one handler, from taking the job to its outcome.
    pub fn observe(&self, time: Duration) {
        let sample = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
        let old = self.0.load(Ordering::Relaxed);
        let new = if old == 0 { sample } else { old - old / 8 + sample / 8 };
        self.0.store(new.max(1), Ordering::Relaxed);
    }

    /// Raise an average that is proven to be too low.
    pub fn raise_to(&self, least: Duration) {
        let least = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_max(least, Ordering::Relaxed);
    }

    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}
