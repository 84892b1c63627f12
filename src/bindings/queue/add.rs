//! Adding jobs.

use std::sync::Arc;

use pyo3::prelude::*;

use super::super::arrow;
use super::super::output::Output;
use super::super::pending::Pending;
use super::super::runtime::Core;
use super::new_job::{with_job, PyLink, PyNewJob, NO_LINK};
use super::new_jobs::PyNewJobs;
use super::row_plan::PyRowPlan;
use super::sent::Sent;
use super::CoreQueue;
use crate::error::Result;
use crate::protocol::batch::{MAX_BYTES, MAX_JOBS};
use crate::protocol::{JobBatch, NewJob};
use crate::queue::Patience;
use crate::scripts::add::{
    add_linked_jobs_call, AddedLinkedJobs, Deduplication, Ids, LinkedCall, LinkedJob, LinkedRun, Parent,
};

#[pymethods]
impl CoreQueue {
    /// Add one job. Jobs that are added while another call is in flight go together in the next call.
    fn add_job(&self, job: PyNewJob<'_>) -> PyResult<Pending> {
        let (pending, sender) = Pending::open();
        let on_done = Box::new(|id: Result<String>| sender.send(id.map(Output::Text)));
        let sending = with_job(&job, |job| self.handle().add_job(job, on_done))?;
        if let Some(sending) = sending {
            Core::current().spawn(sending);
        }
        Ok(pending)
    }

    /// Add many jobs; their records have ids when this is done.
    fn add_jobs(&self, jobs: &PyNewJobs) -> Pending {
        let sent = jobs.0.clone();
        if sent.links.is_empty() {
            return self.start(|queue| async move {
                let added = queue.add_jobs(&sent.batch).await?;
                Ok(sent.set_ids(added.ids))
            });
        }
        let calls = self.calls_of(&sent);
        self.start(|queue| async move {
            let added = queue.add_linked_jobs(calls, None).await?;
            Ok(sent.set_ids(added.ids))
        })
    }

    /// Add jobs in parts, each stored completely or not at all; `whole`: all jobs in one part.
    fn add_linked_jobs(&self, jobs: Vec<(PyNewJob<'_>, PyLink)>, whole: bool) -> PyResult<Pending> {
        let mut batch = JobBatch::new();
        for (job, _) in &jobs {
            with_job(job, |job| batch.push(job))?;
        }
        let linked = jobs.iter().enumerate().map(|(at, (_, link))| linked_job(self.keys.base(), batch.job(at), link));
        let calls = self.linked_calls(&linked.collect::<Vec<_>>(), whole, None);
        Ok(self.add_linked(calls, None, |added| Output::AddedLinkedJobs(added.ids, added.left_out, added.unattached)))
    }

    /// Add the rows of Arrow data as jobs; `now` is the time of the add.
    fn add_arrow(&self, source: &Bound<'_, PyAny>, plan: &Bound<'_, PyRowPlan>, now: i64) -> PyResult<Pending> {
        let (py, plan) = (source.py(), plan.get());
        let rows = arrow::rows(source, &plan.plan, plan.auto_ids.as_ref().map(Py::get))?;
        let sent = plan.jobs(py, &rows, now)?;
        let patience = plan.patience.clone();
        if sent.links.is_empty() {
            return Ok(self.start(|queue| async move {
                let added = queue.add_jobs_patiently(&sent.batch, patience).await?;
                Ok(Output::AddedJobs(added.ids, added.duplicates))
            }));
        }
        let calls = py.detach(|| self.calls_of(&sent));
        Ok(self.add_linked(calls, patience, |added| Output::AddedJobs(added.ids, added.left_out)))
    }
}

impl CoreQueue {
    fn linked_calls(&self, jobs: &[LinkedJob<'_>], whole: bool, batch_id: Option<&str>) -> Vec<LinkedCall> {
        let mut calls = Vec::new();
        let mut rest = jobs;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(if whole { rest.len() } else { fitting(rest) });
            calls.push(add_linked_jobs_call(&self.keys, part, batch_id, self.options.wake.fan_out));
            rest = after;
        }
        calls
    }

    fn calls_of(&self, sent: &Sent) -> Vec<LinkedCall> {
        let job = |at| linked_job(self.keys.base(), sent.batch.job(at), sent.link(at).unwrap_or(&NO_LINK));
        let jobs: Vec<LinkedJob<'_>> = (0..sent.batch.len()).map(job).collect();
        self.linked_calls(&jobs, false, sent.batch.batch_id())
    }

    fn add_linked(
        &self,
        calls: Vec<LinkedCall>,
        patience: Option<Arc<Patience>>,
        output: fn(AddedLinkedJobs) -> Output,
    ) -> Pending {
        self.start(move |queue| async move { queue.add_linked_jobs(calls, patience).await.map(output) })
    }
}

/// How many of the jobs fit into one call.
fn fitting(jobs: &[LinkedJob<'_>]) -> usize {
    let mut bytes = 0;
    let over = jobs.iter().take(MAX_JOBS).position(|job| {
        bytes += job.id.len() + job.data.len();
        bytes > MAX_BYTES
    });
    over.unwrap_or(jobs.len().min(MAX_JOBS)).max(1)
}

fn linked_job<'a>(base: &'a str, job: NewJob<'a>, link: &'a PyLink) -> LinkedJob<'a> {
    let (queue, made, is_parent, parent, deduplication) = link;
    let ids = match job.id {
        None | Some("") => Ids::Counter,
        Some(_) if *made => Ids::Made,
        Some(_) => Ids::Custom,
    };
    let run = LinkedRun {
        queue: if queue.is_empty() { base } else { queue },
        name: job.name,
        opts: job.opts,
        timestamp: job.timestamp,
        delay: job.delay,
        priority: job.priority,
        lifo: job.lifo,
        ids,
        is_parent: *is_parent,
        parent: parent.as_ref().map(|(key, json)| Parent { key, json }),
        deduplication: deduplication.as_ref().map(|(id, ttl, flags)| Deduplication { id, ttl: *ttl, flags }),
    };
    LinkedJob { run, id: job.id.unwrap_or_default(), data: job.data }
}
