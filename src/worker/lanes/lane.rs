//! One queue that a worker serves, as the engine and the jobs of that queue share it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::rate_limit::{RateLimit, SharedLimit};
use super::spec::LaneSpec;
use crate::error_once::ErrorOnce;
use crate::mutex::Mutex;
use crate::protocol::{Keys, Tier};
use crate::timers::held_locks::HeldLocks;

pub struct Lane {
    pub keys: Keys,
    pub tier: Tier,
    pub weight: u32,
    /// At most that many jobs of this queue at a time.
    pub concurrency: Option<usize>,
    /// Its place among the lanes of the worker.
    pub position: usize,
    /// Another queue whose rate limit counts here.
    pub shared_limit: Option<Keys>,
    /// The rate limit that counts here.
    limit: Arc<RateLimit>,
    /// The locks of the jobs of this queue that the worker holds.
    pub locks: Arc<HeldLocks>,
    /// Who holds it: jobs that go back to the queue because their handlers have limited it, and calls that pause it.
    pub holds: AtomicUsize,
    /// Jobs of fetches that were decided before this moment must not start any more.
    withdrawn_at: Mutex<Option<Instant>>,
    registered: AtomicBool,
    /// It is served also while nobody is known to use it.
    standing: bool,
    /// The engine has nothing of it any more: another queue may have its position.
    closed: AtomicBool,
    /// A message says that jobs wait here.
    hinted: AtomicBool,
    /// Why Redis refuses the keys of this queue.
    pub refusal: ErrorOnce,
    /// The registry of routes has another target under the name of this queue.
    foreign: AtomicBool,
}

impl Lane {
    #[must_use]
    pub fn new(keys: Keys, spec: &LaneSpec, position: usize, shared_limit: Option<&SharedLimit>) -> Self {
        Self {
            shared_limit: shared_limit.map(|shared| shared.keys.clone()).filter(|limited| *limited != keys),
            limit: shared_limit.map_or_else(Arc::default, |shared| shared.limit.clone()),
            keys,
            tier: spec.tier,
            weight: spec.weight.max(1),
            concurrency: spec.concurrency,
            position,
            locks: Arc::default(),
            holds: AtomicUsize::new(0),
            withdrawn_at: Mutex::default(),
            registered: AtomicBool::new(spec.registered),
            standing: !spec.registered,
            closed: AtomicBool::new(false),
            hinted: AtomicBool::new(false),
            refusal: ErrorOnce::default(),
            foreign: AtomicBool::new(false),
        }
    }

    /// The only lane of a worker of one queue.
    #[must_use]
    pub fn single(keys: Keys) -> Self {
        let spec = LaneSpec::new(keys.name(), Tier::Base);
        Self::new(keys, &spec, 0, None)
    }

    /// The name of the queue.
    #[must_use]
    pub fn queue(&self) -> &str {
        self.keys.name()
    }

    /// Whether the worker holds as many jobs of this queue as it may.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.concurrency.is_some_and(|most| self.locks.len() >= most)
    }

    /// Whether it is known that somebody uses the queue.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        self.registered.load(Ordering::Acquire)
    }

    /// Somebody uses the queue. True for the first caller.
    pub fn register(&self) -> bool {
        self.closed.store(false, Ordering::Release);
        !self.registered.swap(true, Ordering::AcqRel)
    }

    /// Say whether the jobs of this queue are for another target than that for which the worker serves it.
    pub fn set_foreign(&self, foreign: bool) {
        self.foreign.store(foreign, Ordering::Release);
    }

    /// Nobody uses the queue any more. True for the first caller.
    pub(super) fn withdraw_registration(&self) -> bool {
        self.registered.swap(false, Ordering::AcqRel)
    }

    /// Whether the worker serves the queue.
    #[must_use]
    pub fn is_served(&self) -> bool {
        (self.standing || self.is_registered()) && !self.foreign.load(Ordering::Acquire)
    }

    /// Whether another queue may have its position.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Jobs wait here: look for them in the next turn.
    pub fn hint(&self) {
        self.hinted.store(true, Ordering::Release);
    }

    /// Whether jobs wait here according to a message since the last call.
    pub fn take_hint(&self) -> bool {
        self.hinted.load(Ordering::Relaxed) && self.hinted.swap(false, Ordering::AcqRel)
    }

    /// Fetch nothing for that many ms here and where the same rate limit counts.
    pub fn limit_for(&self, ms: i64) {
        self.limit.limit_for(ms);
    }

    /// How long nothing may be fetched here.
    #[must_use]
    pub fn limited_for(&self) -> Option<Duration> {
        self.limit.left()
    }

    /// Whether nothing may be fetched here now.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.holds.load(Ordering::SeqCst) > 0 || self.limited_for().is_some()
    }

    /// Let no job start that was fetched up to now.
    pub fn withdraw(&self) {
        *self.withdrawn_at.lock() = Some(Instant::now());
    }

    /// Whether jobs of a fetch that was decided at that moment must not start any more.
    #[must_use]
    pub fn has_withdrawn(&self, decided: Instant) -> bool {
        self.withdrawn_at.lock().is_some_and(|withdrawn_at| decided <= withdrawn_at)
    }
}
