//! How long to wait between tries.

use std::time::Duration;

use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(50);
/// The longest pause at first, for about half a minute: most failovers are over by then, and work goes on a moment
/// later.
const SHORT_CAP: Duration = Duration::from_secs(1);
const SHORT_PAUSES: u32 = 40;

/// Exponential backoff with jitter. It remembers when the next try is due, also when the future that waits is dropped.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    cap: Duration,
    failures: u32,
    next: Option<Instant>,
}

impl Pace {
    pub fn new(cap: Duration) -> Self {
        Pace { cap, failures: 0, next: None }
    }

    /// Call only after a command has worked: a server that accepts and closes at once must not reset the pace.
    pub fn reset(&mut self) {
        self.failures = 0;
        self.next = None;
    }

    pub fn failed(&mut self) {
        let cap = if self.failures < SHORT_PAUSES { self.cap.min(SHORT_CAP) } else { self.cap };
        let ceiling = FIRST.saturating_mul(1 << self.failures.min(16)).min(cap);
        // Half is fixed, so that no try comes at once; half is random, so that many clients do not try together.
        self.next = Some(Instant::now() + ceiling.mul_f64(0.5 + fastrand::f64() / 2.0));
        self.failures = self.failures.saturating_add(1);
    }

    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Waits until the next try is due.
    pub async fn wait(&self) {
        if let Some(next) = self.next {
            tokio::time::sleep_until(next).await;
        }
    }
}
