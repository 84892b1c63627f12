//! The outcomes of jobs: who may set them, and what listeners get to know of them.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use super::WorkerState;
use crate::worker::held::HeldJob;
use crate::worker::lanes::Lane;
use crate::worker::listeners::{Details, Event};
use crate::worker::outcome::{Failure, Outcome};

impl WorkerState {
    /// Set the outcome of a job; only the first outcome of a job counts.
    pub fn submit(&self, outcome: Outcome) {
        self.submit_with_details(outcome, Details::default);
    }

    /// Set the outcome of a job, with further details for listeners.
    pub fn submit_with_details(&self, outcome: Outcome, details: impl FnOnce() -> Details) {
        let job = outcome.job();
        if !job.settle() {
            return self.handler_returned(job);
        }
        self.note_details(job, details);
        if let Some(time) = job.handler_time() {
            self.ready_queue.handler_time.observe(time);
            self.stats.durations.observe(time);
            job.waited().inspect(|time| self.stats.waits.observe(*time));
        }
        self.resubmit(outcome);
    }

    /// Add an outcome for a job that is marked as settled: a first one, or one that replaces an outcome which Redis
    /// refused.
    pub fn resubmit(&self, outcome: Outcome) {
        if self.outcomes.push(outcome) {
            self.wake.notify_one();
        }
    }

    /// Fail a job that no handler gets, with an error of this class.
    pub fn fail(&self, job: Arc<HeldJob>, class: &'static str, reason: String) {
        let failure = Failure::unrecoverable(reason);
        self.submit_with_details(Outcome::Failed { job, failure }, || Details::from_core(class));
    }

    /// A handler has limited the queue. Until Redis has said for how long, nothing is fetched and no fetched job
    /// starts.
    pub fn rate_limited(&self, job: Arc<HeldJob>) {
        if !job.settle() {
            return self.handler_returned(&job);
        }
        job.limiting.store(true, Ordering::Release);
        self.hold(&job.lane);
        self.outcomes.return_started(job);
        self.wake.notify_one();
    }

    /// Tell the handler of a job to stop; its outcome still counts. False: the job is not in hand (under this token).
    pub fn cancel(&self, id: &str, token: Option<&str>, reason: &str) -> bool {
        self.lanes.all().iter().any(|lane| self.cancel_in(lane, id, token, reason))
    }

    /// The same for a job of one queue.
    pub fn cancel_in(&self, lane: &Lane, id: &str, token: Option<&str>, reason: &str) -> bool {
        let cancelled = lane.locks.cancel(id, token, reason);
        if let Some(token) = cancelled.clone() {
            self.emit(Event::Cancelled { id: id.to_owned(), token });
        }
        cancelled.is_some()
    }

    /// Fail a job whose handler has taken too long, and tell the handler to stop. Its slot is free when it returns.
    pub fn time_out(&self, job: &Arc<HeldJob>, reason: String) {
        self.stats.overdue.fetch_add(1, Ordering::Relaxed);
        job.overdue.store(true, Ordering::Release);
        if !job.settle() {
            return self.handler_returned(job);
        }
        job.lease.cancel(&reason);
        self.emit(Event::Cancelled { id: job.id().to_owned(), token: job.token.clone() });
        self.note_details(job, || Details::from_core("TimeoutError"));
        let stack = format!("TimeoutError: {reason}");
        let failure = Failure { reason, stack, retry: true, delay: None };
        self.resubmit(Outcome::Failed { job: job.clone(), failure });
    }

    /// The handler of a job that was settled meanwhile, as by its timeout or by the loss of its lock, is done.
    fn handler_returned(&self, job: &HeldJob) {
        let was_overdue = job.overdue.swap(false, Ordering::AcqRel);
        if was_overdue {
            self.stats.overdue.fetch_sub(1, Ordering::Relaxed);
        }
        if self.leave_batch(job) || was_overdue {
            self.wake.notify_one();
        }
    }

    fn note_details(&self, job: &Arc<HeldJob>, details: impl FnOnce() -> Details) {
        if self.report_outcomes.load(Ordering::Relaxed) || self.report_failures.load(Ordering::Relaxed) {
            self.details.note(job, details());
        }
    }

    /// Tell listeners of an accepted outcome, if there are any.
    pub fn report(&self, job: Arc<HeldJob>, event: impl FnOnce(Arc<HeldJob>, Details) -> Event) {
        let details = self.details.take(&job);
        if self.report_outcomes.load(Ordering::Relaxed) {
            self.emit(event(job, details));
        }
    }

    /// Tell the log and listeners of a failed attempt, if there are any.
    pub fn report_failure(&self, job: Arc<HeldJob>, event: impl FnOnce(Arc<HeldJob>, Details) -> Event) {
        let details = self.details.take(&job);
        if self.report_failures.load(Ordering::Relaxed) || self.report_outcomes.load(Ordering::Relaxed) {
            self.emit(event(job, details));
        }
    }
}
