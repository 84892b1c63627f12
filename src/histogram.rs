//! How often values fell into fixed ranges, for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper limits of the ranges in ms. Values above the last one are in a range of their own.
pub const LIMITS_MS: [u64; 14] = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 5000, 15_000, 60_000, 300_000, 3_600_000];

/// Counts durations per range. An observation is two relaxed additions.
#[derive(Default)]
pub struct Histogram {
    counts: [AtomicU64; LIMITS_MS.len() + 1],
    total_us: AtomicU64,
}

impl Histogram {
    pub fn observe(&self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let range = LIMITS_MS.partition_point(|limit| limit * 1000 < us);
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
        let histogram = Histogram::default();
        for ms in [0, 1, 2, 3_600_000, 3_600_001] {
            histogram.observe(Duration::from_millis(ms));
        }
        let (counts, total) = histogram.read();
        assert_eq!((counts[0], counts[1], counts[13], counts[14]), (2, 1, 1, 1));
        assert_eq!(total, Duration::from_millis(7_200_004));
    }
}
