//! Adding jobs, one by one and in batches.

use std::future::Future;
use std::sync::Arc;

use super::adder::{AddedJobs, Adder};
use super::coalescer::{CoalescedCall, OnDone};
use super::handle::QueueHandle;
use crate::error::Result;
use crate::protocol::{due, JobBatch, NewJob};
use crate::scripts::OomWait;

impl QueueHandle {
    /// Takes one job to add. If a future is returned, the caller must run it: it sends this job, and those that are
    /// added meanwhile.
    ///
    /// `on_done` gets what a call of its own would return: an id, [`crate::error::Error::InvalidOption`] for a job that
    /// would be due too late, [`crate::error::Error::OutcomeUnknown`] when the reply got lost and the id is automatic,
    /// or what [`crate::connection::Link::call`] returns.
    pub fn add_job(
        self: &Arc<Self>,
        job: NewJob<'_>,
        on_done: OnDone,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        if let Err(error) = due::check_delay(job.timestamp, job.delay) {
            on_done(Err(error));
            return None;
        }
        // A job that waits for a connection goes alone: jobs that share its call would share its timeout as well.
        let alone = !self.is_connected_and_prepared();
        let on_done = if alone { on_done } else { self.single.append(job, on_done)? };
        let call = CoalescedCall::new(job, on_done);
        let queue = self.clone();
        Some(async move {
            match queue.writable().await {
                Ok(()) => call.send(&queue.adding, &queue.link, queue.options.wake).await,
                Err(error) => call.fail(&error),
            }
            while let Some(next) = if alone { None } else { queue.single.next() } {
                let link = queue.link.after_waiting(next.waited());
                next.send(&queue.adding, &link, queue.options.wake).await;
            }
        })
    }

    /// Adds jobs in order; large batches go in parts of which several are in flight.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidOption`] with nothing sent: a job would be due too late.
    /// [`crate::error::Error::OutcomeUnknown`] when a reply got lost and ids are automatic: parts of the batch may be
    /// there.
    pub async fn add_jobs(&self, batch: &JobBatch) -> Result<AddedJobs> {
        self.add_jobs_waiting_for_memory(batch, None).await
    }

    /// As [`QueueHandle::add_jobs`]; with oom_wait it waits while the memory of the server is full.
    ///
    /// # Errors
    /// See [`QueueHandle::add_jobs`].
    pub async fn add_jobs_waiting_for_memory(
        &self,
        batch: &JobBatch,
        oom_wait: Option<Arc<OomWait>>,
    ) -> Result<AddedJobs> {
        // Before the first connection is made.
        batch.check_due()?;
        self.writable().await?;
        // Only batches of more than one call use the bulk link.
        let link = if batch.chunks().nth(1).is_none() { &self.link } else { &self.bulk };
        self.adding
            .run(link, |link| async {
                let mut adder =
                    Adder::new(link.clone(), self.keys.clone(), self.options.wake).waiting_for_memory(oom_wait);
                adder.add(batch).await?;
                adder.finish().await
            })
            .await
    }

    /// Opens a stream of batches into the queue.
    ///
    /// # Errors
    /// See [`QueueHandle::ready`].
    pub async fn adder(&self) -> Result<Adder> {
        self.writable().await?;
        Ok(Adder::new(self.bulk.clone(), self.keys.clone(), self.options.wake))
    }
}
