//! How long nothing may start, as a worker knows it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::now_us;
use crate::protocol::Keys;

/// The queue whose rate limit counts for all lanes. They know the end of the limit together: if each of them had to
/// learn it, those that do so first would take all the jobs that the limit allows.
pub struct SharedLimit {
    pub keys: Keys,
    pub limit: Arc<RateLimit>,
}

/// A timer of the runtime ends up to a ms late: half of that is taken off, since workers that end their wait a ms later
/// than others get few of the jobs that a limit allows.
const LATE_US: i64 = 500;

/// Nothing is fetched before this time (microseconds since the epoch).
#[derive(Default)]
pub struct RateLimit(AtomicI64);

impl RateLimit {
    /// Fetch nothing for that many ms.
    pub fn limit_for(&self, ms: i64) {
        if ms > 0 {
            let end = now_us().saturating_add(ms.saturating_mul(1_000) - LATE_US);
            self.0.fetch_max(end, Ordering::Relaxed);
        }
    }

    /// How long nothing may be fetched.
    pub fn left(&self) -> Option<Duration> {
        let end = self.0.load(Ordering::Relaxed);
        let left = if end == 0 { 0 } else { end - now_us() };
        u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_ends_half_a_timer_early_and_is_not_rounded_to_milliseconds() {
        let limit = RateLimit::default();
        assert_eq!(limit.left(), None);
        limit.limit_for(10_000);
        let left = limit.left().unwrap();
        assert!(left <= Duration::from_micros(9_999_500) && left > Duration::from_secs(9), "{left:?}");
        limit.limit_for(5);
        assert!(limit.left().unwrap() > Duration::from_secs(9), "a shorter one does not end it");
    }
}
