//! Admits fetched jobs: holds their locks, fails those that must not run, passes the others to the handlers. Ids that
//! are no jobs are only reported: the fetch has removed them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::connection::Link;
use crate::protocol::job::number;
use crate::worker::admission::{not_admitted, NotAdmitted};
use crate::worker::fetch::{dropped_text, FetchedBatch, SentFetch};
use crate::worker::held::HeldJob;
use crate::worker::listeners::Event;
use crate::worker::scheduler;
use crate::worker::state::WorkerState;

pub struct Admission {
    pub state: Arc<WorkerState>,
    pub link: Link,
    /// A job with too much data was admitted, and the log has it.
    size_reported: AtomicBool,
}

/// What is known of a batch that was admitted.
pub struct Admitted {
    pub count: usize,
    /// One of the jobs must run alone: its next stall would fail it.
    pub alone: bool,
}

impl Admission {
    pub fn new(state: Arc<WorkerState>, link: Link) -> Self {
        Self { state, link, size_reported: AtomicBool::new(false) }
    }

    pub fn admit(&self, batch: FetchedBatch, tasks: &mut JoinSet<()>) -> Admitted {
        let lane = batch.sent.request.lane.clone();
        let jobs = self.hold(batch);
        lane.locks.insert(jobs.iter().map(|job| job.lock()));
        let mut admitted = Admitted { count: jobs.len(), alone: false };
        let mut ready = Vec::with_capacity(jobs.len());
        for job in jobs {
            let [scheduler, stalled, data] = job.record.pick(["rjk", "stc", "data"]);
            admitted.alone |= stalled.is_some_and(|count| number(count) >= self.state.options.max_stalled_count);
            if let Some(NotAdmitted { class, reason }) = not_admitted(&job, &self.state.options) {
                self.state.emit(Event::Refused { job: job.clone() });
                self.state.fail(job, class, reason);
                continue;
            }
            self.report_size(&job, data.map_or(0, <[u8]>::len));
            if scheduler.is_some() {
                // The scheduler's next job must exist before this one runs.
                tasks.spawn(scheduler::produce_next(self.state.clone(), self.link.clone(), job));
            } else {
                ready.push(job);
            }
        }
        self.state.hand_out(ready);
        admitted
    }

    fn hold(&self, batch: FetchedBatch) -> Vec<Arc<HeldJob>> {
        let mut held = Vec::with_capacity(batch.jobs.len());
        let mut dropped = Vec::new();
        let claims: Vec<_> = (0..batch.jobs.len()).map(|at| (batch.claim(at), batch.score(at))).collect();
        let SentFetch { request, at, .. } = batch.sent;
        for (record, (claim, score)) in batch.jobs.into_iter().zip(claims) {
            if record.is_missing() {
                dropped.push(record);
                continue;
            }
            let (lane, token) = (request.lane.clone(), request.token.clone());
            let job = HeldJob::new(record, lane, token, at, claim, &self.state.options);
            held.push(Arc::new(job.with_decided(request.room.decided).with_score(score)));
        }
        if !dropped.is_empty() {
            self.state.warning(dropped_text(&request.lane.keys, &dropped));
        }
        held
    }

    /// Reports the first job with more data than the limit that runs nevertheless.
    fn report_size(&self, job: &HeldJob, length: usize) {
        let Some(text) = self.state.options.payload_limit.and_then(|limit| limit.data_error(length)) else { return };
        if !self.size_reported.swap(true, Ordering::Relaxed) {
            let id = job.id();
            let text =
                format!("{text} (job {id}). It runs nevertheless: only a worker with payload_limit= refuses such jobs");
            self.state.warning(text);
        }
    }
}
