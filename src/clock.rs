//! The wall clock, which tests can stop.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

const RUNNING: i64 = i64::MIN;

static STOPPED_AT: AtomicI64 = AtomicI64::new(RUNNING);

/// Milliseconds since the epoch, as they are stored in Redis. Never used to measure durations.
pub fn now_ms() -> i64 {
    match STOPPED_AT.load(Ordering::Relaxed) {
        RUNNING => {
            let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
        }
        at => at,
    }
}

/// Stops [`now_ms`] at one moment, in the whole process; `None` lets it run again.
pub fn stop(at: Option<i64>) {
    STOPPED_AT.store(at.unwrap_or(RUNNING), Ordering::Relaxed);
}
