//! Hands fetched jobs to the threads or the event loop that run handlers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::held::HeldJob;
use crate::clock::now_ms;
use crate::lock::{Condvar, Mutex};
use crate::vigil::Vigil;
use crate::wakeup::Wakeup;

/// A handler slower than this gets a thread of its own at once.
const SLOW: Duration = Duration::from_millis(1);
/// How often the ramp looks whether the awake threads keep up.
const RAMP_TICK: Duration = Duration::from_millis(1);
/// Jobs per tick that show the awake threads to be quick enough.
const KEEPS_UP: u64 = 20;
/// Handlers quicker than this get more threads only when nothing at all moves for some ticks: a thread that was
/// merely preempted needs no help, and every further thread costs switches of the GIL.
const QUICK: Duration = Duration::from_micros(100);
const PATIENT_TICKS: u32 = 6;

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<HeldJob>>,
    /// Sleeping takers, the one that worked last on top: its caches are warm.
    idle: Vec<Arc<Condvar>>,
    /// Jobs that were claimed ahead and have started since the last `begun`.
    begun: Vec<Arc<HeldJob>>,
    /// What was fetched before this moment must not start any more.
    held_at: Option<Instant>,
    closed: bool,
}

impl State {
    /// Choose up to so many takers to be woken.
    fn call(&mut self, count: usize) -> Called {
        Called(self.idle.split_off(self.idle.len().saturating_sub(count)))
    }
}

/// Takers to wake once the state is unlocked: woken sooner, they would only go to sleep again, for the lock.
#[must_use]
struct Called(Vec<Arc<Condvar>>);

