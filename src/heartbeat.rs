//! When each loop of a worker made progress last.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// When something happened last. Noting it is one relaxed store.
#[derive(Default)]
pub struct Moment(AtomicU64);

impl Moment {
    pub fn note(&self) {
        let ms = u64::try_from(BEGIN.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.store(ms.saturating_add(1), Ordering::Relaxed);
    }

    /// How long ago it was; `None` if it has not happened.
    pub fn age(&self) -> Option<Duration> {
        let ms = self.0.load(Ordering::Relaxed).checked_sub(1)?;
        Some(BEGIN.elapsed().saturating_sub(Duration::from_millis(ms)))
    }
}

/// The steps of a loop: each begins, and ends with a reply or an error.
#[derive(Default)]
pub struct Heartbeat {
    pending: AtomicUsize,
    /// When a step ended last, or began while none was pending.
    last_beat: Moment,
    /// How often the loop got a new connection because its step did not end.
    revived: AtomicU64,
    /// A step did not end in its time, and none has ended since.
    deaf: AtomicBool,
}

impl Heartbeat {
    pub fn begin(&self) {
        if self.pending.fetch_add(1, Ordering::Relaxed) == 0 {
            self.last_beat.note();
        }
    }

    pub fn end(&self) {
        self.pending.fetch_sub(1, Ordering::Relaxed);
        self.beat();
    }

    /// Notes that a part of a step has ended.
    pub fn beat(&self) {
        self.last_beat.note();
        self.deaf.store(false, Ordering::Relaxed);
    }

    /// Begins a step that ends when the guard is dropped.
    pub fn guard(&self) -> Beat<'_> {
        self.begin();
        Beat(self)
    }

    /// Takes a step.
    pub async fn take<T>(&self, step: impl Future<Output = T>) -> T {
        let _guard = self.guard();
        step.await
    }

    /// How long ago a step ended, or began; `None` if none has begun yet.
    pub fn age(&self) -> Option<Duration> {
        self.last_beat.age()
    }

    /// Whether steps have begun, and none has ended for this long.
    pub fn is_overdue(&self, time: Duration) -> bool {
        self.pending.load(Ordering::Relaxed) > 0 && self.age().is_some_and(|age| age >= time)
    }

    /// Counts that a connection is made anew; the step has its whole time again.
    pub fn revive(&self) {
        self.revived.fetch_add(1, Ordering::Relaxed);
        self.last_beat.note();
        self.deaf.store(true, Ordering::Relaxed);
    }

    /// Whether a step did not end in its time although Redis answered, and none has ended since.
    pub fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Relaxed)
    }

    pub fn revived(&self) -> u64 {
        self.revived.load(Ordering::Relaxed)
    }
}

pub struct Beat<'a>(&'a Heartbeat);

impl Drop for Beat<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The loops of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerLoop {
    /// Wait for a marker.
    Wait,
    /// Fetch jobs, and send outcomes.
    Fetch,
    /// Renew locks.
    Renewal,
}

impl WorkerLoop {
    pub const ALL: [WorkerLoop; 3] = [WorkerLoop::Wait, WorkerLoop::Fetch, WorkerLoop::Renewal];

    /// Its name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WorkerLoop::Wait => "wait",
            WorkerLoop::Fetch => "fetch",
            WorkerLoop::Renewal => "renewal",
        }
    }
}

/// The heartbeats of a worker's loops, and how long a step of each may take.
pub struct Heartbeats {
    heartbeats: [Arc<Heartbeat>; WorkerLoop::ALL.len()],
    times: [Duration; WorkerLoop::ALL.len()],
}

impl Heartbeats {
    /// `times`: for a wait, a fetch and a renewal.
    #[must_use]
    pub fn new(times: [Duration; WorkerLoop::ALL.len()]) -> Self {
        Self { heartbeats: Default::default(), times }
    }

    #[must_use]
    pub fn of(&self, which: WorkerLoop) -> &Arc<Heartbeat> {
        &self.heartbeats[which as usize]
    }

    #[must_use]
    pub fn is_overdue(&self, which: WorkerLoop) -> bool {
        self.of(which).is_overdue(self.times[which as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_step_is_overdue_until_one_ends() {
        let heartbeats = Heartbeats::new([Duration::ZERO, LONG, Duration::ZERO]);
        let wait = heartbeats.of(WorkerLoop::Wait);
        assert_eq!(wait.age(), None);
        assert!(!heartbeats.is_overdue(WorkerLoop::Wait), "nothing has begun");
        wait.begin();
        heartbeats.of(WorkerLoop::Fetch).begin();
        assert!(heartbeats.is_overdue(WorkerLoop::Wait));
        assert!(!heartbeats.is_overdue(WorkerLoop::Fetch), "it has more time");
        assert!(!heartbeats.is_overdue(WorkerLoop::Renewal), "it has not begun");
        drop(wait.guard());
        assert!(heartbeats.is_overdue(WorkerLoop::Wait), "the first one is still pending");
        wait.end();
        assert!(!heartbeats.is_overdue(WorkerLoop::Wait));
        wait.revive();
        assert!(wait.is_deaf() && wait.revived() == 1);
        wait.beat();
        assert!(!wait.is_deaf(), "it has ended");
    }
}
