//! Locks that a forked child can use.
//!
//! parking_lot keeps waiting threads in tables of the whole process. If the process forks while a thread has such a
//! table locked, the child waits for it forever. A lock of std keeps its state in itself, and a child uses no lock that
//! its parent made.

use std::sync::PoisonError;
use std::time::Duration;

pub use std::sync::MutexGuard;

/// A mutex that a panic does not poison.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

impl Condvar {
    pub const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Wait for a notification, at most `limit`. True: that time is over. It may return early without a notification.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>, limit: Duration) -> (MutexGuard<'a, T>, bool) {
        let (guard, result) = self.0.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner);
        (guard, result.timed_out())
    }
}
