//! What ticks off the GIL.

pub mod lock_extender;
pub mod stalled_checker;

/// Milliseconds since the epoch: what goes on the wire. Never used to measure durations.
pub fn now_ms() -> i64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}
