//! Renews the locks of all held jobs, in one call per tick.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::connection::Link;
use crate::error::Error;
use crate::lock::Mutex;
use crate::protocol::Keys;
use crate::scripts;
use crate::spell::Spell;

/// Locks per `extend_locks` call.
const CHUNK: usize = 1000;

/// What is known of a lock, for the extender and for whoever works under it.
pub struct Lease {
    /// When the lock was last known to be set; monotonic.
    renewed: Mutex<Instant>,
    lost: AtomicBool,
    cancelled: OnceLock<String>,
}

impl Lease {
    /// `taken`: the moment before the fetch was sent, so that the lock is never thought younger than it is.
    pub fn new(taken: Instant) -> Self {
        Self { renewed: Mutex::new(taken), lost: AtomicBool::new(false), cancelled: OnceLock::new() }
    }

    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.renewed.lock())
    }

    /// Whether the lock is proven lost, or its holder was told to stop.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Tell whoever works under it to stop; its outcome still counts. True for the first caller.
    pub fn cancel(&self, reason: &str) -> bool {
        self.cancelled.set(reason.to_owned()).is_ok()
    }

    /// Why the job was cancelled, if it was.
    pub fn cancel_reason(&self) -> Option<&str> {
        self.cancelled.get().map(String::as_str)
    }

    /// True if it was not known to be lost before.
    fn lose(&self) -> bool {
        !self.lost.swap(true, Ordering::AcqRel)
    }
}

struct HeldLock {
    token: Arc<str>,
    lease: Arc<Lease>,
}

/// The locks that a worker holds.
#[derive(Default)]
pub struct HeldLocks(Mutex<HashMap<Arc<str>, HeldLock>>);

impl HeldLocks {
    pub fn insert(&self, locks: impl IntoIterator<Item = (Arc<str>, Arc<str>, Arc<Lease>)>) {
        let mut held = self.0.lock();
        held.extend(locks.into_iter().map(|(id, token, lease)| (id, HeldLock { token, lease })));
    }

    /// Forget locks, by id and token; one that was taken again meanwhile, under another token, stays.
    pub fn remove<'a>(&self, locks: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let mut held = self.0.lock();
        for (id, token) in locks {
            Self::take(&mut held, id, token);
        }
    }

    fn take(held: &mut HashMap<Arc<str>, HeldLock>, id: &str, token: &str) -> Option<HeldLock> {
        let (id, lock) = held.remove_entry(id)?;
        if &*lock.token == token {
            return Some(lock);
        }
        held.insert(id, lock);
        None
    }

    /// Cancel a job, if it is held (under this token) and was not cancelled before. Returns its token.
    pub fn cancel(&self, id: &str, token: Option<&str>, reason: &str) -> Option<Arc<str>> {
        let locks = self.0.lock();
        let lock = locks.get(id).filter(|lock| token.is_none_or(|token| *lock.token == *token))?;
        lock.lease.cancel(reason).then(|| lock.token.clone())
    }

    /// The ids of all held jobs.
    pub fn ids(&self) -> Vec<String> {
        self.0.lock().keys().map(|id| (**id).to_owned()).collect()
    }

    /// Tell every holder to stop: its time is over.
    pub fn cancel_all(&self) {
        for lock in self.0.lock().values() {
            lock.lease.lose();
        }
    }

    /// The ids of the jobs that one token holds.
    pub fn held_under(&self, token: &str) -> Vec<Arc<str>> {
        self.0.lock().iter().filter(|(_, lock)| &*lock.token == token).map(|(id, _)| id.clone()).collect()
    }

    pub fn older_than(&self, age: Duration) -> Vec<(Arc<str>, Arc<str>)> {
        let (locks, now) = (self.0.lock(), Instant::now());
        let due = locks.iter().filter(|(_, lock)| lock.lease.age(now) >= age);
        due.map(|(id, lock)| (id.clone(), lock.token.clone())).collect()
    }

    /// Note what a renewal said that was sent `at` some moment; the locks that were refused are lost.
    ///
    /// Returns the ids of those that this worker still thought to hold.
    pub fn renewed<'a>(&self, locks: &'a [(Arc<str>, Arc<str>)], refused: &[String], at: Instant) -> Vec<&'a str> {
        let mut held = self.0.lock();
        let mut lost = Vec::new();
        for (id, token) in locks {
            if refused.iter().any(|refused| **refused == **id) {
                lost.extend(Self::take(&mut held, id, token).filter(|lock| lock.lease.lose()).map(|_| &**id));
            } else if let Some(lock) = held.get(id).filter(|lock| lock.token == *token) {
                *lock.lease.renewed.lock() = at;
            }
        }
        lost
    }

    /// Mark a lock lost; true if this worker still thought to hold it.
    pub fn lose(&self, id: &str, token: &str) -> bool {
        Self::take(&mut self.0.lock(), id, token).is_some_and(|lock| lock.lease.lose())
    }
}

/// Renews every held lock that is older than half the renew time.
pub struct LockExtender {
    pub link: Link,
    pub keys: Keys,
    pub locks: Arc<HeldLocks>,
    pub lock_duration: Duration,
    pub renew_time: Duration,
}

impl LockExtender {
    /// Run until dropped. `lost` hears the id of every lock that is proven lost, `failed` what went wrong otherwise.
    pub async fn run(self, mut lost: impl FnMut(&str), mut failed: impl FnMut(String)) {
        let period = (self.renew_time / 2).max(Duration::from_millis(1));
        let mut ticks = tokio::time::interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let spell = Spell::default();
        loop {
            ticks.tick().await;
            for chunk in self.locks.older_than(period).chunks(CHUNK) {
                let sent = Instant::now();
                // A renewal that hangs must not eat the next period.
                let locks = chunk.iter().map(|(id, token)| (&**id, &**token));
                let duration = i64::try_from(self.lock_duration.as_millis()).unwrap_or(i64::MAX);
                let renewal = scripts::lock::extend_locks(&self.link, &self.keys, duration, locks);
                let late = |_| Err(Error::ConnectionLost("no answer within half the renew time".to_owned()));
                match tokio::time::timeout(period, renewal).await.unwrap_or_else(late) {
                    Ok(refused) => {
                        spell.ends();
                        self.locks.renewed(chunk, &refused, sent).into_iter().for_each(&mut lost);
                    }
                    // The locks stay due and are tried again at the next tick.
                    Err(error) if spell.begins(&error) => failed(format!("could not renew locks: {error}")),
                    Err(_) => {}
                }
            }
            for (id, token) in self.locks.older_than(self.lock_duration) {
                if self.locks.lose(&id, &token) {
                    lost(&id);
                }
            }
        }
    }
}
