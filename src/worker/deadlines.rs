//! When the handlers of a worker with a timeout must be done.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::held::HeldJob;
use crate::lock::Mutex;

/// Finished jobs are forgotten when there are as many of them as of others, and at least so many.
const FEW: usize = 1000;

/// Started jobs in the order of their deadlines: all have the same time.
pub struct Deadlines {
    pub timeout: Option<Duration>,
    started: Mutex<Started>,
    noted: Notify,
}

#[derive(Default)]
struct Started {
    jobs: VecDeque<(Instant, Weak<HeldJob>)>,
    /// How many there may be before the finished ones are sorted out.
    most: usize,
}

impl Started {
    fn forget_finished(&mut self) {
        if self.jobs.len() > self.most {
            self.jobs.retain(|(_, job)| job.upgrade().is_some_and(|job| !job.is_settled()));
            self.most = FEW.max(2 * self.jobs.len());
        }
    }
}

impl Deadlines {
    pub fn new(timeout: Option<Duration>) -> Self {
        Self { timeout, started: Mutex::default(), noted: Notify::new() }
    }

    /// Take note of jobs that handlers are about to get.
    pub fn note(&self, jobs: &[Arc<HeldJob>], now: Instant) {
        let Some(timeout) = self.timeout else { return };
        let mut started = self.started.lock();
        started.jobs.extend(jobs.iter().map(|job| (now + timeout, Arc::downgrade(job))));
        started.forget_finished();
        self.noted.notify_one();
    }

    /// How many are kept, finished ones among them.
    pub fn kept(&self) -> usize {
        self.started.lock().jobs.len()
    }

    /// Wait until the first job of all is due.
    pub async fn next(&self) {
        let first = self.started.lock().jobs.front().map(|(at, _)| *at);
        match first {
            Some(at) => tokio::time::sleep_until(at.into()).await,
            None => self.noted.notified().await,
        }
    }

    /// Take the jobs whose time is over and that have no outcome.
    pub fn due(&self) -> Vec<Arc<HeldJob>> {
        let (mut started, now) = (self.started.lock(), Instant::now());
        let mut due = Vec::new();
        while started.jobs.front().is_some_and(|(at, job)| *at <= now || job.strong_count() == 0) {
            let job = started.jobs.pop_front().and_then(|(_, job)| job.upgrade());
            due.extend(job.filter(|job| !job.is_settled()));
        }
        due
    }
}
