//! What was read of queues, on its way to the history.

use std::collections::BTreeMap;

use super::event::{Event, Minute};
use super::stream::Gap;
use crate::error::Error;

/// What was read of one queue.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// "" if a whole server cannot be read.
    pub queue: String,
    /// From where to read on.
    pub position: String,
    /// In their order, of one job in `share`.
    pub events: Vec<Event>,
    /// How many events there were by the minutes since 1970, in the order of [`super::Kind::ALL`], of all jobs.
    pub minutes: BTreeMap<i64, Minute>,
    pub gap: Option<Gap>,
    /// When the oldest entry came, at the first read of a stream from its beginning.
    pub since: Option<i64>,
    pub share: u32,
    /// Why the queue cannot be read; reported once as long as it lasts.
    pub error: Option<Error>,
}

impl Seen {
    /// Whether `later`, the next read of the same queue, only goes on with this one.
    pub(super) fn goes_on_with(&self, later: &Seen) -> bool {
        let (none, share) = (later.gap.is_none() && later.since.is_none(), later.share == self.share);
        none && share && later.error.is_none() && self.error.is_none()
    }

    /// Takes in a read that only goes on with this one.
    pub(super) fn join(&mut self, later: Seen) {
        self.position = later.position;
        self.events.extend(later.events);
        for (minute, counts) in later.minutes {
            let sum: &mut Minute = self.minutes.entry(minute).or_default();
            for (sum, count) in sum.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }

    /// How much of a memory it takes: one for each event, more for a long text.
    pub(super) fn weight(&self) -> usize {
        1 + self.events.iter().map(Event::weight).sum::<usize>()
    }
}

/// What was read of all queues.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub seen: Vec<Seen>,
    /// Everything that was written before this time, in ms, is in this batch or in one before, but for queues that
    /// cannot be read; `None` if that is not known yet.
    pub until: Option<i64>,
}
