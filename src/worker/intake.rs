//! Takes fetched jobs in: holds their locks, fails at once what must not run, passes the rest to the handlers.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::event::Event;
use super::fetcher::{Batch, Sent};
use super::held::HeldJob;
use super::scheduler;
use super::shared::Shared;
use crate::connection::Link;
use crate::protocol::job::number;
use crate::protocol::Keys;
use crate::timers::lock_extender::HeldLocks;

pub struct Intake {
    pub shared: Arc<Shared>,
    pub locks: Arc<HeldLocks>,
    pub link: Link,
    pub keys: Keys,
}

/// What a batch brought.
pub struct Accepted {
    pub count: usize,
    /// One of them must run alone: its next stall would fail it.
    pub alone: bool,
}

impl Intake {
    pub fn accept(&self, batch: Batch, tasks: &mut JoinSet<()>) -> Accepted {
        let jobs = self.hold(batch);
        self.locks.insert(jobs.iter().map(|job| job.lock()));
        let mut accepted = Accepted { count: jobs.len(), alone: false };
        let mut ready = Vec::with_capacity(jobs.len());
        for job in jobs {
            let [name, deferred_failure, scheduler, stalled] = job.record.pick(["name", "defa", "rjk", "stc"]);
            accepted.alone |= stalled.is_some_and(|count| number(count) >= self.shared.options.max_stalled_count);
            if let Some(reason) = self.refusal(&job, name, deferred_failure) {
                self.shared.emit(Event::Refused { job: job.clone() });
                self.shared.fail(job, "UnrecoverableError", reason);
            } else if scheduler.is_some() {
                // A chain must have its next link before this one runs.
                let (shared, link, keys) = (self.shared.clone(), self.link.clone(), self.keys.clone());
                tasks.spawn(scheduler::produce_next(shared, link, keys, job));
            } else {
                ready.push(job);
            }
        }
        self.shared.hand_out(ready);
        accepted
    }

    fn hold(&self, batch: Batch) -> Vec<Arc<HeldJob>> {
        let mut held = Vec::with_capacity(batch.jobs.len());
        let claims: Vec<_> = (0..batch.jobs.len()).map(|at| (batch.claim(at), batch.score(at))).collect();
        let Sent { order, at, .. } = batch.sent;
        for (record, (claim, score)) in batch.jobs.into_iter().zip(claims) {
            if record.is_foreign() {
                let text = format!("{} is not a job: its key is no hash. It was taken off the queue", record.id);
                self.shared.error(text);
                continue;
            }
            let job = HeldJob::new(record, order.token.clone(), at, claim);
            held.push(Arc::new(job.by(self.shared.options.worker_name.clone()).from_score(score)));
        }
        held
    }

    /// Why a job must fail without being run.
    fn refusal(&self, job: &HeldJob, name: Option<&[u8]>, deferred_failure: Option<&[u8]>) -> Option<String> {
        if let Some(deferred) = deferred_failure {
            return Some(String::from_utf8_lossy(deferred).into_owned());
        }
        if name.is_none() {
            return Some(format!("Missing key for job {}. The job was deleted or its hash is malformed", job.id()));
        }
        let most = self.shared.options.max_started_attempts?;
        (job.starts() > most).then(|| "job started more than allowable limit".to_owned())
    }
}
