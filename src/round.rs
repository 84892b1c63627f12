//! Proof of life: when the steps came round last that a worker repeats for ever.

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

/// A step that a worker repeats: it begins, and comes round with a reply or an error.
#[derive(Default)]
pub struct Round {
    pending: AtomicUsize,
    /// When it came round last, or began while none was pending.
    turned: Moment,
    /// How often a connection was made anew since it did not come round.
    revived: AtomicU64,
    /// It did not come round, and has not since.
    deaf: AtomicBool,
}

impl Round {
    pub fn begin(&self) {
        if self.pending.fetch_add(1, Ordering::Relaxed) == 0 {
            self.turned.note();
        }
    }

    pub fn end(&self) {
        self.pending.fetch_sub(1, Ordering::Relaxed);
        self.turn();
    }

    /// Notes that a part of it came round.
    pub fn turn(&self) {
        self.turned.note();
        self.deaf.store(false, Ordering::Relaxed);
    }

    /// Begins a step that ends when the guard is dropped.
    pub fn guard(&self) -> RoundGuard<'_> {
        self.begin();
        RoundGuard(self)
    }

    /// Takes a step.
    pub async fn take<T>(&self, step: impl Future<Output = T>) -> T {
        let _guard = self.guard();
        step.await
    }

    /// How long ago a step came round, or began; `None` if none has begun yet.
    pub fn age(&self) -> Option<Duration> {
        self.turned.age()
    }

    /// Whether steps have begun, and none came round for this long.
    pub fn is_overdue(&self, time: Duration) -> bool {
        self.pending.load(Ordering::Relaxed) > 0 && self.age().is_some_and(|age| age >= time)
    }

    /// Counts that a connection is made anew; the step has its whole time again.
    pub fn revive(&self) {
        self.revived.fetch_add(1, Ordering::Relaxed);
        self.turned.note();
        self.deaf.store(true, Ordering::Relaxed);
    }

    /// Whether it did not come round in its time although Redis answered, and has not since.
    pub fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Relaxed)
    }

    pub fn revived(&self) -> u64 {
        self.revived.load(Ordering::Relaxed)
    }
}

pub struct RoundGuard<'a>(&'a Round);

impl Drop for RoundGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What a worker does again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Wait for a marker.
    Wait,
    /// Fetch jobs, and send outcomes.
    Fetch,
    /// Renew locks.
    Renewal,
}

impl Duty {
    pub const ALL: [Duty; 3] = [Duty::Wait, Duty::Fetch, Duty::Renewal];

    /// Its name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Duty::Wait => "wait",
            Duty::Fetch => "fetch",
            Duty::Renewal => "renewal",
        }
    }
}

/// The rounds of a worker, and how long each may take.
pub struct Rounds {
    rounds: [Arc<Round>; Duty::ALL.len()],
    times: [Duration; Duty::ALL.len()],
}

impl Rounds {
    /// `times`: for a wait, a fetch and a renewal.
    #[must_use]
    pub fn new(times: [Duration; Duty::ALL.len()]) -> Self {
        Self { rounds: Default::default(), times }
    }

    #[must_use]
    pub fn of(&self, duty: Duty) -> &Arc<Round> {
        &self.rounds[duty as usize]
    }

    #[must_use]
    pub fn is_overdue(&self, duty: Duty) -> bool {
        self.of(duty).is_overdue(self.times[duty as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_step_is_overdue_until_one_comes_round() {
        let rounds = Rounds::new([Duration::ZERO, LONG, Duration::ZERO]);
        let wait = rounds.of(Duty::Wait);
        assert_eq!(wait.age(), None);
        assert!(!rounds.is_overdue(Duty::Wait), "nothing has begun");
        wait.begin();
        rounds.of(Duty::Fetch).begin();
        assert!(rounds.is_overdue(Duty::Wait));
        assert!(!rounds.is_overdue(Duty::Fetch), "it has more time");
        assert!(!rounds.is_overdue(Duty::Renewal), "it has not begun");
        drop(wait.guard());
        assert!(rounds.is_overdue(Duty::Wait), "the first one is still pending");
        wait.end();
        assert!(!rounds.is_overdue(Duty::Wait));
        wait.revive();
        assert!(wait.is_deaf() && wait.revived() == 1);
        wait.turn();
        assert!(!wait.is_deaf(), "it came round");
    }
}
