//! Jobs in one buffer, as they are sent.

use std::sync::{Arc, OnceLock};

use super::super::output::Output;
use super::compiled::Link;
use bullrush::protocol::{JobBatch, NewJob};

/// The jobs, and their ids once they are added.
#[derive(Default)]
pub struct Sent {
    pub batch: JobBatch,
    /// Position and link of the jobs that have relations.
    pub links: Vec<(usize, Arc<Link>)>,
    pub ids: OnceLock<Vec<String>>,
    /// The scheduler that made the job.
    pub scheduler_id: Option<String>,
}

impl Sent {
    pub fn push(&mut self, job: NewJob<'_>, link: Option<&Arc<Link>>) {
        self.links.extend(link.map(|link| (self.batch.len(), link.clone())));
        self.batch.push(job);
    }

    pub fn set_ids(&self, ids: Vec<String>) -> Output {
        // It is empty, since the same jobs are not added twice.
        let _ = self.ids.set(ids);
        Output::Nothing
    }

    pub fn link(&self, position: usize) -> Option<&Link> {
        let found = self.links.binary_search_by_key(&position, |(position, _)| *position).ok()?;
        Some(&self.links[found].1)
    }
}
