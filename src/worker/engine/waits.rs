//! What the engine waits with, and in which order it waits for the markers of its lanes.

use std::time::{Duration, Instant};

use crate::spin_wait::SpinWait;
use crate::worker::fetch::MarkerWaiter;

/// A wait for more markers than this costs the server as much as some fetches: half a microsecond per marker.
const FEW_MARKERS: usize = 64;
/// So a worker that is woken again and again waits for all of many markers only so often, and for a few of them in
/// between.
const ALL_AGAIN: Duration = Duration::from_millis(50);
pub const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// What the engine waits with, and what it has seen while it waited.
pub struct Waiting {
    pub waiter: MarkerWaiter,
    pub spin: SpinWait,
    /// The lane that was looked at last although nothing said that it has jobs.
    pub looked_at: usize,
    pub order: WaitOrder,
    /// When the markers of queues without jobs were looked at while the worker waited for none.
    pub polled: Instant,
    /// How many jobs had been fetched when a wait for markers ended without one.
    pub empty_after: Option<u64>,
}

impl Waiting {
    pub fn new(waiter: MarkerWaiter) -> Self {
        Waiting {
            waiter,
            spin: SpinWait::default(),
            looked_at: 0,
            order: WaitOrder::default(),
            polled: Instant::now(),
            empty_after: None,
        }
    }
}

/// Where the next wait for markers begins, and when it is for those of a part of the lanes.
#[derive(Default)]
pub struct WaitOrder {
    from: usize,
    /// When the last wait for the markers of all lanes began.
    all_since: Option<Instant>,
}

impl WaitOrder {
    /// The positions of so many lanes: each time another one is the first.
    pub fn positions(&self, count: usize) -> impl Iterator<Item = usize> {
        let from = self.from % count.max(1);
        (from..count).chain(0..from)
    }

    /// How many of the lanes are waited for, and how long at most if these are not all.
    pub fn part(&mut self, lanes: usize, now: Instant) -> (usize, Option<Duration>) {
        let early = self.all_since.and_then(|at| ALL_AGAIN.checked_sub(now.saturating_duration_since(at)));
        if let Some(rest) = early.filter(|_| lanes > FEW_MARKERS) {
            self.from += FEW_MARKERS;
            return (FEW_MARKERS, Some(rest.max(SHORTEST_WAIT)));
        }
        self.all_since = Some(now);
        self.from += 1;
        (lanes, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_is_the_first_in_its_turn() {
        let mut order = WaitOrder::default();
        for first in [0, 1, 2, 0] {
            let positions: Vec<_> = order.positions(3).collect();
            assert_eq!(positions, [first, (first + 1) % 3, (first + 2) % 3]);
            order.part(3, Instant::now());
        }
        assert_eq!(order.positions(0).count(), 0);
    }

    #[test]
    fn all_of_many_markers_are_waited_for_only_so_often_and_a_few_in_between() {
        let (mut order, began) = (WaitOrder::default(), Instant::now());
        assert_eq!(order.part(200, began), (200, None));
        let early = began + ALL_AGAIN / 5;
        assert_eq!(order.part(200, early), (FEW_MARKERS, Some(ALL_AGAIN * 4 / 5)));
        assert_eq!(order.positions(200).next(), Some(1 + FEW_MARKERS), "then the next ones");
        assert_eq!(order.part(FEW_MARKERS, early), (FEW_MARKERS, None), "a few are no part");
        assert_eq!(order.part(200, early + ALL_AGAIN * 2), (200, None));
    }
}
