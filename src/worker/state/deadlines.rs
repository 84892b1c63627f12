//! The deadlines of running jobs, in a worker with timeouts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use tokio::sync::Notify;

use crate::mutex::Mutex;
use crate::worker::held::HeldJob;
use crate::worker::options::Timeouts;

/// Finished jobs are removed when there are as many of them as of others, and never below this number of jobs.
const FEW: usize = 1000;

/// Started jobs, the first deadline on top.
pub struct Deadlines {
    timeouts: Timeouts,
    running: Mutex<RunningJobs>,
    /// There is an earlier deadline than before.
    noted: Notify,
}

#[derive(Default)]
struct RunningJobs {
    jobs: BinaryHeap<Reverse<Deadline>>,
    /// With more jobs than this the finished ones are removed.
    most: usize,
}

struct Deadline {
    at: Instant,
    job: Weak<HeldJob>,
}

impl PartialEq for Deadline {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Deadline {}

impl PartialOrd for Deadline {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Deadline {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl RunningJobs {
    fn first(&self) -> Option<Instant> {
        self.jobs.peek().map(|Reverse(first)| first.at)
    }

    fn remove_finished(&mut self) {
        if self.jobs.len() > self.most {
            self.jobs.retain(|Reverse(deadline)| deadline.job.upgrade().is_some_and(|job| !job.is_settled()));
            self.most = FEW.max(2 * self.jobs.len());
        }
    }
}

impl Deadlines {
    pub fn new(timeouts: Timeouts) -> Self {
        Self { timeouts, running: Mutex::default(), noted: Notify::new() }
    }

    /// Whether no job of this worker ever has a deadline.
    pub fn is_unused(&self) -> bool {
        self.timeouts.is_empty()
    }

    /// Note jobs that handlers are about to get.
    pub fn note(&self, jobs: &[Arc<HeldJob>], now: Instant) {
        if self.is_unused() {
            return;
        }
        let mut running = self.running.lock();
        let before = running.first();
        let deadline = |job: &Arc<HeldJob>| {
            let at = now + self.timeouts.of(&job.record)?;
            Some(Reverse(Deadline { at, job: Arc::downgrade(job) }))
        };
        running.jobs.extend(jobs.iter().filter_map(deadline));
        running.remove_finished();
        if running.first().is_some_and(|first| before.is_none_or(|before| first < before)) {
            self.noted.notify_one();
        }
    }

    /// How many jobs are kept, including finished ones.
    pub fn kept(&self) -> usize {
        self.running.lock().jobs.len()
    }

    /// Wait until the first deadline.
    pub async fn next(&self) {
        let first = self.running.lock().first();
        match first {
            Some(at) => tokio::select! {
                () = tokio::time::sleep_until(at.into()) => {}
                () = self.noted.notified() => {}
            },
            None => self.noted.notified().await,
        }
    }

    /// Take the jobs whose deadline is over and that have no outcome, and why they fail.
    pub fn due(&self) -> Vec<(Arc<HeldJob>, String)> {
        let (mut running, now) = (self.running.lock(), Instant::now());
        let mut due = Vec::new();
        while running.jobs.peek().is_some_and(|Reverse(first)| first.at <= now || first.job.strong_count() == 0) {
            let job = running.jobs.pop().and_then(|Reverse(first)| first.job.upgrade());
            due.extend(job.filter(|job| !job.is_settled()));
        }
        drop(running);
        let reason = |job: &HeldJob| {
            format!("timed out after {} ms", self.timeouts.of(&job.record).map_or(0, |t| t.as_millis()))
        };
        due.into_iter().map(|job| (job.clone(), reason(&job))).collect()
    }
}
