//! What the engine and the threads that run handlers both touch.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::{watch, Notify};

use super::backlog::Backlog;
use super::deadlines::Deadlines;
use super::event::Event;
use super::handout::{Handout, Taken};
use super::held::HeldJob;
use super::options::WorkerOptions;
use super::outcome::{Failure, Outcome};
use super::witness::{Witness, Witnesses};
use crate::clock::now_ms;
use crate::error::{Error, Result};
use crate::lock::Mutex;
use crate::timers::lock_extender::HeldLocks;

#[derive(Default)]
pub struct Stats {
    pub completed: AtomicU64,
    pub failed: AtomicU64,
    pub retried: AtomicU64,
    pub fetched: AtomicU64,
    /// Fetch and finish calls: jobs per call tell how well batches form.
    pub calls: AtomicU64,
    pub stalled_skipped: Arc<AtomicU64>,
    pub schedulers_repaired: Arc<AtomicU64>,
    pub in_hand: AtomicUsize,
    /// Jobs on their way back because their handlers have limited the queue.
    pub limiting: AtomicUsize,
    /// Handlers that still run though their job has timed out.
    pub overdue: AtomicUsize,
}

/// How a worker was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    No,
    /// Wait for running handlers, at most until the instant.
    Gracefully {
        deadline: Option<Instant>,
    },
    /// Leave running jobs to the stalled check of another worker.
    Now,
}

pub struct Shared {
    pub options: WorkerOptions,
    pub handout: Handout,
    pub locks: Arc<HeldLocks>,
    pub deadlines: Deadlines,
    pub stats: Stats,
    pub concurrency: AtomicUsize,
    pub paused: AtomicBool,
    /// Nothing is fetched before (ms since the epoch).
    pub limited_until: AtomicI64,
    /// Queue an event for every completed and failed job.
    pub report_outcomes: AtomicBool,
    /// So many outcomes are worth a finish call of their own while another one is on its way.
    pub many_outcomes: AtomicUsize,
    /// What listeners have not heard yet.
    pub backlog: Backlog,
    /// Rings when there is an outcome to settle or a setting has changed.
    pub bell: Notify,
    pub witnesses: Witnesses,
    outcomes: Mutex<Vec<Outcome>>,
    /// Jobs on their way back to the queue: all together, in their order.
    returning: Mutex<Vec<Outcome>>,
    closing: watch::Sender<Closing>,
    ended: watch::Sender<bool>,
    refusal: OnceLock<Error>,
}

impl Shared {
    pub fn new(options: WorkerOptions) -> Self {
        Self {
            handout: Handout::new(),
            locks: Arc::default(),
            deadlines: Deadlines::new(options.timeout),
            stats: Stats::default(),
            concurrency: AtomicUsize::new(options.concurrency),
            paused: AtomicBool::new(false),
            limited_until: AtomicI64::new(0),
            report_outcomes: AtomicBool::new(false),
            many_outcomes: AtomicUsize::new(100),
            bell: Notify::new(),
            witnesses: Witnesses::default(),
            outcomes: Mutex::default(),
            returning: Mutex::default(),
            backlog: Backlog::default(),
            closing: watch::Sender::new(Closing::No),
            ended: watch::Sender::new(false),
            refusal: OnceLock::new(),
            options,
        }
    }

    /// Pass jobs of one fetch to the handlers, or back to the queue when they must not start here.
    pub fn hand_out(&self, jobs: Vec<Arc<HeldJob>>) {
        if !self.handout.push(&jobs) {
            self.give_back(jobs);
        }
    }

    /// Return jobs that no handler has started to where they were.
    pub fn give_back(&self, jobs: Vec<Arc<HeldJob>>) {
        let unsettled = jobs.into_iter().filter(|job| job.settle());
        self.returning.lock().extend(unsettled.map(|job| Outcome::GivenBack { job }));
        self.bell.notify_one();
    }

    /// Whether jobs wait to be given back.
    pub fn is_returning(&self) -> bool {
        !self.returning.lock().is_empty()
    }

    /// Take the jobs to give back: the one that was claimed last first, so that each stands in front of those behind it.
    pub fn take_returning(&self) -> Vec<Outcome> {
        let mut returning = std::mem::take(&mut *self.returning.lock());
        returning.sort_by_key(|outcome| std::cmp::Reverse(outcome.job().sequence));
        returning
    }

