//! Adds many jobs: parts are sent in order, several are in flight, and replies are read in order.

use std::collections::VecDeque;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::connection::Link;
use crate::error::{Error, Result};
use crate::protocol::batch::{Chunk, MAX_JOBS};
use crate::protocol::{JobBatch, Keys};
use crate::scripts::add::{add_jobs_call, read_added, ready_jobs, AddedRun};
use crate::scripts::hint::{eval_and_wake, Wake};
use crate::scripts::OomWait;

/// Calls in flight: enough to keep the server busy while the next part is written.
const MAX_IN_FLIGHT: usize = 6;

/// The result of adding jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedJobs {
    /// One id per job, in order.
    pub ids: Vec<String>,
    /// Positions of the jobs whose custom id existed already; nothing was changed for them.
    pub duplicates: Vec<usize>,
}

/// A part in flight: its call, and what it adds.
struct InFlightCall {
    state: CallState,
    runs: Vec<SentRun>,
}

struct SentRun {
    count: usize,
    /// The caller's ids; empty when the counter gives them.
    ids: Vec<String>,
}

enum CallState {
    Running(Pin<Box<dyn Future<Output = Result<Vec<AddedRun>>> + Send>>),
    Done(Result<Vec<AddedRun>>),
}

/// An open stream of jobs into one queue. Dropping it does not undo what was sent.
pub struct Adder {
    link: Link,
    keys: Keys,
    wake: Wake,
    in_flight: VecDeque<InFlightCall>,
    /// A first part has its reply: the script is loaded, so calls in flight keep their order.
    warm: bool,
    oom_wait: Option<Arc<OomWait>>,
    added: AddedJobs,
}

impl Adder {
    pub(super) fn new(link: Link, keys: Keys, wake: Wake) -> Self {
        let (in_flight, added) = (VecDeque::new(), AddedJobs::default());
        Adder { link, keys, wake, in_flight, warm: false, oom_wait: None, added }
    }

    /// With oom_wait, parts that Redis refuses for want of memory are sent until it takes them.
    pub(super) fn waiting_for_memory(self, oom_wait: Option<Arc<OomWait>>) -> Self {
        Adder { oom_wait, ..self }
    }

    /// Sends a batch; returns when all but the last few parts have replies.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] with nothing sent: a job would be due too late. [`Error::OutcomeUnknown`] when a reply
    /// got lost and ids are automatic; else what [`Link::call`] returns. Jobs of earlier parts stay added.
    pub async fn add(&mut self, batch: &JobBatch) -> Result<()> {
        batch.check_due()?;
        for chunk in batch.chunks() {
            let most = if self.warm { MAX_IN_FLIGHT } else { 1 };
            while self.in_flight.len() >= most {
                self.complete_oldest().await?;
            }
            self.send(chunk).await;
        }
        Ok(())
    }

    /// Waits for the last replies and returns the result for all jobs.
    ///
    /// # Errors
    /// See [`Adder::add`].
    pub async fn finish(mut self) -> Result<AddedJobs> {
        while !self.in_flight.is_empty() {
            self.complete_oldest().await?;
        }
        Ok(std::mem::take(&mut self.added))
    }

    async fn send(&mut self, chunk: Chunk<'_>) {
        let runs = chunk.runs();
        let (call, retry) = add_jobs_call(&self.keys, &runs, chunk.batch_id(), self.wake.fan_out);
        let hint = self.wake.hint(&self.keys, ready_jobs(&runs));
        let sent = runs.iter().map(|run| SentRun {
            count: run.len(),
            ids: if run.custom_ids { run.jobs().map(|(id, _)| id.to_owned()).collect() } else { Vec::new() },
        });
        let runs: Vec<SentRun> = sent.collect();
        let (link, oom_wait) = (self.link.clone(), self.oom_wait.clone());
        let custom_ids: Vec<bool> = runs.iter().map(|run: &SentRun| !run.ids.is_empty()).collect();
        let state = CallState::Running(Box::pin(async move {
            let read = |reply| read_added(reply, &custom_ids);
            eval_and_wake(&link, &call, retry, hint.as_ref(), oom_wait.as_deref(), read).await
        }));
        self.in_flight.push_back(InFlightCall { state, runs });
        self.poll_all().await;
    }

    /// Polls all calls in flight once, in order: the first poll of a call sends it.
    async fn poll_all(&mut self) {
        poll_fn(|context| {
            for call in &mut self.in_flight {
                call.poll(context);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Waits for the oldest reply and reads it.
    async fn complete_oldest(&mut self) -> Result<()> {
        let in_flight = &mut self.in_flight;
        poll_fn(|context| {
            // The others are polled too, so that a retry of theirs does not wait for the oldest.
            for call in in_flight.iter_mut() {
                call.poll(context);
            }
            match in_flight.front() {
                Some(InFlightCall { state: CallState::Running(_), .. }) => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
        let Some(InFlightCall { state: CallState::Done(added), runs }) = self.in_flight.pop_front() else {
            return Ok(());
        };
        let added = added.map_err(|error| self.with_counts(error))?;
        self.warm = true;
        for (run, added) in runs.into_iter().zip(added) {
            self.record(run, added);
        }
        Ok(())
    }

    fn record(&mut self, run: SentRun, added: AddedRun) {
        let first = self.added.ids.len();
        match added {
            AddedRun::From(id) => {
                self.added.ids.extend((0..run.count).map(|offset| (id + offset as i64).to_string()));
            }
            AddedRun::Duplicates(positions) => {
                self.added.duplicates.extend(positions.into_iter().map(|position| first + position));
                self.added.ids.extend(run.ids);
            }
        }
    }

    fn with_counts(&self, error: Error) -> Error {
        match error {
            Error::OutcomeUnknown(reason) if !self.added.ids.is_empty() => Error::OutcomeUnknown(format!(
                "{reason}; {} jobs were added before, up to {} more may have been",
                self.added.ids.len(),
                (self.in_flight.len() + 1) * MAX_JOBS,
            )),
            other => other,
        }
    }
}

impl InFlightCall {
    fn poll(&mut self, context: &mut Context<'_>) {
        if let CallState::Running(future) = &mut self.state {
            if let Poll::Ready(reply) = future.as_mut().poll(context) {
                self.state = CallState::Done(reply);
            }
        }
    }
}
