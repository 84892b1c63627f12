//! Sleeps until an optional moment.

use std::time::{Duration, Instant};

/// Sleep until the deadline; forever without one.
pub async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// A duration of that many ms; zero if negative.
pub fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
