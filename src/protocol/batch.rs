//! Jobs to add, grouped into runs whose jobs differ only in id and data.

mod chunk;

use std::ops::Range;
use std::sync::Arc;

pub use chunk::{Chunk, Run, MAX_BYTES, MAX_JOBS};

use super::due;
use crate::error::Result;

/// One job to add. `opts` is JSON with BullMQ's short names; `id` `None` or "" = the queue's counter.
#[derive(Clone, Copy, Debug)]
pub struct NewJob<'a> {
    pub name: &'a str,
    pub data: &'a [u8],
    pub opts: &'a [u8],
    pub id: Option<&'a str>,
    pub timestamp: i64,
    pub delay: i64,
    pub priority: i64,
    pub lifo: bool,
}

/// Jobs to add, in one buffer: a job costs one copy of its payload and no allocation of its own.
#[derive(Clone, Debug, Default)]
pub struct JobBatch {
    /// The batch whose counter counts the jobs that are really added.
    counted_as: Option<Arc<str>>,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    heads: Vec<Head>,
}

/// Where a job's id and data lie in the buffer: data follows id.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: usize,
    id_length: u32,
    data_length: u32,
}

impl Slot {
    fn parts<'a>(&self, bytes: &'a [u8]) -> (&'a str, &'a [u8]) {
        let data = self.start + self.id_length as usize;
        let id = std::str::from_utf8(&bytes[self.start..data]).unwrap_or_default();
        (id, &bytes[data..data + self.data_length as usize])
    }
}

#[derive(Clone, Debug)]
struct Head {
    name: Range<usize>,
    opts: Range<usize>,
    timestamp: i64,
    delay: i64,
    priority: i64,
    lifo: bool,
    custom_ids: bool,
    first: usize,
}

impl JobBatch {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reserves room for `jobs` jobs of `bytes` bytes in all.
    #[must_use]
    pub fn with_capacity(jobs: usize, bytes: usize) -> Self {
        JobBatch { bytes: Vec::with_capacity(bytes), slots: Vec::with_capacity(jobs), ..Self::default() }
    }

    /// Lets Redis count the jobs that it really adds, in `ext:enq-<batch_id>`.
    #[must_use]
    pub fn counted_as(self, batch_id: Option<&str>) -> Self {
        JobBatch { counted_as: batch_id.map(Arc::from), ..self }
    }

    /// The id of the batch that counts the jobs.
    #[must_use]
    pub fn batch_id(&self) -> Option<&str> {
        self.counted_as.as_deref()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Appends a job; it joins the last run if it shares that run's header.
    ///
    /// # Panics
    /// When the id or the data is larger than 4 GiB.
    pub fn push(&mut self, job: NewJob<'_>) {
        let id = job.id.unwrap_or_default();
        if !self.heads.last().is_some_and(|head| head.fits(&self.bytes, &job, !id.is_empty())) {
            let head = Head {
                name: self.store(job.name.as_bytes()),
                opts: self.store(job.opts),
                timestamp: job.timestamp,
                delay: job.delay,
                priority: job.priority,
                lifo: job.lifo,
                custom_ids: !id.is_empty(),
                first: self.slots.len(),
            };
            self.heads.push(head);
        }
        let start = self.store(id.as_bytes()).start;
        self.store(job.data);
        let length = |bytes: usize| u32::try_from(bytes).expect("a job is smaller than 4 GiB");
        self.slots.push(Slot { start, id_length: length(id.len()), data_length: length(job.data.len()) });
    }

    /// Checks that no job of the batch would be due too late.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidOption`].
    pub fn check_due(&self) -> Result<()> {
        self.heads.iter().try_for_each(|head| due::check_delay(head.timestamp, head.delay))
    }

    fn store(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// The custom id of the job at `position`, "" if it has none.
    #[must_use]
    pub fn id(&self, position: usize) -> &str {
        self.slots[position].parts(&self.bytes).0
    }

    /// The job at `position`, as it was pushed.
    #[must_use]
    pub fn job(&self, position: usize) -> NewJob<'_> {
        let head = &self.heads[self.heads.partition_point(|head| head.first <= position) - 1];
        let (id, data) = self.slots[position].parts(&self.bytes);
        NewJob {
            name: std::str::from_utf8(&self.bytes[head.name.clone()]).unwrap_or_default(),
            data,
            opts: &self.bytes[head.opts.clone()],
            id: (!id.is_empty()).then_some(id),
            timestamp: head.timestamp,
            delay: head.delay,
            priority: head.priority,
            lifo: head.lifo,
        }
    }
}

impl Head {
    fn fits(&self, bytes: &[u8], job: &NewJob<'_>, custom_ids: bool) -> bool {
        self.custom_ids == custom_ids
            && self.timestamp == job.timestamp
            && self.delay == job.delay
            && self.priority == job.priority
            && self.lifo == job.lifo
            && bytes[self.name.clone()] == *job.name.as_bytes()
            && bytes[self.opts.clone()] == *job.opts
    }
}
