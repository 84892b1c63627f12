//! Finish calls on their way: while Redis works on one, the next is made, so that neither waits for the other.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesOrdered, StreamExt};

use super::fetcher::Order;
use super::finisher::{Finisher, Round};
use super::outcome::Outcome;

/// With more, replies wait for the client instead.
const MOST: usize = 2;

/// Land in the order they started.
pub struct Flights {
    finisher: Arc<Finisher>,
    aloft: FuturesOrdered<BoxFuture<'static, (usize, Landed)>>,
    leaving: usize,
    coming: usize,
}

/// A round trip that is over, and the fetch that rode on it.
pub struct Landed {
    pub round: Round,
    pub ride: Option<Order>,
}

impl Flights {
    pub fn new(finisher: Finisher) -> Self {
        Self { finisher: Arc::new(finisher), aloft: FuturesOrdered::new(), leaving: 0, coming: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.aloft.is_empty()
    }

    /// Jobs on their way out.
    pub fn leaving(&self) -> usize {
        self.leaving
    }

    /// Jobs that were asked for.
    pub fn coming(&self) -> usize {
        self.coming
    }

    /// How many outcomes are worth a call now: any while none is on its way, then only a good batch.
    pub fn fewest_to_send(&self, many: usize) -> usize {
        match self.aloft.len() {
            0 => 1,
            count if count < MOST => many,
            _ => usize::MAX,
        }
    }

    pub fn start(&mut self, outcomes: Vec<Outcome>, ride: Option<Order>) {
        let leaving = outcomes.len();
        self.leaving += leaving;
        self.coming += ride.as_ref().map_or(0, |ride| ride.count);
        let finisher = self.finisher.clone();
        self.aloft.push_back(Box::pin(async move {
            let round = finisher.settle(outcomes, ride.as_ref()).await;
            (leaving, Landed { round, ride })
        }));
    }

    /// Wait for the next landing; `None` at once when there is nothing to wait for. Safe to cancel.
    pub async fn next(&mut self) -> Option<Landed> {
        let (leaving, landed) = self.aloft.next().await?;
        self.leaving -= leaving;
        self.coming -= landed.ride.as_ref().map_or(0, |ride| ride.count);
        Some(landed)
    }
}
