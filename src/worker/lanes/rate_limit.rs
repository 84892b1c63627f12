//! How long nothing may start, as a worker knows it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::now_ms;
use crate::protocol::Keys;

/// The queue whose rate limit counts for all lanes. They know the end of the limit together: if each of them had to
/// learn it, those that do so first would take all the jobs that the limit allows.
pub struct SharedLimit {
    pub keys: Keys,
    pub limit: Arc<RateLimit>,
}

/// Nothing is fetched before this time (ms since the epoch).
#[derive(Default)]
pub struct RateLimit(AtomicI64);

impl RateLimit {
    /// Fetch nothing for that many ms.
    pub fn limit_for(&self, ms: i64) {
        if ms > 0 {
            self.0.fetch_max(now_ms().saturating_add(ms), Ordering::Relaxed);
        }
    }

    /// How long nothing may be fetched, at that time (ms since the epoch).
    pub fn left(&self, now: i64) -> Option<Duration> {
        let left = self.0.load(Ordering::Relaxed) - now;
        u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_millis)
    }
}
