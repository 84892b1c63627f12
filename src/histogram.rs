//! How often durations fell into fixed ranges, for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper limits of ranges, in us. Values above the last one are in a range of their own.
pub type Limits = &'static [u64];

/// Of handlers and of waiting jobs: 1 ms to an hour.
pub const OF_JOBS: Limits = &[
    1_000,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    5_000_000,
    15_000_000,
    60_000_000,
    300_000_000,
    3_600_000_000,
];

/// Of calls of Redis: 0.1 ms to 10 s.
pub const OF_CALLS: Limits =
    &[100, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 25_000, 100_000, 1_000_000, 10_000_000];

/// Counts durations per range. An observation is two relaxed additions.
pub struct Histogram {
    limits: Limits,
    counts: Box<[AtomicU64]>,
    total_us: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new(OF_JOBS)
    }
}

impl Histogram {
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let counts = (0..=limits.len()).map(|_| AtomicU64::default()).collect();
        Self { limits, counts, total_us: AtomicU64::default() }
    }

    pub fn observe(&self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let range = self.limits.partition_point(|limit| *limit < us);
        self.counts[range].fetch_add(1, Ordering::Relaxed);
        self.total_us.fetch_add(us, Ordering::Relaxed);
    }

    /// The number of values in each range, and the sum of all values.
    pub fn read(&self) -> (Vec<u64>, Duration) {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        (counts, Duration::from_micros(self.total_us.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_first_range_that_reaches_it() {
        let histogram = Histogram::new(OF_JOBS);
        for ms in [0, 1, 2, 3_600_000, 3_600_001] {
            histogram.observe(Duration::from_millis(ms));
        }
        let (counts, total) = histogram.read();
        assert_eq!((counts[0], counts[1], counts[13], counts[14]), (2, 1, 1, 1));
        assert_eq!(total, Duration::from_millis(7_200_004));
    }
}
