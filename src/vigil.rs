//! Waiting awake for what is about to come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// About a round trip to a Redis nearby. To sleep and be woken by another thread takes as long again.
const SHORT: Duration = Duration::from_micros(200);

/// Lets one of many waiting threads stay awake for a moment, if the last wait was as short as that.
#[derive(Default)]
pub struct Vigil {
    long: AtomicBool,
    taken: AtomicBool,
}

impl Vigil {
    /// Wait awake until `came` or for a moment, in which other threads go first. The caller then looks for itself.
    pub fn keep(&self, began: Instant, came: impl Fn() -> bool) {
        if self.long.load(Ordering::Relaxed) || self.taken.swap(true, Ordering::AcqRel) {
            return;
        }
        while !came() && self.lasts(began) {
            std::thread::yield_now();
        }
        self.taken.store(false, Ordering::Release);
    }

    /// Whether to go on waiting awake.
    pub fn lasts(&self, began: Instant) -> bool {
        !self.long.load(Ordering::Relaxed) && began.elapsed() < SHORT
    }

    /// Whether a thread is awake and will look for itself, once it has locked what it looks at.
    pub fn is_kept(&self) -> bool {
        self.taken.load(Ordering::Acquire)
    }

    /// Note that a wait is over.
    pub fn end(&self, began: Instant) {
        self.long.store(began.elapsed() >= SHORT, Ordering::Relaxed);
    }
}
