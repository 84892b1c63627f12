//! The parts of a batch that go in one script call each, and their runs.

use std::ops::Range;

use super::{JobBatch, Slot};

/// Jobs per script call: more would keep other clients waiting.
pub const MAX_JOBS: usize = 250;
/// Payload bytes per script call; a single larger job goes alone.
pub const MAX_BYTES: usize = 1 << 20;

/// A part of a batch that fits into one script call.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    batch: &'a JobBatch,
    first: usize,
    end: usize,
}

/// A block of consecutive jobs with equal name, options, times, priority and kind of id.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub name: &'a str,
    pub opts: &'a [u8],
    pub timestamp: i64,
    pub delay: i64,
    pub priority: i64,
    pub lifo: bool,
    pub custom_ids: bool,
    jobs: &'a [Slot],
    bytes: &'a [u8],
}

impl<'a> Run<'a> {
    #[must_use]
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The (id, data) of each job; the id is empty when ids come from the counter.
    pub fn jobs(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        let bytes = self.bytes;
        self.jobs.iter().map(move |slot| slot.parts(bytes))
    }
}

impl JobBatch {
    /// Splits the batch into parts of at most [`MAX_JOBS`] jobs and about [`MAX_BYTES`] bytes, in order.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk<'_>> {
        let mut first = 0;
        std::iter::from_fn(move || {
            let chunk = self.chunk_at(first)?;
            first = chunk.end;
            Some(chunk)
        })
    }

    /// The part that starts at job `first`; `None` after the last job.
    #[must_use]
    pub fn chunk_at(&self, first: usize) -> Option<Chunk<'_>> {
        let mut room = MAX_BYTES;
        let rest = self.slots.get(first..)?.iter().take(MAX_JOBS);
        let fitting = rest.take_while(|slot| {
            let size = (slot.id_length + slot.data_length) as usize;
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        });
        let count = fitting.count();
        let end = (first + count.max(1)).min(self.slots.len());
        (first < end).then_some(Chunk { batch: self, first, end })
    }
}

impl<'a> Chunk<'a> {
    /// The id of the batch that counts its jobs.
    #[must_use]
    pub fn batch_id(&self) -> Option<&'a str> {
        self.batch.batch_id()
    }

    /// The positions of its jobs in the batch.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.first..self.end
    }

    /// Its runs, in order; a run of the batch that does not fit into this part is cut.
    #[must_use]
    pub fn runs(&self) -> Vec<Run<'a>> {
        let JobBatch { bytes, slots, heads, .. } = self.batch;
        let start = heads.partition_point(|head| head.first <= self.first) - 1;
        let ends = heads[start + 1..].iter().map(|head| head.first).chain([slots.len()]);
        let inside = heads[start..].iter().zip(ends).take_while(|(head, _)| head.first < self.end);
        inside
            .map(|(head, end)| Run {
                name: std::str::from_utf8(&bytes[head.name.clone()]).unwrap_or_default(),
                opts: &bytes[head.opts.clone()],
                timestamp: head.timestamp,
                delay: head.delay,
                priority: head.priority,
                lifo: head.lifo,
                custom_ids: head.custom_ids,
                jobs: &slots[head.first.max(self.first)..end.min(self.end)],
                bytes,
            })
            .collect()
    }
}

impl Run<'_> {
    /// Bytes of its ids and payloads.
    #[must_use]
    pub fn size(&self) -> usize {
        self.jobs.iter().map(|slot| (slot.id_length + slot.data_length) as usize).sum()
    }
}
