//! The deadlines of running jobs, in a worker with a timeout.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::lock::Mutex;
use crate::worker::held::HeldJob;

/// Finished jobs are removed when there are as many of them as of others, and never below this number of jobs.
const FEW: usize = 1000;

/// Started jobs in the order of their deadlines: the timeout is the same for all.
pub struct Deadlines {
    pub timeout: Option<Duration>,
    running: Mutex<RunningJobs>,
    noted: Notify,
}

#[derive(Default)]
struct RunningJobs {
    jobs: VecDeque<(Instant, Weak<HeldJob>)>,
    /// With more jobs than this the finished ones are removed.
    most: usize,
}

impl RunningJobs {
    fn remove_finished(&mut self) {
        if self.jobs.len() > self.most {
            self.jobs.retain(|(_, job)| job.upgrade().is_some_and(|job| !job.is_settled()));
            self.most = FEW.max(2 * self.jobs.len());
        }
    }
}

impl Deadlines {
    pub fn new(timeout: Option<Duration>) -> Self {
        Self { timeout, running: Mutex::default(), noted: Notify::new() }
    }

    /// Note jobs that handlers are about to get.
    pub fn note(&self, jobs: &[Arc<HeldJob>], now: Instant) {
        let Some(timeout) = self.timeout else { return };
        let mut running = self.running.lock();
        running.jobs.extend(jobs.iter().map(|job| (now + timeout, Arc::downgrade(job))));
        running.remove_finished();
        self.noted.notify_one();
    }

    /// How many jobs are kept, including finished ones.
    pub fn kept(&self) -> usize {
        self.running.lock().jobs.len()
    }

    /// Wait until the first deadline.
    pub async fn next(&self) {
        let first = self.running.lock().jobs.front().map(|(at, _)| *at);
        match first {
            Some(at) => tokio::time::sleep_until(at.into()).await,
            None => self.noted.notified().await,
        }
    }

    /// Take the jobs whose deadline is over and that have no outcome.
    pub fn due(&self) -> Vec<Arc<HeldJob>> {
        let (mut running, now) = (self.running.lock(), Instant::now());
        let mut due = Vec::new();
        while running.jobs.front().is_some_and(|(at, job)| *at <= now || job.strong_count() == 0) {
            let job = running.jobs.pop_front().and_then(|(_, job)| job.upgrade());
            due.extend(job.filter(|job| !job.is_settled()));
        }
        due
    }
}
