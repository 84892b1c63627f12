//! The locks that a worker holds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::mutex::Mutex;

/// How a worker learned that a lock is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// From the program that took the job away.
    Message,
    /// Redis refused to renew it.
    Renewal,
    /// It could not be renewed in time.
    Expired,
    /// Redis refused the outcome of the job.
    Finish,
}

impl Loss {
    pub const ALL: [Loss; 4] = [Loss::Message, Loss::Renewal, Loss::Expired, Loss::Finish];

    /// Its name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Loss::Message => "message",
            Loss::Renewal => "renewal",
            Loss::Expired => "expired",
            Loss::Finish => "finish",
        }
    }
}

/// What is known of the lock of one job. The extender and the handler of the job share it.
pub struct Lease {
    /// When the lock was last known to be set; monotonic.
    renewed: Mutex<Instant>,
    lost: AtomicBool,
    cancelled: OnceLock<String>,
    settled: AtomicBool,
}

impl Lease {
    /// `taken`: the moment before the fetch was sent, so that the lock is never assumed to be younger than it is.
    pub fn new(taken: Instant) -> Self {
        Self {
            renewed: Mutex::new(taken),
            lost: AtomicBool::new(false),
            cancelled: OnceLock::new(),
            settled: AtomicBool::new(false),
        }
    }

    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.renewed.lock())
    }

    /// Whether the lock is lost, or the worker ended without waiting for the handler.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Tell the handler to stop; its outcome still counts. True for the first caller.
    pub fn cancel(&self, reason: &str) -> bool {
        self.cancelled.set(reason.to_owned()).is_ok()
    }

    /// Why the job was cancelled, if it was.
    pub fn cancel_reason(&self) -> Option<&str> {
        self.cancelled.get().map(String::as_str)
    }

    /// Whether the job has an outcome, which may be on its way: then its lock may be gone because Redis has it.
    pub fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    /// The job has an outcome. True for the first caller.
    pub fn settle(&self) -> bool {
        !self.settled.swap(true, Ordering::AcqRel)
    }

    /// Mark the lock as lost. True if it was not marked before.
    fn lose(&self) -> bool {
        !self.lost.swap(true, Ordering::AcqRel)
    }
}

struct HeldLock {
    token: Arc<str>,
    lease: Arc<Lease>,
}

/// The locks that a worker holds, by job id.
#[derive(Default)]
pub struct HeldLocks {
    locks: Mutex<HashMap<Arc<str>, HeldLock>>,
    expiring: AtomicBool,
}

impl HeldLocks {
    pub fn insert(&self, locks: impl IntoIterator<Item = (Arc<str>, Arc<str>, Arc<Lease>)>) {
        let mut held = self.locks.lock();
        held.extend(locks.into_iter().map(|(id, token, lease)| (id, HeldLock { token, lease })));
    }

    /// Forget locks, by id and token. A job that was fetched again meanwhile, under another token, keeps its lock.
    pub fn remove<'a>(&self, locks: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let mut held = self.locks.lock();
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
        let locks = self.locks.lock();
        let lock = locks.get(id).filter(|lock| token.is_none_or(|token| *lock.token == *token))?;
        lock.lease.cancel(reason).then(|| lock.token.clone())
    }

    /// Id and token of a job, if it is held.
    pub fn get(&self, id: &str) -> Option<(Arc<str>, Arc<str>)> {
        let locks = self.locks.lock();
        locks.get_key_value(id).map(|(id, lock)| (id.clone(), lock.token.clone()))
    }

    pub fn len(&self) -> usize {
        self.locks.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.locks.lock().is_empty()
    }

    /// The ids of all held jobs.
    pub fn ids(&self) -> Vec<String> {
        self.locks.lock().keys().map(|id| (**id).to_owned()).collect()
    }

    /// Mark all locks as lost, so that every handler stops: the worker ends.
    pub fn lose_all(&self) {
        for lock in self.locks.lock().values() {
            lock.lease.lose();
        }
    }

    /// The ids of the jobs that are held under this token.
    pub fn held_under(&self, token: &str) -> Vec<Arc<str>> {
        self.locks.lock().iter().filter(|(_, lock)| &*lock.token == token).map(|(id, _)| id.clone()).collect()
    }

    /// Renew no lock any more: the worker ends, and Redis takes no outcome of these jobs.
    pub fn let_expire(&self) {
        self.expiring.store(true, Ordering::Release);
    }

    /// The (id, token) of the locks to renew: those that were not renewed for this long.
    pub fn to_renew(&self, age: Duration) -> Vec<(Arc<str>, Arc<str>)> {
        if self.expiring.load(Ordering::Acquire) {
            return Vec::new();
        }
        self.older_than(age)
    }

    /// The (id, token) of the locks that were not renewed for this long.
    pub fn older_than(&self, age: Duration) -> Vec<(Arc<str>, Arc<str>)> {
        let (locks, now) = (self.locks.lock(), Instant::now());
        let due = locks.iter().filter(|(_, lock)| lock.lease.age(now) >= age);
        due.map(|(id, lock)| (id.clone(), lock.token.clone())).collect()
    }

    /// Whether no lock was renewed for this long.
    pub fn are_older_than(&self, age: Duration) -> bool {
        let now = Instant::now();
        self.locks.lock().values().all(|lock| lock.lease.age(now) >= age)
    }

    /// Note the result of a renewal that was sent `at` that moment; the locks that were refused are lost.
    ///
    /// Returns the (id, token) of the lost locks that were not known to be lost.
    pub fn renewed<'a>(
        &self,
        locks: &'a [(Arc<str>, Arc<str>)],
        refused: &[String],
        at: Instant,
    ) -> Vec<&'a (Arc<str>, Arc<str>)> {
        let mut held = self.locks.lock();
        let mut lost = Vec::new();
        for held_lock in locks {
            let (id, token) = held_lock;
            if refused.iter().any(|refused| **refused == **id) {
                lost.extend(Self::take(&mut held, id, token).filter(|lock| lock.lease.lose()).map(|_| held_lock));
            } else if let Some(lock) = held.get(id).filter(|lock| lock.token == *token) {
                *lock.lease.renewed.lock() = at;
            }
        }
        lost
    }

    /// Forget a lock and mark it as lost. True if it was not known to be lost.
    pub fn lose(&self, id: &str, token: &str) -> bool {
        Self::take(&mut self.locks.lock(), id, token).is_some_and(|lock| lock.lease.lose())
    }

    /// As [`HeldLocks::lose`], for a lock that is not there any more. Nothing is done for a job with an outcome: its
    /// lock may be gone since Redis has the outcome, and the reply tells it.
    pub fn lose_unsettled(&self, id: &str, token: &str) -> bool {
        let mut held = self.locks.lock();
        if held.get(id).is_some_and(|lock| lock.lease.is_settled()) {
            return false;
        }
        Self::take(&mut held, id, token).is_some_and(|lock| lock.lease.lose())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_gone_is_lost_unless_the_job_has_an_outcome() {
        let locks = HeldLocks::default();
        let leases = ["running", "settled"].map(|id| {
            let lease = Arc::new(Lease::new(Instant::now()));
            locks.insert([(id.into(), "token".into(), lease.clone())]);
            lease
        });
        assert!(leases[1].settle() && !leases[1].settle());
        assert!(!locks.lose_unsettled("running", "another token"));
        assert_eq!(["running", "settled"].map(|id| locks.lose_unsettled(id, "token")), [true, false]);
        assert_eq!(leases.map(|lease| lease.is_lost()), [true, false]);
        assert_eq!(locks.ids(), ["settled"]);
    }
}
