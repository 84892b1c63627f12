//! Adding jobs.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::super::arrow::{self, PyAutoIds};
use super::super::output::Output;
use super::super::pending::Pending;
use super::super::runtime::Core;
use super::new_job::{with_job, PyLink, PyNewJob, NO_LINK};
use super::new_jobs::PyNewJobs;
use super::CoreQueue;
use crate::arrow::RowPlan;
use crate::error::Result;
use crate::protocol::batch::{Run, MAX_BYTES, MAX_JOBS};
use crate::protocol::{JobBatch, NewJob};
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
        let jobs: Vec<LinkedJob<'_>> = (0..sent.batch.len())
            .map(|at| linked_job(self.keys.base(), sent.batch.job(at), sent.link(at).unwrap_or(&NO_LINK)))
            .collect();
        let calls = self.linked_calls(&jobs, false);
        drop(jobs);
        self.start(|queue| async move {
            let added = queue.add_linked_jobs(calls).await?;
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
        let calls = self.linked_calls(&linked.collect::<Vec<_>>(), whole);
        Ok(self.add_linked(calls, |added| Output::AddedLinkedJobs(added.ids, added.left_out, added.unattached)))
    }

    #[pyo3(signature = (source, name, name_column, data_columns, id_column, auto_ids, opts, timestamp, delay, priority, lifo, link))]
    #[allow(clippy::too_many_arguments)]
    fn add_arrow(
        &self,
        source: &Bound<'_, PyAny>,
        name: Option<&str>,
        name_column: Option<String>,
        data_columns: Option<Vec<String>>,
        id_column: Option<String>,
        auto_ids: Option<&PyAutoIds>,
        opts: &Bound<'_, PyBytes>,
        timestamp: i64,
        delay: i64,
        priority: i64,
        lifo: bool,
        link: Option<PyLink>,
    ) -> PyResult<Pending> {
        let plan = RowPlan { name: name_column, id: id_column, data: data_columns };
        let rows = arrow::rows(source, &plan, auto_ids)?;
        // Unused when a column gives the names.
        let name = name.unwrap_or_default();
        let common = NewJob { name, data: b"", opts: opts.as_bytes(), id: None, timestamp, delay, priority, lifo };
        let batch = source.py().detach(|| {
            let bytes = rows.iter().map(|rows| rows.len() * 128).sum();
            let mut batch = JobBatch::with_capacity(rows.iter().map(|rows| rows.len()).sum(), bytes);
            rows.iter().flat_map(|rows| rows.jobs(common)).for_each(|job| batch.push(job));
            batch
        });
        let Some(link) = link else {
            return Ok(self.add_batch(batch));
        };
        let calls = batch.chunks().map(|chunk| {
            let jobs: Vec<LinkedJob<'_>> =
                chunk.runs().iter().flat_map(|run| linked_run(self.keys.base(), run, &link)).collect();
            add_linked_jobs_call(&self.keys, &jobs)
        });
        Ok(self.add_linked(calls.collect(), |added| Output::AddedJobs(added.ids, added.left_out)))
    }
}

impl CoreQueue {
    fn linked_calls(&self, jobs: &[LinkedJob<'_>], whole: bool) -> Vec<LinkedCall> {
        let mut calls = Vec::new();
        let mut rest = jobs;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(if whole { rest.len() } else { fitting(rest) });
            calls.push(add_linked_jobs_call(&self.keys, part));
            rest = after;
        }
        calls
    }

    fn add_linked(&self, calls: Vec<LinkedCall>, output: fn(AddedLinkedJobs) -> Output) -> Pending {
        self.start(move |queue| async move { queue.add_linked_jobs(calls).await.map(output) })
    }

    fn add_batch(&self, batch: JobBatch) -> Pending {
        self.start(|queue| async move {
            let added = queue.add_jobs(&batch).await?;
            Ok(Output::AddedJobs(added.ids, added.duplicates))
        })
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

fn linked_run<'a>(base: &'a str, run: &Run<'a>, link: &'a PyLink) -> Vec<LinkedJob<'a>> {
    let Run { name, opts, timestamp, delay, priority, lifo, .. } = *run;
    run.jobs()
        .map(|(id, data)| {
            linked_job(base, NewJob { name, data, opts, id: Some(id), timestamp, delay, priority, lifo }, link)
        })
        .collect()
}
