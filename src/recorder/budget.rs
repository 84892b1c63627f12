//! How many events a history can take, and which jobs it keeps when there are more.

use std::time::{Duration, Instant};

/// So long may more events come than a history can take in the long run.
const BURST: Duration = Duration::from_secs(3);

/// Counts the events that are kept against those that can be written.
pub struct Budget {
    per_second: f64,
    left: f64,
    filled: Instant,
}

impl Budget {
    #[must_use]
    pub fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Budget { per_second, left: per_second * BURST.as_secs_f64(), filled: Instant::now() }
    }

    fn fill(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.filled).as_secs_f64();
        self.filled = now;
        self.left = (self.left + since * self.per_second).min(self.per_second * BURST.as_secs_f64());
    }

    /// Takes this many events out of it; false if it had not so many: then fewer jobs have to be kept.
    pub fn spend(&mut self, events: usize, now: Instant) -> bool {
        self.fill(now);
        self.left -= events as f64;
        let enough = self.left >= 0.0;
        if !enough {
            // The next sample has a moment to show what it saves.
            self.left = self.per_second * BURST.as_secs_f64() / 4.0;
        }
        enough
    }

    /// Whether hardly anything was spent lately: then more jobs can be kept.
    pub fn is_nearly_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.left >= 0.9 * self.per_second * BURST.as_secs_f64()
    }
}

/// Whether a job is in the sample of every `share`-th one, a power of two. A smaller sample is part of a larger one.
#[must_use]
pub fn in_sample(job: &str, share: u32) -> bool {
    share <= 1 || spread(job) & (u64::from(share) - 1) == 0
}

/// FNV-1a, whose low bits are then mixed: ids are often numbers in a row.
fn spread(job: &str) -> u64 {
    let hash = job
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_share_of_ids_in_a_row_and_lies_in_each_larger_one() {
        let ids: Vec<String> = (0..100_000).map(|id| id.to_string()).collect();
        for share in [2, 8, 64] {
            let kept = ids.iter().filter(|id| in_sample(id, share)).count() * share as usize;
            assert!((90_000..110_000).contains(&kept), "one of {share}: {kept}");
        }
        assert!(ids.iter().all(|id| in_sample(id, 1) && (in_sample(id, 8) || !in_sample(id, 16))));
    }

    #[test]
    fn a_burst_is_held_and_a_flood_is_not() {
        let mut budget = Budget::new(1_000);
        let begin = Instant::now();
        assert!(budget.spend(2_500, begin));
        assert!(!budget.is_nearly_full(begin));
        assert!(!budget.spend(2_500, begin));
        assert!(budget.is_nearly_full(begin + Duration::from_secs(10)));
    }
}
