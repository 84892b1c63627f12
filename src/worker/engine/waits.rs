//! What the engine waits with, and in which order it waits for the markers of its lanes.

use std::time::{Duration, Instant};

use crate::spin_wait::SpinWait;
use crate::worker::fetch::MarkerWaiter;

/// A wait for more markers than this costs the server as much as some fetches: half a microsecond per marker.
const FEW_MARKERS: usize = 64;
/// So a worker that is woken again and again looks at all of many markers only so often, and waits for a few of them in
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
    /// A wait has ended with a marker: there may be more of them.
    pub woken: bool,
    /// When a lane may be served again that might not when this turn began. A limit may end while the turn decides what
    /// to wait for: then nothing else would say so.
    pub opening: Option<Instant>,
    /// Redis has refused a wait because of one of its markers.
    pub refused: bool,
    /// How many jobs had been fetched when a wait for markers ended without one.
    pub empty_after: Option<u64>,
    /// The wait is for the markers of all lanes.
    pub for_all: bool,
    /// When the jobs of all lanes were looked at, whatever their markers say; `None`: now is the time, since a wait for
    /// all has ended without a marker.
    pub looked_everywhere: Option<Instant>,
}

impl Waiting {
    pub fn new(waiter: MarkerWaiter) -> Self {
        Waiting {
            waiter,
            spin: SpinWait::default(),
            looked_at: 0,
            order: WaitOrder::default(),
            polled: Instant::now(),
            woken: false,
            opening: None,
            refused: false,
            empty_after: None,
            for_all: true,
            looked_everywhere: Some(Instant::now()),
        }
    }
}

/// Where the next wait for markers begins, and when it is for those of a part of the lanes.
#[derive(Default)]
pub struct WaitOrder {
    from: usize,
    /// When all markers were taken last, or a wait for those of all lanes began.
    all_since: Option<Instant>,
}

impl WaitOrder {
    /// The positions of so many lanes: each time another one is the first.
    pub fn positions(&self, count: usize) -> impl Iterator<Item = usize> {
        let from = self.from % count.max(1);
        (from..count).chain(0..from)
    }

    /// Whether the markers of that many lanes are to be taken now, instead of waiting for them one by one.
    pub fn takes_all(&mut self, lanes: usize, now: Instant) -> bool {
        let takes = lanes > FEW_MARKERS && self.too_early(now).is_none();
        if takes {
            self.all_since = Some(now);
        }
        takes
    }

    /// How long it is too early to look at all markers again.
    fn too_early(&self, now: Instant) -> Option<Duration> {
        self.all_since.and_then(|at| ALL_AGAIN.checked_sub(now.saturating_duration_since(at)))
    }

    /// How many of the lanes are waited for, and how long at most if these are not all.
    pub fn part(&mut self, lanes: usize, now: Instant) -> (usize, Option<Duration>) {
        if let Some(rest) = self.too_early(now).filter(|_| lanes > FEW_MARKERS) {
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

    #[test]
    fn all_of_many_markers_are_taken_only_so_often() {
        let (mut order, began) = (WaitOrder::default(), Instant::now());
        assert!(!order.takes_all(FEW_MARKERS, began), "each wait looks at a few of them");
        assert!(order.takes_all(200, began) && !order.takes_all(200, began + ALL_AGAIN / 2));
        assert_eq!(order.part(200, began), (FEW_MARKERS, Some(ALL_AGAIN)), "then the wait need not look at all");
        assert!(order.takes_all(200, began + ALL_AGAIN * 2));
    }
}
