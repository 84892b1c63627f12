//! The queue of fetched jobs, from which threads or an event loop take jobs for their handlers.

mod claims;
mod handler_time;
mod ramp;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use self::handler_time::HandlerTime;
use super::held::HeldJob;
use super::lanes::Lane;
use crate::clock::now_ms;
use crate::mutex::{Condvar, Mutex};
use crate::spin_wait::SpinWait;
use crate::wakeup::Wakeup;

/// If handlers are slower than this, each job wakes a thread at once.
const SLOW: Duration = Duration::from_millis(1);

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<HeldJob>>,
    /// Sleeping takers. The one that worked last is on top: its caches are warm.
    sleeping: Vec<Arc<Condvar>>,
    /// Jobs that were claimed ahead and have started since the last `take_started`.
    started: Vec<Arc<HeldJob>>,
    /// Jobs of fetches that were decided before this moment must not start any more.
    withdrawn_at: Option<Instant>,
    closed: bool,
}

impl State {
    /// Choose up to that many takers to wake.
    fn choose(&mut self, count: usize) -> ToWake {
        ToWake(self.sleeping.split_off(self.sleeping.len().saturating_sub(count)))
    }
}

/// Takers to wake once the state is unlocked: before that they would only wait for the lock.
#[must_use]
struct ToWake(Vec<Arc<Condvar>>);

impl ToWake {
    fn wake(self) {
        self.0.iter().for_each(|taker| taker.notify_one());
    }
}

/// What a taker got.
pub enum Taken {
    Jobs(Vec<Arc<HeldJob>>),
    Nothing,
    Closed,
}

impl Taken {
    pub fn filtered(self, filter: impl FnOnce(Vec<Arc<HeldJob>>) -> Vec<Arc<HeldJob>>) -> Self {
        match self {
            Self::Jobs(jobs) => Self::Jobs(filter(jobs)),
            other => other,
        }
    }
}

/// The queue between the engine and the handlers.
///
/// If it woke as many threads as there are jobs, they would fight for the GIL. So a push of quick jobs wakes one
/// thread, and `ramp` wakes more only while the awake ones do not keep up.
pub struct ReadyQueue {
    state: Mutex<State>,
    pushed: Notify,
    /// Counts what takers wait for: pushes, and the close.
    changes: AtomicU64,
    spin_wait: SpinWait,
    taken: AtomicU64,
    pub handler_time: HandlerTime,
    wakeup: OnceLock<Wakeup>,
}

