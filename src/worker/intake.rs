//! Takes fetched jobs in: holds their locks, fails at once what must not run, passes the rest to the handlers.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::fetcher::Batch;
use super::held::HeldJob;
use super::scheduler;
use super::shared::{Event, Shared};
use crate::connection::Link;
use crate::protocol::job::number;
use crate::protocol::{JobRecord, Keys};
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
        let Batch { mut jobs, token, sent } = batch;
        jobs.retain(|record| !self.is_foreign(record));
        let jobs: Vec<_> = jobs.into_iter().map(|job| Arc::new(HeldJob::new(job, token.clone(), sent))).collect();
        self.locks.insert(jobs.iter().map(|job| job.lock()));
        let mut accepted = Accepted { count: jobs.len(), stalled: false };
        let mut ready = Vec::with_capacity(jobs.len());
        for job in jobs {
            let [name, deferred_failure, scheduler, stalled] = job.record.pick(["name", "defa", "rjk", "stc"]);
            accepted.stalled |= stalled.is_some_and(|count| number(count) > 0);
            if let Some(reason) = self.refusal(&job.record, name, deferred_failure) {
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

    fn is_foreign(&self, record: &JobRecord) -> bool {
        if record.is_missing() {
            self.shared.error(format!("{} is not a job: its key is no hash. It was taken off the queue", record.id));
        }
        record.is_missing()
    }

    /// Why a job must fail without being run.
    fn refusal(&self, record: &JobRecord, name: Option<&[u8]>, deferred_failure: Option<&[u8]>) -> Option<String> {
        if let Some(deferred) = deferred_failure {
            return Some(String::from_utf8_lossy(deferred).into_owned());
        }
        if name.is_none() {
            return Some(format!("Missing key for job {}. The job was deleted or its hash is malformed", record.id));
        }
        let most = self.shared.options.max_started_attempts?;
        (record.ats() > most).then(|| "job started more than allowable limit".to_owned())
    }
}
