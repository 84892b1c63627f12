//! Jobs added one by one: those that are added while a call is in flight go together in the next call.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::adding::Adding;
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::mutex::Mutex;
use crate::protocol::batch::{MAX_BYTES, MAX_JOBS};
use crate::protocol::{JobBatch, NewJob};
use crate::scripts::add::{add_jobs, AddedRun};
use crate::scripts::hint::Wake;

/// Gets the job's id, or the error.
pub type OnDone = Box<dyn FnOnce(Result<String>) + Send>;

/// The calls of one queue for single jobs: at most one is in flight, the others wait for it.
#[derive(Default)]
pub(super) struct Coalescer(Mutex<State>);

#[derive(Default)]
struct State {
    /// A task sends calls until no call waits.
    sending: bool,
    calls: VecDeque<CoalescedCall>,
}

/// Jobs that go in one call.
pub(super) struct CoalescedCall {
    batch: JobBatch,
    on_done: Vec<OnDone>,
    bytes: usize,
    custom_ids: bool,
    since: Instant,
}

impl Coalescer {
    /// Adds a job to a call that waits. With no call in flight it returns `on_done`: the caller then sends the job
    /// itself, and after it the calls that [`Coalescer::next`] returns.
    pub fn append(&self, job: NewJob<'_>, on_done: OnDone) -> Option<OnDone> {
        let mut state = self.0.lock();
        if !state.sending {
            state.sending = true;
            return Some(on_done);
        }
        match state.calls.back_mut() {
            Some(last) if last.has_room(&job) => last.push(job, on_done),
            _ => state.calls.push_back(CoalescedCall::new(job, on_done)),
        }
        None
    }

    /// The call to send next; `None` when no call waits.
    pub fn next(&self) -> Option<CoalescedCall> {
        let mut state = self.0.lock();
        let next = state.calls.pop_front();
        state.sending = next.is_some();
        next
    }
}

impl CoalescedCall {
    pub fn new(job: NewJob<'_>, on_done: OnDone) -> Self {
        let (batch, custom_ids) = (JobBatch::new(), job.id.is_some());
        let mut call = CoalescedCall { batch, on_done: Vec::new(), bytes: 0, custom_ids, since: Instant::now() };
        call.push(job, on_done);
        call
    }

    /// How long its first job has waited.
    pub fn waited(&self) -> Duration {
        self.since.elapsed()
    }

    /// Jobs with custom ids never share a call with others: only a call where all ids are custom may be sent again.
    fn has_room(&self, job: &NewJob<'_>) -> bool {
        self.custom_ids == job.id.is_some() && self.on_done.len() < MAX_JOBS && self.bytes + size(job) <= MAX_BYTES
    }

    fn push(&mut self, job: NewJob<'_>, on_done: OnDone) {
        self.bytes += size(&job);
        self.batch.push(job);
        self.on_done.push(on_done);
    }

    pub async fn send(self, adding: &Adding, link: &Link, wake: Wake) {
        // `has_room` keeps the batch within the size of one chunk.
        let Some(chunk) = self.batch.chunk_at(0) else { return };
        let runs = chunk.runs();
        let added = match adding.run(link, |link| add_jobs(link, &adding.keys, &runs, wake)).await {
            Ok(added) => added,
            Err(error) => return self.fail(&error),
        };
        let mut callbacks = self.on_done.into_iter();
        for (run, added) in runs.iter().zip(added) {
            for ((position, (id, _)), on_done) in run.jobs().enumerate().zip(callbacks.by_ref()) {
                on_done(Ok(match added {
                    AddedRun::From(first) => (first + position as i64).to_string(),
                    AddedRun::Duplicates(_) => id.to_owned(),
                }));
            }
        }
    }

    pub fn fail(self, error: &Error) {
        self.on_done.into_iter().for_each(|on_done| on_done(Err(error.clone())));
    }
}

fn size(job: &NewJob<'_>) -> usize {
    job.name.len() + job.opts.len() + job.data.len() + job.id.map_or(0, str::len)
}