impl Default for ReadyQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl ReadyQueue {
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            pushed: Notify::new(),
            changes: AtomicU64::new(0),
            spin_wait: SpinWait::default(),
            taken: AtomicU64::new(0),
            handler_time: HandlerTime::default(),
            wakeup: OnceLock::new(),
        }
    }

    /// The descriptor for event loops, made at first use.
    ///
    /// # Errors
    /// No descriptor could be made.
    pub fn wakeup(&self) -> std::io::Result<&Wakeup> {
        if self.wakeup.get().is_none() {
            let _ = self.wakeup.set(Wakeup::new()?);
            if self.is_readable() {
                self.wakeup.get().expect("set above").wake();
            }
        }
        Ok(self.wakeup.get().expect("set above"))
    }

    fn is_readable(&self) -> bool {
        let state = self.state.lock();
        state.closed || !state.jobs.is_empty()
    }

    /// Add jobs of one fetch. False, and nothing is added, if the queue is closed, since the takers may be gone, or if
    /// jobs of this fetch must not start any more.
    #[must_use]
    pub fn push(&self, jobs: &[Arc<HeldJob>]) -> bool {
        let Some(first) = jobs.first() else { return true };
        let mut state = self.state.lock();
        let withdrawn = state.withdrawn_at.is_some_and(|withdrawn_at| first.decided <= withdrawn_at);
        if state.closed || withdrawn || first.lane.has_withdrawn(first.decided) {
            return false;
        }
        let added = jobs.len();
        state.jobs.extend(jobs.iter().cloned());
        let wake = if self.handler_time.get() >= SLOW { added } else { 1 };
        let to_wake = state.choose(wake - usize::from(self.spin_wait.is_spinning()));
        self.changes.fetch_add(1, Ordering::Release);
        drop(state);
        to_wake.wake();
        if let Some(wakeup) = self.wakeup.get() {
            wakeup.wake();
        } else {
            self.pushed.notify_one();
        }
        true
    }

    /// Take up to `max` jobs that are there now; never blocks.
    pub fn try_take(&self, max: usize) -> Taken {
        Self::pop(&mut self.state.lock(), max, &self.taken)
    }

    /// Take up to `max` jobs, waiting for the first one at most `wait`.
    pub fn take(&self, max: usize, wait: Duration) -> Taken {
        let began = Instant::now();
        let deadline = began + wait;
        let known = self.changes.load(Ordering::Acquire);
        let mut state = self.state.lock();
        match Self::pop(&mut state, max, &self.taken) {
            Taken::Nothing => {}
            found => return found,
        }
        // If other takers sleep, the handlers are quick and there is nothing to gain: leave the processor to others.
        let all_work = state.sleeping.is_empty();
        drop(state);
        if all_work {
            self.spin_wait.spin(began, || self.changes.load(Ordering::Acquire) != known);
        }
        let found = self.sleep(max, deadline);
        self.spin_wait.end(began);
        found
    }

    fn sleep(&self, max: usize, deadline: Instant) -> Taken {
        let awake = Arc::new(Condvar::new());
        let mut state = self.state.lock();
        loop {
            match Self::pop(&mut state, max, &self.taken) {
                Taken::Nothing => {}
                found => return found,
            }
            state.sleeping.push(awake.clone());
            let (woken, timed_out) = awake.wait(state, deadline.saturating_duration_since(Instant::now()));
            state = woken;
            // A taker that woke without being chosen must not be in the list twice: it would take the wake-up of
            // another.
            state.sleeping.retain(|taker| !Arc::ptr_eq(taker, &awake));
            if timed_out {
                return Self::pop(&mut state, max, &self.taken);
            }
        }
    }

    fn pop(state: &mut State, max: usize, taken: &AtomicU64) -> Taken {
        let count = max.min(state.jobs.len());
        if count == 0 {
            return if state.closed { Taken::Closed } else { Taken::Nothing };
        }
        taken.fetch_add(count as u64, Ordering::Relaxed);
        let (now, ms) = (Instant::now(), now_ms());
        let jobs: Vec<_> = state.jobs.drain(..count).collect();
        for job in &jobs {
            job.mark_started(now, ms);
            if job.is_ahead() {
                state.started.push(job.clone());
            }
        }
        Taken::Jobs(jobs)
    }

    /// How many jobs were taken so far.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Remove all jobs that no handler has started. Jobs of fetches that were decided up to now will not start either.
    pub fn withdraw_all(&self) -> Vec<Arc<HeldJob>> {
        let mut state = self.state.lock();
        state.withdrawn_at = Some(Instant::now());
        std::mem::take(&mut state.jobs).into()
    }

    /// Remove the jobs of one queue that no handler has started. Jobs of fetches that were decided up to now will not
    /// start either.
    pub fn withdraw_from(&self, lane: &Arc<Lane>) -> Vec<Arc<HeldJob>> {
        let mut state = self.state.lock();
        lane.withdraw();
        let (withdrawn, others): (VecDeque<_>, _) =
            std::mem::take(&mut state.jobs).into_iter().partition(|job| Arc::ptr_eq(&job.lane, lane));
        state.jobs = others;
        withdrawn.into()
    }

    /// No more jobs will come: takers get the remaining ones, then `Closed`.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let to_wake = state.choose(usize::MAX);
        self.changes.fetch_add(1, Ordering::Release);
        drop(state);
        to_wake.wake();
        self.pushed.notify_one();
        if let Some(wakeup) = self.wakeup.get() {
            wakeup.wake();
        }
    }
}