impl Called {
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
/// Waking as many threads as there are jobs would make them fight for the GIL, so a push of quick jobs wakes one
/// thread, and `ramp` adds threads only while the awake ones do not keep up.
pub struct Handout {
    state: Mutex<State>,
    pushed: Notify,
    /// Counts what takers wait for: a push, the end.
    news: AtomicU64,
    vigil: Vigil,
    taken: AtomicU64,
    handler_nanos: AtomicU64,
    wakeup: OnceLock<Wakeup>,
}

impl Default for Handout {
    fn default() -> Self {
        Self::new()
    }
}

impl Handout {
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            pushed: Notify::new(),
            news: AtomicU64::new(0),
            vigil: Vigil::default(),
            taken: AtomicU64::new(0),
            handler_nanos: AtomicU64::new(0),
            wakeup: OnceLock::new(),
        }
    }

    /// The descriptor for event loops, made on first demand.
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

    /// Pass on jobs of one fetch. False, and nothing was pushed, when it is closed: the takers may be gone; or when jobs
    /// fetched so long ago must not start any more.
    #[must_use]
    pub fn push(&self, jobs: &[Arc<HeldJob>]) -> bool {
        let Some(first) = jobs.first() else { return true };
        let mut state = self.state.lock();
        if state.closed || state.held_at.is_some_and(|held_at| first.fetched <= held_at) {
            return false;
        }
        let added = jobs.len();
        state.jobs.extend(jobs.iter().cloned());
        let wake = if self.handler_time() >= SLOW { added } else { 1 };
        let called = state.call(wake - usize::from(self.vigil.is_kept()));
        self.news.fetch_add(1, Ordering::Release);
        drop(state);
        called.wake();
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
        let known = self.news.load(Ordering::Acquire);
        let mut state = self.state.lock();
        match Self::pop(&mut state, max, &self.taken) {
            Taken::Nothing => {}
            found => return found,
        }
        // Where others sleep, quick handlers leave little to wait for, and the processor has better things to do.
        let all_work = state.idle.is_empty();
        drop(state);
        if all_work {
            self.vigil.keep(began, || self.news.load(Ordering::Acquire) != known);
        }
        let found = self.sleep(max, deadline);
        self.vigil.end(began);
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
            state.idle.push(awake.clone());
            let (woken, timed_out) = awake.wait(state, deadline.saturating_duration_since(Instant::now()));
            state = woken;
            // Whoever wakes without a call must not stand there twice: the call for its first entry would be lost.
            state.idle.retain(|taker| !Arc::ptr_eq(taker, &awake));
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
                state.begun.push(job.clone());
            }
        }
        Taken::Jobs(jobs)
    }

    /// How many jobs were taken so far.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Whether jobs that were claimed ahead wait here, or have started and may have no outcome.
    pub fn has_claims(&self) -> bool {
        let state = self.state.lock();
        !state.begun.is_empty() || state.jobs.iter().any(|job| job.is_ahead())
    }

    /// When the first of the jobs arrived that were claimed ahead and wait here.
    pub fn oldest_claim(&self) -> Option<Instant> {
        self.state.lock().jobs.iter().find(|job| job.is_ahead()).map(|job| job.arrived)
    }

    /// Take back all jobs that no handler has started; what was fetched up to now will not start here.
    pub fn hold(&self) -> Vec<Arc<HeldJob>> {
        let mut state = self.state.lock();
        state.held_at = Some(Instant::now());
        std::mem::take(&mut state.jobs).into()
    }

    /// Take back the jobs that were claimed ahead and that no handler has started.
    pub fn withdraw_claims(&self) -> Vec<Arc<HeldJob>> {
        let mut state = self.state.lock();
        let (claims, others): (VecDeque<_>, _) =
            std::mem::take(&mut state.jobs).into_iter().partition(|job| job.is_ahead());
        state.jobs = others;
        claims.into()
    }

    /// Take the jobs that were claimed ahead and started so long ago, and have no outcome.
    pub fn begun(&self, age: Duration) -> Vec<Arc<HeldJob>> {
        let mut state = self.state.lock();
        if state.begun.is_empty() {
            return Vec::new();
        }
        let running = std::mem::take(&mut state.begun).into_iter().filter(|job| !job.is_settled());
        let (due, younger) = running.partition(|job| job.handler_time().is_some_and(|time| time >= age));
        state.begun = younger;
        due
    }

    /// No job will come any more: takers get what is left, then `Closed`.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let called = state.call(usize::MAX);
        self.news.fetch_add(1, Ordering::Release);
        drop(state);
        called.wake();
        self.pushed.notify_one();
        if let Some(wakeup) = self.wakeup.get() {
            wakeup.wake();
        }
    }

    /// Note how long one handler took, from taking the job to its outcome.
    pub fn observe(&self, handler_time: Duration) {
        let sample = u64::try_from(handler_time.as_nanos()).unwrap_or(u64::MAX).max(1);
        let old = self.handler_nanos.load(Ordering::Relaxed);
        let new = if old == 0 { sample } else { old - old / 8 + sample / 8 };
        self.handler_nanos.store(new.max(1), Ordering::Relaxed);
    }

    /// Correct an average that is too low to be true.
    pub fn expect_at_least(&self, handler_time: Duration) {
        let least = u64::try_from(handler_time.as_nanos()).unwrap_or(u64::MAX);
        self.handler_nanos.fetch_max(least, Ordering::Relaxed);
    }

    /// The moving average of `observe`; zero before the first sample.
    pub fn handler_time(&self) -> Duration {
        Duration::from_nanos(self.handler_nanos.load(Ordering::Relaxed))
    }

    /// Wake further threads, twice as many each time, while jobs wait and the awake threads do not keep up.
    pub async fn ramp(&self) {
        loop {
            self.pushed.notified().await;
            let (mut step, mut still) = (1, 0);
            loop {
                let before = self.taken();
                tokio::time::sleep(RAMP_TICK).await;
                let time = self.handler_time();
                let quick = !time.is_zero() && time < QUICK;
                let taken = self.taken() - before;
                let mut state = self.state.lock();
                if state.closed {
                    return;
                }
                if state.jobs.is_empty() || state.idle.is_empty() {
                    break;
                }
                still = if taken == 0 { still + 1 } else { 0 };
                let behind = if quick { still >= PATIENT_TICKS } else { taken < KEEPS_UP };
                if behind {
                    let wake = state.jobs.len().min(step);
                    let called = state.call(wake);
                    drop(state);
                    called.wake();
                    step *= 2;
                    still = 0;
                }
            }
        }
    }
}
