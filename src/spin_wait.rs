//! Waits without sleeping for something that is expected very soon.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// About one round trip to a Redis nearby. To fall asleep and be woken by another thread takes as long again.
const SHORT: Duration = Duration::from_micros(200);

/// Lets one of several waiting threads spin for up to [`SHORT`], if the last wait was that short.
#[derive(Default)]
pub struct SpinWait {
    last_was_long: AtomicBool,
    /// One thread spins now.
    spinning: AtomicBool,
}

impl SpinWait {
    /// Spin until `is_done` or until the time is over. Other threads may run meanwhile. The caller then checks again.
    pub fn spin(&self, began: Instant, is_done: impl Fn() -> bool) {
        if self.last_was_long.load(Ordering::Relaxed) || self.spinning.swap(true, Ordering::AcqRel) {
            return;
        }
        while !is_done() && self.may_spin(began) {
            std::thread::yield_now();
        }
        self.spinning.store(false, Ordering::Release);
    }

    /// Whether a wait that began then may still spin.
    pub fn may_spin(&self, began: Instant) -> bool {
        !self.last_was_long.load(Ordering::Relaxed) && began.elapsed() < SHORT
    }

    /// Whether a thread spins now. It will check for itself, so it need not be woken.
    pub fn is_spinning(&self) -> bool {
        self.spinning.load(Ordering::Acquire)
    }

    /// Note that a wait is over.
    pub fn end(&self, began: Instant) {
        self.last_was_long.store(began.elapsed() >= SHORT, Ordering::Relaxed);
    }
}