    /// Let nothing start any more that was fetched up to now.
    pub fn hold(&self) {
        self.give_back(self.handout.hold());
    }

    /// A handler has limited the queue: nothing is fetched until Redis has said for how long, and nothing starts that was.
    pub fn rate_limited(&self, job: Arc<HeldJob>) {
        if !job.settle() {
            return self.has_returned(&job);
        }
        job.limiting.store(true, Ordering::Release);
        self.stats.limiting.fetch_add(1, Ordering::Relaxed);
        self.hold();
        self.returning.lock().push(Outcome::Returned { job });
        self.bell.notify_one();
    }

    /// Fetch nothing for so many ms, and let nothing start that was fetched up to now.
    pub fn limit(&self, ms: i64) {
        self.limited_until.fetch_max(now_ms().saturating_add(ms), Ordering::Relaxed);
        self.hold();
        self.bell.notify_one();
    }

    /// Take up to `max` jobs that are there now.
    pub fn try_take(&self, max: usize) -> Taken {
        loop {
            match self.handout.try_take(max).filtered(|jobs| self.still_ours(jobs)) {
                Taken::Jobs(jobs) if jobs.is_empty() => {}
                taken => return taken,
            }
        }
    }

    /// Take up to `max` jobs, waiting for the first one at most `wait`.
    pub fn take(&self, max: usize, wait: Duration) -> Taken {
        match self.handout.take(max, wait).filtered(|jobs| self.still_ours(jobs)) {
            Taken::Jobs(jobs) if jobs.is_empty() => Taken::Nothing,
            taken => taken,
        }
    }

    /// Sort out jobs whose lock has run out, as it does in a process that was suspended: another worker may have them. And
    /// those that were cancelled while they waited here.
    fn still_ours(&self, jobs: Vec<Arc<HeldJob>>) -> Vec<Arc<HeldJob>> {
        let now = Instant::now();
        let is_ours = |job: &Arc<HeldJob>| !job.lease.is_lost() && job.lease.age(now) < self.options.lock_duration;
        let (ours, lost): (Vec<_>, Vec<_>) = jobs.into_iter().partition(is_ours);
        if !lost.is_empty() {
            self.give_back(lost);
        }
        let (cancelled, ours): (Vec<_>, Vec<_>) = ours.into_iter().partition(|job| job.lease.cancel_reason().is_some());
        for job in cancelled {
            let reason = job.lease.cancel_reason().unwrap_or_default().to_owned();
            self.fail(job, "JobCancelledError", reason);
        }
        self.deadlines.note(&ours, now);
        ours
    }

    /// Tell whoever runs a job to stop; its outcome still counts. False: it is not in hand (under this token).
    pub fn cancel(&self, id: &str, token: Option<&str>, reason: &str) -> bool {
        let cancelled = self.locks.cancel(id, token, reason);
        if let Some(token) = cancelled.clone() {
            self.emit(Event::Cancelled { id: id.to_owned(), token });
        }
        cancelled.is_some()
    }

    /// Fail a job whose handler has taken too long, and tell the handler. Its slot is free again when it returns.
    pub fn time_out(&self, job: &Arc<HeldJob>, reason: String) {
        self.stats.overdue.fetch_add(1, Ordering::Relaxed);
        job.overdue.store(true, Ordering::Release);
        if !job.settle() {
            return self.has_returned(job);
        }
        job.lease.cancel(&reason);
        self.emit(Event::Cancelled { id: job.id().to_owned(), token: job.token.clone() });
        self.witness(job, || Witness::of_core("TimeoutError"));
        let stack = format!("TimeoutError: {reason}");
        let failure = Failure { reason, stack, retry: true, delay: None };
        self.resubmit(Outcome::Failed { job: job.clone(), failure });
    }

    fn has_returned(&self, job: &HeldJob) {
        if job.overdue.swap(false, Ordering::AcqRel) {
            self.stats.overdue.fetch_sub(1, Ordering::Relaxed);
            self.bell.notify_one();
        }
    }

    /// Fail a job that no handler will get, with an error of this class.
    pub fn fail(&self, job: Arc<HeldJob>, class: &'static str, reason: String) {
        let failure = Failure::unrecoverable(reason);
        self.submit_seen(Outcome::Failed { job, failure }, || Witness::of_core(class));
    }

    /// Hand in what became of a job; only the first outcome of a job counts.
    pub fn submit(&self, outcome: Outcome) {
        self.submit_seen(outcome, Witness::default);
    }

