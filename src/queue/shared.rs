//! Jobs added one by one: those that come while a call is on its way share the next one.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use tokio::time::Instant;

use super::QueueHandle;
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::lock::Mutex;
use crate::protocol::batch::{MAX_BYTES, MAX_JOBS};
use crate::protocol::{due, JobBatch, NewJob};
use crate::scripts::add::{add_jobs, Added};

/// Is told the job's id, or why there is none.
pub type Told = Box<dyn FnOnce(Result<String>) + Send>;

/// The calls of one queue for single jobs: at most one on its way, and what waits for it to come back.
#[derive(Default)]
pub(super) struct SharedCalls(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    /// A task sends calls until nothing waits.
    sending: bool,
    calls: VecDeque<SharedCall>,
}

/// Jobs that go in one call.
struct SharedCall {
    batch: JobBatch,
    told: Vec<Told>,
    bytes: usize,
    custom_ids: bool,
    since: Instant,
}

impl QueueHandle {
    /// Takes a job in. The future, if there is one, has to be run: it sends this job and those that come meanwhile.
    ///
    /// An outcome is the one of a call of its own: an id, [`Error::InvalidOption`] for a job that would be due too late, [`Error::OutcomeUnknown`] when the reply got lost and the id is
    /// automatic, or what [`Link::call`] returns.
    pub fn add_job(self: &Arc<Self>, job: NewJob<'_>, told: Told) -> Option<impl Future<Output = ()> + Send + use<>> {
        if let Err(error) = due::check_delay(job.timestamp, job.delay) {
            told(Err(error));
            return None;
        }
        let mut call = SharedCall::new(job.id.is_some());
        // Who has to wait for a connection waits for himself: sharing would make it the patience of the first one.
        let alone = !self.is_at_hand();
        if !alone {
            let mut waiting = self.single.0.lock();
            if waiting.sending {
                waiting.take(job, told);
                return None;
            }
            waiting.sending = true;
        }
        call.push(job, told);
        let queue = self.clone();
        Some(async move {
            match queue.writable().await {
                Ok(()) => call.send(&queue, &queue.link).await,
                Err(error) => call.fail(&error),
            }
            while let Some(next) = if alone { None } else { queue.single.next() } {
                let link = queue.link.after_waiting(next.since.elapsed());
                next.send(&queue, &link).await;
            }
        })
    }
}

impl SharedCalls {
    fn next(&self) -> Option<SharedCall> {
        let mut waiting = self.0.lock();
        let next = waiting.calls.pop_front();
        waiting.sending = next.is_some();
        next
    }
}

impl Waiting {
    fn take(&mut self, job: NewJob<'_>, told: Told) {
        match self.calls.back_mut() {
            Some(last) if last.has_room(&job) => last.push(job, told),
            _ => {
                let mut call = SharedCall::new(job.id.is_some());
                call.push(job, told);
                self.calls.push_back(call);
            }
        }
    }
}

impl SharedCall {
    fn new(custom_ids: bool) -> Self {
        SharedCall { batch: JobBatch::new(), told: Vec::new(), bytes: 0, custom_ids, since: Instant::now() }
    }

    /// Jobs with ids of their own may be sent again and others may not: they never share a call.
    fn has_room(&self, job: &NewJob<'_>) -> bool {
        self.custom_ids == job.id.is_some() && self.told.len() < MAX_JOBS && self.bytes + size(job) <= MAX_BYTES
    }

    fn push(&mut self, job: NewJob<'_>, told: Told) {
        self.bytes += size(&job);
        self.batch.push(job);
        self.told.push(told);
    }

    async fn send(self, queue: &QueueHandle, link: &Link) {
        // `has_room` keeps it within what a chunk takes.
        let Some(chunk) = self.batch.chunk_at(0) else { return };
        let runs = chunk.runs();
        let answers = match add_jobs(link, &queue.keys, &runs).await {
            Ok(answers) => answers,
            Err(error) => return self.fail(&error),
        };
        let mut told = self.told.into_iter();
        for (run, answer) in runs.iter().zip(answers) {
            for ((position, (id, _)), told) in run.jobs().enumerate().zip(told.by_ref()) {
                told(Ok(match answer {
                    Added::From(first) => (first + position as i64).to_string(),
                    Added::Duplicates(_) => id.to_owned(),
                }));
            }
        }
    }

    fn fail(self, error: &Error) {
        self.told.into_iter().for_each(|told| told(Err(error.clone())));
    }
}

fn size(job: &NewJob<'_>) -> usize {
    job.name.len() + job.opts.len() + job.data.len() + job.id.map_or(0, str::len)
}
