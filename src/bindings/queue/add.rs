//! Adding jobs.

use std::sync::Arc;

use pyo3::prelude::*;

use super::super::arrow;
use super::super::output::Output;
use super::super::pending::Pending;
use super::super::runtime::Core;
use super::compiled::{Link, Relations, NO_LINK};
use super::new_jobs::PyNewJobs;
use super::row_plan::PyRowPlan;
use super::sent::Sent;
use super::CoreQueue;
use bullrush::error::Result;
use bullrush::protocol::batch::{MAX_BYTES, MAX_JOBS};
use bullrush::protocol::NewJob;
use bullrush::queue::OomWait;
use bullrush::scripts::add::{
    add_linked_jobs_call, AddedLinkedJobs, Deduplication, Ids, LinkedCall, LinkedJob, LinkedRun, Parent,
};

#[pymethods]
impl CoreQueue {
    /// Add jobs; their records have ids when this is done. A job alone goes with others that are added while a call is
    /// in flight.
    fn add_jobs(&self, jobs: &PyNewJobs) -> Pending {
        let sent = jobs.seal();
        if !sent.links.is_empty() {
            let calls = self.calls_of(&sent, false);
            return self.add_linked(calls, None, move |added| sent.set_ids(added.ids));
        }
        if sent.batch.len() != 1 {
            return self.start(|queue| async move {
                let added = queue.add_jobs(&sent.batch).await?;
                Ok(sent.set_ids(added.ids))
            });
        }
        let (pending, sender) = Pending::open();
        let added = sent.clone();
        let on_done = Box::new(move |id: Result<String>| sender.send(id.map(|id| added.set_ids(vec![id]))));
        if let Some(sending) = self.handle().add_job(sent.batch.job(0), on_done) {
            Core::current().spawn(sending);
        }
        pending
    }

    /// Add the jobs of flows, all of them or none; return the positions of those that were not stored, and among them
    /// those that their parent does not wait for.
    fn add_flows(&self, jobs: &PyNewJobs) -> Pending {
        let sent = jobs.seal();
        let calls = self.calls_of(&sent, true);
        self.add_linked(calls, None, move |added| {
            sent.set_ids(added.ids);
            Output::of((added.left_out, added.unattached))
        })
    }

    /// Add the rows of Arrow data as jobs; `now` is the time of the add.
    fn add_arrow(&self, source: &Bound<'_, PyAny>, plan: &Bound<'_, PyRowPlan>, now: i64) -> PyResult<Pending> {
        let (py, plan) = (source.py(), plan.get());
        let rows = arrow::rows(source, &plan.plan, plan.auto_ids.as_ref().map(Py::get))?;
        let sent = plan.jobs(py, &rows, now)?;
        let oom_wait = plan.oom_wait.clone();
        if sent.links.is_empty() {
            return Ok(self.start(|queue| async move {
                let added = queue.add_jobs_waiting_for_memory(&sent.batch, oom_wait).await?;
                Ok(Output::AddedJobs(added.ids, added.duplicates))
            }));
        }
        let calls = py.detach(|| self.calls_of(&sent, false));
        Ok(self.add_linked(calls, oom_wait, |added| Output::AddedJobs(added.ids, added.left_out)))
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

    fn calls_of(&self, sent: &Sent, whole: bool) -> Vec<LinkedCall> {
        let job = |at| linked_job(self.keys.base(), sent.batch.job(at), sent.link(at).unwrap_or(&NO_LINK));
        let jobs: Vec<LinkedJob<'_>> = (0..sent.batch.len()).map(job).collect();
        self.linked_calls(&jobs, whole, sent.batch.batch_id())
    }

    fn add_linked(
        &self,
        calls: Vec<LinkedCall>,
        oom_wait: Option<Arc<OomWait>>,
        output: impl FnOnce(AddedLinkedJobs) -> Output + Send + 'static,
    ) -> Pending {
        self.start(move |queue| async move { queue.add_linked_jobs(calls, oom_wait).await.map(output) })
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

fn linked_job<'a>(base: &'a str, job: NewJob<'a>, link: &'a Link) -> LinkedJob<'a> {
    let ids = match job.id {
        None | Some("") => Ids::Counter,
        Some(_) if link.made => Ids::Made,
        Some(_) => Ids::Custom,
    };
    let Relations { parent, deduplication } = &link.relations;
    let run = LinkedRun {
        queue: if link.queue.is_empty() { base } else { &link.queue },
        name: job.name,
        opts: job.opts,
        timestamp: job.timestamp,
        delay: job.delay,
        priority: job.priority,
        lifo: job.lifo,
        ids,
        is_parent: link.is_parent,
        parent: parent.as_ref().map(|parent| Parent { key: &parent.key, json: &parent.json }),
        deduplication: deduplication.as_ref().map(|rule| Deduplication {
            id: &rule.id,
            ttl: rule.ttl,
            flags: &rule.flags,
        }),
    };
    LinkedJob { run, id: job.id.unwrap_or_default(), data: job.data }
}
