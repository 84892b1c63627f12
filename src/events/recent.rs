//! The ends of jobs that were read lately, for callers that ask a moment too late about a job that was removed when it
//! ended.

use std::collections::{HashMap, VecDeque};

/// How a job ended: the event and its result, reason or former state.
pub type JobEnd = (&'static str, String);

const MAX_ENDS: usize = 1_000;
const MAX_BYTES: usize = 4 << 20;

#[derive(Default)]
pub struct Recent {
    by_job: HashMap<String, JobEnd>,
    order: VecDeque<(String, usize)>,
    bytes: usize,
}

impl Recent {
    pub fn get(&self, job_id: &str) -> Option<&JobEnd> {
        self.by_job.get(job_id)
    }

    pub fn note(&mut self, job_id: &str, end: &JobEnd) {
        let size = job_id.len() + end.1.len();
        self.by_job.insert(job_id.to_owned(), end.clone());
        self.order.push_back((job_id.to_owned(), size));
        self.bytes += size;
        while self.order.len() > MAX_ENDS || self.bytes > MAX_BYTES {
            let Some((oldest, size)) = self.order.pop_front() else { return };
            self.bytes -= size;
            self.by_job.remove(&oldest);
        }
    }
}
