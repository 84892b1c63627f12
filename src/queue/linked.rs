//! Adding jobs that have a parent, children or a deduplication id.

use std::sync::Arc;

use super::handle::QueueHandle;
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::scripts::add::{add_linked_jobs, AddedLinkedJobs, LinkedCall};
use crate::scripts::OomWait;

impl QueueHandle {
    /// Adds the jobs of several calls in order; each call is stored as a whole or not at all. With oom_wait it waits
    /// while the memory of the server is full.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] when a job would be due too late; [`Error::QueueName`] when the keys are in several
    /// slots of a cluster; [`Error::Code`] -5 or -7 when a parent does not allow it; [`Error::OutcomeUnknown`] when a
    /// reply got lost. Jobs of earlier calls stay added.
    pub async fn add_linked_jobs(
        &self,
        calls: Vec<LinkedCall>,
        oom_wait: Option<Arc<OomWait>>,
    ) -> Result<AddedLinkedJobs> {
        calls.iter().try_for_each(LinkedCall::check_due)?;
        self.writable().await?;
        let link = if calls.len() == 1 { &self.link } else { &self.bulk };
        if self.link.ready().await?.cluster {
            calls.iter().try_for_each(LinkedCall::check_slot)?;
        }
        self.adding.run(link, |link| self.add_linked_on(link, &calls, oom_wait)).await
    }

    async fn add_linked_on(
        &self,
        link: &Link,
        calls: &[LinkedCall],
        oom_wait: Option<Arc<OomWait>>,
    ) -> Result<AddedLinkedJobs> {
        let mut added = AddedLinkedJobs::default();
        for call in calls {
            let linked = add_linked_jobs(link, &self.keys, call, self.options.wake, oom_wait.as_deref()).await;
            let linked = linked.map_err(|error| with_counts(error, added.ids.len(), call.len()))?;
            let first = added.ids.len();
            added.left_out.extend(linked.left_out.into_iter().map(|position| first + position));
            added.unattached.extend(linked.unattached.into_iter().map(|position| first + position));
            added.ids.extend(linked.ids);
        }
        Ok(added)
    }
}

fn with_counts(error: Error, before: usize, now: usize) -> Error {
    match error {
        Error::OutcomeUnknown(reason) => Error::OutcomeUnknown(format!(
            "{reason}; {before} jobs were added before, and either all or none of the next {now}. Jobs with an id of \
             yours may be added again: those that exist are not added twice"
        )),
        other => other,
    }
}
