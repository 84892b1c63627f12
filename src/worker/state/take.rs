//! The way of a job to its handler: into the ready queue, out of it, or back to Redis.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::WorkerState;
use crate::worker::held::{begin_batch, HeldJob};
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

    /// A batch has a slot to itself, full or not, until all its outcomes are on their way to Redis: the call that takes
    /// the last one fetches the next batch.
    fn counted(&self, taken: Taken) -> Taken {
        if let (true, Taken::Jobs(jobs)) = (self.options.has_batches(), &taken) {
            begin_batch(jobs);
            self.stats.batches.fetch_add(1, Ordering::Relaxed);
            self.wake.notify_one();
        }
        taken
    }

    /// How many jobs the slots are for that have a batch, or get one, if so many batches come; 0 without batches. Jobs
    /// that no handler has taken are a batch soon, full or not: what came to fill it would wait for its end.
    pub fn in_batches(&self, coming: usize) -> usize {
        if !self.options.has_batches() {
            return 0;
        }
        let size = self.options.batch_size;
        (self.stats.batches.load(Ordering::Relaxed) + self.ready_queue.count().div_ceil(size) + coming) * size
    }

    /// A job leaves its batch. True if a slot is free now.
    pub fn leave_batch(&self, job: &HeldJob) -> bool {
        let ended = job.leave_batch();
        if ended {
            self.stats.batches.fetch_sub(1, Ordering::Relaxed);
        }
        ended
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