    /// Hand in what became of a job, and what listeners are to know beyond that.
    pub fn submit_seen(&self, outcome: Outcome, witness: impl FnOnce() -> Witness) {
        let job = outcome.job();
        if !job.settle() {
            return self.has_returned(job);
        }
        self.witness(job, witness);
        if let Some(time) = job.handler_time() {
            self.handout.observe(time);
        }
        self.resubmit(outcome);
    }

    fn witness(&self, job: &Arc<HeldJob>, witness: impl FnOnce() -> Witness) {
        if self.report_outcomes.load(Ordering::Relaxed) {
            self.witnesses.note(job, witness());
        }
    }

    /// Tell of an outcome, if someone wants to know.
    pub fn report(&self, job: Arc<HeldJob>, event: impl FnOnce(Arc<HeldJob>, Witness) -> Event) {
        let witness = self.witnesses.take(&job);
        if self.report_outcomes.load(Ordering::Relaxed) {
            self.emit(event(job, witness));
        }
    }

    /// Queue an outcome that replaces one which Redis refused.
    pub fn resubmit(&self, outcome: Outcome) {
        let mut outcomes = self.outcomes.lock();
        outcomes.push(outcome);
        let waiting = outcomes.len();
        drop(outcomes);
        if waiting == 1 || waiting == self.many_outcomes.load(Ordering::Relaxed) {
            self.bell.notify_one();
        }
    }

    /// Take the first outcomes, of so many bytes in all, or none if there are too few. The rest does not ring again.
    pub fn take_outcomes(&self, at_least: usize, at_most: usize, bytes: usize) -> Vec<Outcome> {
        let mut outcomes = self.outcomes.lock();
        if outcomes.len() < at_least {
            return Vec::new();
        }
        let mut room = bytes;
        let fits = |outcome: &&Outcome| {
            let fitting = outcome.size() <= room;
            room = room.saturating_sub(outcome.size());
            fitting
        };
        // A larger one goes alone.
        let count = outcomes.iter().take(at_most).take_while(fits).count().max(1).min(outcomes.len());
        let rest = outcomes.split_off(count);
        std::mem::replace(&mut *outcomes, rest)
    }

    pub fn outcomes_waiting(&self) -> usize {
        self.outcomes.lock().len()
    }

    pub fn emit(&self, event: Event) {
        self.backlog.push(event);
    }

    pub fn error(&self, text: String) {
        self.emit(Event::Error { text });
    }

    pub fn next_event(&self, wait: Duration) -> Option<Event> {
        let (event, has_room) = self.backlog.pop(wait);
        if has_room {
            self.bell.notify_one();
        }
        event
    }

    /// Whether no more jobs may be taken for now: the worker is paused, or its listeners are far behind.
    pub fn is_held_up(&self) -> bool {
        self.paused.load(Ordering::Relaxed) || self.backlog.is_long()
    }

    /// Ask the engine to end; a harder request overrides a softer one.
    pub fn close(&self, closing: Closing) {
        self.closing.send_if_modified(|current| {
            let harder = *current != Closing::Now && *current != closing;
            if harder {
                *current = closing;
            }
            harder
        });
        self.hold();
        self.bell.notify_one();
    }

    pub fn closing(&self) -> Closing {
        *self.closing.borrow()
    }

    pub fn watch_closing(&self) -> watch::Receiver<Closing> {
        self.closing.subscribe()
    }

    /// Wait until the engine must end at once: by force, or because the time for an orderly end is over.
    pub async fn end_demanded(&self) {
        let mut closing = self.closing.subscribe();
        loop {
            let deadline = match *closing.borrow_and_update() {
                Closing::Now => return,
                Closing::Gracefully { deadline } => deadline,
                Closing::No => None,
            };
            let over = async {
                match deadline {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => return,
                _ = closing.changed() => {}
            }
        }
    }

    /// The engine has ended: nothing of it runs any more.
    pub fn end(&self) {
        self.handout.close();
        self.witnesses.clear();
        self.emit(Event::Closed);
        self.ended.send_replace(true);
    }

    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// The queue or the server cannot be worked with; the run ends with this error.
    pub fn refuse(&self, error: Error) {
        let _ = self.refusal.set(error);
    }

    /// Wait for the end.
    ///
    /// # Errors
    /// Why the worker could not work at all.
    pub async fn ended(&self) -> Result<()> {
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
        self.refusal.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}
