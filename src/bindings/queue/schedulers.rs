//! Job schedulers.

use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::{Map, Value};

use super::super::errors::to_py_err;
use super::super::output::Output;
use super::super::pending::Pending;
use super::new_jobs::{PyNewJobRecord, PyNewJobs};
use super::sent::Sent;
use super::CoreQueue;
use bullrush::clock::now_ms;
use bullrush::error::Error;
use bullrush::protocol::{schedule, NewJob};
use bullrush::queue::schedulers::{upsert_job_scheduler, Scheduled, Scheduler};
use bullrush::scripts::manage;

fn object(py: Python<'_>, json: &[u8]) -> PyResult<Map<String, Value>> {
    serde_json::from_slice(json).map_err(|error| to_py_err(py, &Error::InvalidOption(error.to_string())))
}

/// When a scheduler makes jobs, as Python checked it.
#[derive(FromPyObject)]
struct Repeat {
    /// BullMQ's repeat options as JSON.
    json: Vec<u8>,
    /// The first job of a cron pattern runs now.
    immediately: bool,
}

/// The record of the job that a scheduler has just made.
fn record(scheduler: Scheduler, next: Scheduled) -> PyNewJobRecord {
    let mut sent = Sent { scheduler_id: Some(scheduler.id), ..Sent::default() };
    let job = NewJob {
        name: &scheduler.name,
        data: &scheduler.data,
        opts: next.opts.as_bytes(),
        id: Some(&next.job_id),
        timestamp: next.timestamp,
        delay: next.delay,
        priority: next.priority,
        lifo: false,
    };
    sent.push(job, None);
    sent.set_ids(vec![next.job_id]);
    PyNewJobRecord::first(Arc::new(sent))
}

#[pymethods]
impl CoreQueue {
    /// `job`: the name and the data of the jobs; `opts`: their options, as the template keeps them.
    #[pyo3(signature = (id, repeat, job, opts, metadata=None))]
    fn upsert_job_scheduler(
        &self,
        py: Python<'_>,
        id: String,
        repeat: Repeat,
        job: &PyNewJobs,
        opts: &[u8],
        metadata: Option<&[u8]>,
    ) -> PyResult<Pending> {
        let metadata = metadata.and_then(|json| serde_json::from_slice(json).ok());
        let (stored, opts) = (object(py, &repeat.json)?, object(py, opts)?);
        let sent = job.seal();
        let NewJob { name, data, .. } = sent.batch.job(0);
        let (name, data, immediately) = (name.to_owned(), data.to_vec(), repeat.immediately);
        let scheduler = Scheduler { id, repeat: stored, immediately, name, data, opts, metadata };
        let now = now_ms();
        schedule::Repeat::read(&scheduler.repeat).check(now).map_err(|error| to_py_err(py, &error))?;
        Ok(self.write(move |queue| async move {
            let scheduled = queue.durably(|link| upsert_job_scheduler(link, queue.keys(), now, &scheduler)).await?;
            Ok(Output::of(scheduled.map(|next| record(scheduler, next))))
        }))
    }

    #[pyo3(signature = (id, oldest_stem=None))]
    fn remove_job_scheduler(&self, id: String, oldest_stem: Option<String>) -> Pending {
        self.start(|queue| async move {
            let stem = oldest_stem.as_deref();
            Ok(Output::Flag(manage::remove_job_scheduler(queue.link(), queue.keys(), &id, stem).await?))
        })
    }
}
