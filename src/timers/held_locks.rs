//! The locks that a worker holds.

use std::collections::{BTreeMap, HashMap};
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
    /// When the lock was last known to be set, monotonic, and for how long.
    set: Mutex<(Instant, Duration)>,
    /// For how long each renewal sets it, if not for as long as those of the worker's other jobs.
    own: Option<Duration>,
    lost: AtomicBool,
    cancelled: OnceLock<String>,
    settled: AtomicBool,
}

impl Lease {
    /// `taken`: the moment before the fetch was sent, so that the lock is never assumed to be younger than it is. The
    /// fetch has set it for `duration`, and renewals set it for `own`, if that is given.
    pub fn new(taken: Instant, duration: Duration, own: Option<Duration>) -> Self {
        Self {
            set: Mutex::new((taken, duration)),
            own: own.filter(|own| *own != duration),
            lost: AtomicBool::new(false),
            cancelled: OnceLock::new(),
            settled: AtomicBool::new(false),
        }
    }

    /// Whether the lock may have expired in Redis.
    pub fn has_expired(&self, now: Instant) -> bool {
        let (at, duration) = *self.set.lock();
        now.saturating_duration_since(at) >= duration
    }

    /// Whether to renew the lock: it is that old, or it does not last as long yet as it should.
    fn is_due(&self, now: Instant, age: Duration) -> bool {
        let (at, duration) = *self.set.lock();
        let latest = self.own.map_or(age, |own| age.min(quarter(own)));
        now.saturating_duration_since(at) >= latest || self.own.is_some_and(|own| own != duration)
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

/// The age at which a lock of this duration is renewed. A lock is looked at as often, so it is renewed before its half.
#[must_use]
pub fn quarter(duration: Duration) -> Duration {
    (duration / 4).max(Duration::from_millis(1))
}

/// Locks, by id and token.
pub type Locks = Vec<(Arc<str>, Arc<str>)>;

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

    /// The locks to renew, by the duration that they get; `None` is that of the worker. They were not renewed for this
    /// long.
    pub fn to_renew(&self, age: Duration) -> BTreeMap<Option<Duration>, Locks> {
        let mut due = BTreeMap::<_, Locks>::new();
        if self.expiring.load(Ordering::Acquire) {
            return due;
        }
        let now = Instant::now();
        for (id, lock) in self.locks.lock().iter().filter(|(_, lock)| lock.lease.is_due(now, age)) {
            due.entry(lock.lease.own).or_default().push((id.clone(), lock.token.clone()));
        }
        due
    }

    pub fn all(&self) -> Locks {
        self.locks.lock().iter().map(|(id, lock)| (id.clone(), lock.token.clone())).collect()
    }

    /// The locks that may have expired in Redis.
    pub fn expired(&self) -> Locks {
        let (locks, now) = (self.locks.lock(), Instant::now());
        let expired = locks.iter().filter(|(_, lock)| lock.lease.has_expired(now));
        expired.map(|(id, lock)| (id.clone(), lock.token.clone())).collect()
    }

    pub fn are_expired(&self) -> bool {
        let now = Instant::now();
        self.locks.lock().values().all(|lock| lock.lease.has_expired(now))
    }

    /// A renewal for this duration is about to be sent. If its reply gets lost, a lock may last no longer than this.
    pub fn renewing(&self, locks: &[(Arc<str>, Arc<str>)], at: Instant, duration: Duration) {
        let held = self.locks.lock();
        for (id, _) in locks {
            let Some(lock) = held.get(id) else { continue };
            let mut set = lock.lease.set.lock();
            set.1 = set.1.min(at.saturating_duration_since(set.0) + duration);
        }
    }

    /// Note the result of a renewal that was sent `at` that moment, for this duration; the locks that were refused are
    /// lost.
    ///
    /// Returns the (id, token) of the lost locks that were not known to be lost.
    pub fn renewed<'a>(
        &self,
        locks: &'a [(Arc<str>, Arc<str>)],
        refused: &[String],
        at: Instant,
        duration: Duration,
    ) -> Vec<&'a (Arc<str>, Arc<str>)> {
        let mut held = self.locks.lock();
        let mut lost = Vec::new();
        for held_lock in locks {
            let (id, token) = held_lock;
            if refused.iter().any(|refused| **refused == **id) {
                lost.extend(Self::take(&mut held, id, token).filter(|lock| lock.lease.lose()).map(|_| held_lock));
            } else if let Some(lock) = held.get(id).filter(|lock| lock.token == *token) {
                *lock.lease.set.lock() = (at, duration);
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
            let lease = Arc::new(Lease::new(Instant::now(), Duration::from_secs(30), None));
            locks.insert([(id.into(), "token".into(), lease.clone())]);
            lease
        });
        assert!(leases[1].settle() && !leases[1].settle());
        assert!(!locks.lose_unsettled("running", "another token"));
        assert_eq!(["running", "settled"].map(|id| locks.lose_unsettled(id, "token")), [true, false]);
        assert_eq!(leases.map(|lease| lease.is_lost()), [true, false]);
        assert_eq!(locks.ids(), ["settled"]);
    }

    #[test]
    fn a_lock_of_its_own_duration_is_renewed_at_once_and_then_before_its_quarter() {
        let (locks, taken) = (HeldLocks::default(), Instant::now());
        let seconds = Duration::from_secs;
        for (id, own) in [("plain", None), ("same", Some(30)), ("short", Some(2)), ("long", Some(300))] {
            let lease = Arc::new(Lease::new(taken, seconds(30), own.map(seconds)));
            locks.insert([(id.into(), "token".into(), lease)]);
        }
        let due = |age| -> Vec<_> {
            let due = locks.to_renew(age);
            due.into_iter().map(|(duration, locks)| (duration, locks[0].0.to_string())).collect()
        };
        let own = [(Some(seconds(2)), "short".to_owned()), (Some(seconds(300)), "long".to_owned())];
        assert_eq!(due(seconds(7)), own);
        for (duration, renewed) in locks.to_renew(seconds(7)) {
            locks.renewing(&renewed, taken, duration.unwrap());
            let lease = &locks.locks.lock()[&renewed[0].0].lease;
            let without_a_reply = [duration.unwrap().min(seconds(30)), seconds(30)];
            assert!(without_a_reply.map(|after| lease.has_expired(taken + after)) == [true; 2]);
            assert!(!lease.has_expired(taken + seconds(1)));
        }
        for (duration, renewed) in locks.to_renew(seconds(7)) {
            locks.renewed(&renewed, &[], taken, duration.unwrap());
        }
        assert_eq!(due(seconds(7)), []);
        let is_due = |id: &str, after| locks.locks.lock()[id].lease.is_due(taken + after, seconds(7));
        assert_eq!(["short", "plain", "long"].map(|id| is_due(id, Duration::from_millis(600))), [true, false, false]);
        assert_eq!(["same", "plain", "long"].map(|id| is_due(id, seconds(7))), [true; 3]);
        let has_expired = |id: &str, after| locks.locks.lock()[id].lease.has_expired(taken + after);
        assert_eq!(["short", "plain", "long"].map(|id| has_expired(id, seconds(3))), [true, false, false]);
        assert_eq!(["short", "plain", "long"].map(|id| has_expired(id, seconds(31))), [true, true, false]);
    }
}
