//! Streams jobs into a queue: parts go out in order, several in flight, and answers are read in order.

use std::collections::VecDeque;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::task::Poll;

use redis::Value;

use crate::connection::Link;
use crate::error::{Error, Result};
use crate::protocol::batch::Chunk;
use crate::protocol::{JobBatch, Keys};
use crate::scripts::add::{self, add_jobs_call, read_added};
use crate::scripts::eval;

/// Calls in flight: enough to keep the server busy while the next part is written.
const WINDOW: usize = 6;

/// What became of added jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// One id per job, in order.
    pub ids: Vec<String>,
    /// Positions of the jobs whose custom id existed already; nothing was changed for them.
    pub duplicates: Vec<usize>,
}

/// A part on its way: its call, and what is needed to read the reply.
struct Flight {
    reply: Reply,
    runs: Vec<Expected>,
}

struct Expected {
    count: usize,
    /// The caller's ids; empty when the counter gives them.
    ids: Vec<String>,
}

enum Reply {
    Pending(Pin<Box<dyn Future<Output = Result<Value>> + Send>>),
    Ready(Result<Value>),
}

/// An open stream of jobs into one queue. Dropping it leaves what was sent.
pub struct Adder {
    link: Link,
    keys: Keys,
    flights: VecDeque<Flight>,
    /// A first part has been answered, so the script is loaded and order is safe with several in flight.
    warm: bool,
    added: Added,
}

impl Adder {
    pub(super) fn new(link: Link, keys: Keys) -> Self {
        Adder { link, keys, flights: VecDeque::new(), warm: false, added: Added::default() }
    }

    /// Sends a batch; returns when all but the last few parts are answered.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] with nothing sent: a job would be due too late. [`Error::OutcomeUnknown`] when a reply got lost
    /// and ids are automatic; else what [`Link::call`] returns. Jobs of earlier parts stay added.
    pub async fn add(&mut self, batch: &JobBatch) -> Result<()> {
        batch.check_due()?;
        for chunk in batch.chunks() {
            let window = if self.warm { WINDOW } else { 1 };
            while self.flights.len() >= window {
                self.land().await?;
            }
            self.launch(chunk).await;
        }
        Ok(())
    }

    /// Waits for the last answers and returns what became of all jobs.
    ///
    /// # Errors
    /// As [`Adder::add`].
    pub async fn finish(mut self) -> Result<Added> {
        while !self.flights.is_empty() {
            self.land().await?;
        }
        Ok(std::mem::take(&mut self.added))
    }

    async fn launch(&mut self, chunk: Chunk<'_>) {
        let runs = chunk.runs();
        let (call, retry) = add_jobs_call(&self.keys, &runs);
        let expected = runs.iter().map(|run| Expected {
            count: run.len(),
            ids: if run.custom_ids { run.jobs().map(|(id, _)| id.to_owned()).collect() } else { Vec::new() },
        });
        let runs = expected.collect();
        let link = self.link.clone();
        let reply = Reply::Pending(Box::pin(async move { eval(&link, &call, retry).await }));
        self.flights.push_back(Flight { reply, runs });
        self.advance().await;
    }

    /// Polls everything in flight once, in order: the first poll of a call is what sends it.
    async fn advance(&mut self) {
        poll_fn(|context| {
            for flight in &mut self.flights {
                flight.poll(context);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Waits for the oldest answer and reads it.
    async fn land(&mut self) -> Result<()> {
        let flights = &mut self.flights;
        poll_fn(|context| {
            // The others are polled too, so that a retry of theirs does not wait for the oldest.
            for flight in flights.iter_mut() {
                flight.poll(context);
            }
            match flights.front() {
                Some(Flight { reply: Reply::Pending(_), .. }) => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
        let Some(Flight { reply: Reply::Ready(reply), runs }) = self.flights.pop_front() else {
            return Ok(());
        };
        let answers = reply.and_then(|value| read_added(value, runs.iter().map(|run| !run.ids.is_empty())));
        let answers = answers.map_err(|error| self.explain(error))?;
        self.warm = true;
        for (run, answer) in runs.into_iter().zip(answers) {
            self.record(run, answer);
        }
        Ok(())
    }

    fn record(&mut self, run: Expected, answer: add::Added) {
        let first = self.added.ids.len();
        match answer {
            add::Added::From(id) => {
                self.added.ids.extend((0..run.count).map(|offset| (id + offset as i64).to_string()));
            }
            add::Added::Duplicates(positions) => {
                self.added.duplicates.extend(positions.into_iter().map(|position| first + position));
                self.added.ids.extend(run.ids);
            }
        }
    }

    fn explain(&self, error: Error) -> Error {
        match error {
            Error::OutcomeUnknown(reason) if !self.added.ids.is_empty() => Error::OutcomeUnknown(format!(
                "{reason}; {} jobs were added before, up to {} more may have been",
                self.added.ids.len(),
                (self.flights.len() + 1) * crate::protocol::batch::MAX_JOBS,
            )),
            other => other,
        }
    }
}

impl Flight {
    fn poll(&mut self, context: &mut std::task::Context<'_>) {
        if let Reply::Pending(future) = &mut self.reply {
            if let Poll::Ready(result) = future.as_mut().poll(context) {
                self.reply = Reply::Ready(result);
            }
        }
    }
}
