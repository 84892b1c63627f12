//! Sleeps until an optional moment.

use std::time::{Duration, Instant};

/// Sleep until the deadline; forever without one.
pub async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// That duration, up to 10 % shorter or longer, so that workers that started together do not ask at the same time.
pub fn jittered(duration: Duration) -> Duration {
    duration.mul_f64(0.9 + fastrand::f64() / 5.0)
}

/// A duration of that many ms; zero if negative.
pub fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
