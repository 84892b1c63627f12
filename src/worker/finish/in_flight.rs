//! The finish calls in flight. While Redis works on one call, the next one is made, so that neither waits for the
//! other.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesOrdered, StreamExt};

use super::finisher::{Finisher, RoundTrip};
use crate::worker::fetch::FetchRequest;
use crate::worker::outcome::Outcome;

/// With more calls in flight, their replies would only wait for the client.
const MOST: usize = 2;

/// The calls in flight. They complete in the order in which they started.
#[derive(Default)]
pub struct InFlight {
    calls: FuturesOrdered<BoxFuture<'static, CompletedCall>>,
    leaving: usize,
    /// How many jobs each call fetches at most, in their order.
    coming: VecDeque<usize>,
}

/// A call that is complete, and the fetch that went with it.
pub struct CompletedCall {
    /// The position of the lane of its jobs.
    pub lane: usize,
    /// How many jobs it was to finish or move.
    pub leaving: usize,
    pub round_trip: RoundTrip,
    pub fetch: Option<FetchRequest>,
}

impl InFlight {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// How many jobs these calls finish or move.
    pub fn leaving(&self) -> usize {
        self.leaving
    }

    /// How many jobs these calls fetch at most.
    pub fn coming(&self) -> usize {
        self.coming.iter().sum()
    }

    /// How many batches of this size these calls fetch at most: the jobs of each may begin before the next ones come.
    pub fn batches_coming(&self, size: usize) -> usize {
        self.coming.iter().map(|count| count.div_ceil(size)).sum()
    }

    /// How many outcomes are worth a call now: one if no call is in flight, a good batch if there is one.
    pub fn fewest_to_send(&self, good_batch: usize) -> usize {
        match self.calls.len() {
            0 => 1,
            count if count < MOST => good_batch,
            _ => usize::MAX,
        }
    }

    /// Send the outcomes of jobs of one queue, and a fetch of that queue; without one, `leaves_slots` wakes another
    /// worker for the slots.
    pub fn start(
        &mut self,
        finisher: Arc<Finisher>,
        outcomes: Vec<Outcome>,
        fetch: Option<FetchRequest>,
        leaves_slots: bool,
    ) {
        let leaving = outcomes.len();
        self.leaving += leaving;
        self.coming.push_back(fetch.as_ref().map_or(0, |fetch| fetch.room.count));
        self.calls.push_back(Box::pin(async move {
            let round_trip = finisher.settle(outcomes, fetch.as_ref(), leaves_slots).await;
            CompletedCall { lane: finisher.lane.position, leaving, round_trip, fetch }
        }));
    }

    /// Wait for the next call to complete; `None` at once if there is no call. Safe to cancel.
    pub async fn next(&mut self) -> Option<CompletedCall> {
        let completed = self.calls.next().await?;
        self.leaving -= completed.leaving;
        self.coming.pop_front();
        Some(completed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{Link, Retry};

    /// The size of the future that a function returns, in bytes.
    fn size<A, F>(_: impl Fn(A) -> F) -> usize {
        std::mem::size_of::<F>()
    }

    #[test]
    fn what_few_calls_need_is_not_copied_with_each() {
        let batch = size(|(finisher, outcomes): (&'static Finisher, _)| finisher.settle(outcomes, None, false));
        assert!(batch <= 8_000, "{batch} bytes of a batch");
        let command = size(|(link, command): (&'static Link, &'static redis::Cmd)| link.call(command, Retry::Look));
        assert!(command <= 4_000, "{command} bytes of a command");
    }
}
