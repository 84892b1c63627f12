//! The wall clock, which tests can stop and move.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

const RUNNING: i64 = i64::MIN;

static STOPPED_AT: AtomicI64 = AtomicI64::new(RUNNING);
static AHEAD: AtomicI64 = AtomicI64::new(0);
static MOVES: AtomicU64 = AtomicU64::new(0);
static MOVED: Notify = Notify::const_new();

/// Milliseconds since the epoch, as they are stored in Redis. Never used to measure durations.
pub fn now_ms() -> i64 {
    now_us() / 1_000
}

/// The same clock in microseconds.
pub fn now_us() -> i64 {
    match STOPPED_AT.load(Ordering::Relaxed) {
        RUNNING => {
            let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let now = i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX);
            now.saturating_add(AHEAD.load(Ordering::Relaxed).saturating_mul(1_000))
        }
        at => at.saturating_mul(1_000),
    }
}

/// Stops [`now_ms`] at one moment, in the whole process; `None` sets it to the system's time and lets it run.
pub fn stop(at: Option<i64>) {
    AHEAD.store(0, Ordering::Relaxed);
    STOPPED_AT.store(at.unwrap_or(RUNNING), Ordering::Relaxed);
    note_move();
}

/// Moves [`now_ms`] ahead, in the whole process; it goes on from there.
pub fn advance(ms: i64) {
    match STOPPED_AT.load(Ordering::Relaxed) {
        RUNNING => AHEAD.fetch_add(ms, Ordering::Relaxed),
        at => STOPPED_AT.swap(at.saturating_add(ms), Ordering::Relaxed),
    };
    note_move();
}

fn note_move() {
    MOVES.fetch_add(1, Ordering::Release);
    MOVED.notify_waiters();
}

/// How often the clock was moved or stopped. Read it before [`now_ms`], and give it to [`moved`].
pub fn moves() -> u64 {
    MOVES.load(Ordering::Acquire)
}

/// Wait until the clock is moved or stopped. A move since `seen` was read counts.
pub async fn moved(seen: u64) {
    loop {
        let notified = MOVED.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if moves() != seen {
            return;
        }
        notified.await;
    }
}
