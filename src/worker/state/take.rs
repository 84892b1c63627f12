//! The way of a job to its handler: into the ready queue, out of it, or back to Redis.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::WorkerState;
use crate::worker::held::HeldJob;
use crate::worker::lanes::Lane;
use crate::worker::ready_queue::Taken;

impl WorkerState {
    /// Pass jobs of one fetch to the handlers, or give them back if they must not start here.
    pub fn hand_out(&self, jobs: Vec<Arc<HeldJob>>) {
        if !self.ready_queue.push(&jobs) {
            self.give_back(jobs);
        }
    }

    /// Return jobs that no handler has started to their places in the queue.
    pub fn give_back(&self, jobs: Vec<Arc<HeldJob>>) {
        self.outcomes.give_back(jobs.into_iter().filter(|job| job.settle()));
        self.wake.notify_one();
    }

    /// Give back all jobs that were fetched up to now and that no handler has started.
    pub fn give_back_unstarted(&self) {
        self.give_back(self.ready_queue.withdraw_all());
    }

    /// Fetch nothing of a queue, and start no job of it that was fetched up to now, until [`WorkerState::release`].
    pub fn hold(&self, lane: &Arc<Lane>) {
        // Before the jobs are withdrawn: the engine sees this, or its fetch counts as sent before.
        lane.holds.fetch_add(1, Ordering::SeqCst);
        self.give_back(self.ready_queue.withdraw_from(lane));
    }

    /// One hold of a queue is over.
    pub fn release(&self, lane: &Lane) {
        lane.holds.fetch_sub(1, Ordering::Release);
        self.wake.notify_one();
    }

    /// Take up to `max` jobs that are there now.
    pub fn try_take(&self, max: usize) -> Taken {
        loop {
            match self.ready_queue.try_take(max).filtered(|jobs| self.startable(jobs)) {
                Taken::Jobs(jobs) if jobs.is_empty() => {}
                taken => return self.counted(taken),
            }
        }
    }

    /// Take up to `max` jobs, waiting for the first one at most `wait`.
    pub fn take(&self, max: usize, wait: Duration) -> Taken {
        match self.ready_queue.take(max, wait).filtered(|jobs| self.startable(jobs)) {
            Taken::Jobs(jobs) if jobs.is_empty() => Taken::Nothing,
            taken => self.counted(taken),
        }
    }

    /// A batch has a slot to itself, full or not, until [`WorkerState::end_batch`].
    fn counted(&self, taken: Taken) -> Taken {
        if self.options.has_batches() && matches!(taken, Taken::Jobs(_)) {
            self.stats.batches.fetch_add(1, Ordering::Relaxed);
            self.wake.notify_one();
        }
        taken
    }

    /// The handler of a batch has returned: its slot is free, so that the call with its outcomes fetches the next ones.
    /// Called once for each batch that was taken, before these outcomes.
    pub fn end_batch(&self, outcomes_follow: bool) {
        if self.options.has_batches() {
            // A task that is cancelled while it hands in its failures is counted twice: below 0 no job would be fetched.
            let ended = |batches: usize| batches.checked_sub(1);
            let _ = self.stats.batches.fetch_update(Ordering::Relaxed, Ordering::Relaxed, ended);
            // The first outcome wakes it otherwise: awake before, it would fetch for the places beside these jobs only.
            if !outcomes_follow {
                self.wake.notify_one();
            }
        }
    }

    /// How many jobs the slots of running batches are for.
    pub fn in_batches(&self) -> usize {
        self.stats.batches.load(Ordering::Relaxed) * self.options.batch_size
    }

    /// Keep the jobs that may start. Jobs whose lock has expired go back: this process was suspended, and another
    /// worker may have them. Jobs that were cancelled meanwhile fail.
    fn startable(&self, jobs: Vec<Arc<HeldJob>>) -> Vec<Arc<HeldJob>> {
        let now = Instant::now();
        let is_ours = |job: &Arc<HeldJob>| !job.lease.is_lost() && !job.lease.has_expired(now);
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
}
