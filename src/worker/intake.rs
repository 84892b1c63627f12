//! Takes fetched jobs in: holds their locks, fails at once what must not run, passes the rest to the handlers.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::fetcher::Batch;
use super::held::HeldJob;
use super::outcome::{Failure, Outcome};
use super::scheduler;
use super::shared::Shared;
use crate::connection::Link;
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
    /// One of them was once taken back from a worker that died.
    pub stalled: bool,
}

impl Intake {
    pub fn accept(&self, batch: Batch, tasks: &mut JoinSet<()>) -> Accepted {
        let mut accepted = Accepted { count: 0, stalled: false };
        let mut ready = Vec::with_capacity(batch.jobs.len());
        for record in batch.jobs {
            if record.is_missing() {
                self.shared
                    .error(format!("{} is not a job: its key is no hash. It was taken off the queue", record.id));
                continue;
            }
            accepted.count += 1;
            accepted.stalled |= record.number("stc") > 0;
            let job = Arc::new(HeldJob::new(record, batch.token.clone(), batch.sent));
            self.locks.insert(job.id(), batch.token.clone(), job.lease.clone());
            if let Some(reason) = self.refusal(&job) {
                let failure = Failure::unrecoverable(reason);
                self.shared.submit(Outcome::Failed { job, failure });
            } else if job.record.get("rjk").is_some() {
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

    /// Why a job must fail without being run.
    fn refusal(&self, job: &HeldJob) -> Option<String> {
        let record = &job.record;
        if let Some(deferred) = record.text("defa") {
            return Some(deferred.to_owned());
        }
        if record.get("name").is_none() {
            return Some(format!("Missing key for job {}. The job was deleted or its hash is malformed", record.id));
        }
        let most = self.shared.options.max_started_attempts?;
        (record.ats() > most).then(|| "job started more than allowable limit".to_owned())
    }
}
