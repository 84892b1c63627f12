//! Which jobs a history keeps when there are more events than it can take.

use std::time::{Duration, Instant};

/// So long may more events come than are written in the long run.
const BURST: Duration = Duration::from_secs(15);
/// Fewer jobs are kept from this level on, half as many with each further step.
const HIGH: f64 = 0.7;
const STEP: f64 = 0.03;
/// Below this level more jobs can be kept again.
const LOW: f64 = 0.25;
/// At least every 1,024th job is kept.
const SMALLEST: u32 = 1_024;
/// So long a sample stays before more jobs are kept.
const STAYS: Duration = Duration::from_secs(10);

/// Counts the events that are kept against those that may be written in the long run.
pub(super) struct Budget {
    per_second: f64,
    owed: f64,
    paid: Instant,
}

impl Budget {
    pub fn new(per_second: u32, now: Instant) -> Self {
        Budget { per_second: f64::from(per_second), owed: 0.0, paid: now }
    }

    pub fn spend(&mut self, events: usize, now: Instant) {
        self.pay(now);
        self.owed += events as f64;
    }

    /// What the queues ask of each of them. `held` is how much of the memory is used up: 1 is all.
    pub fn pressure(&mut self, held: f64, queues: usize, now: Instant) -> Pressure {
        self.pay(now);
        let level = self.owed / (self.per_second * BURST.as_secs_f64());
        // If the memory fills, the file takes less than was hoped: then no queue is sure of its part.
        let per_second = if held < HIGH { self.per_second } else { 0.0 };
        Pressure::new(level.max(held), per_second, queues)
    }

    fn pay(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.paid).as_secs_f64();
        self.paid = now;
        self.owed = (self.owed - since * self.per_second).max(0.0);
    }
}

/// What all queues together ask of one that may keep too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pressure {
    /// A queue should keep at most one job in so many.
    share: u32,
    /// But not a queue to which fewer events per second come: they would fit if all queues had so many.
    part: f64,
    is_low: bool,
}

impl Pressure {
    /// Whether queues should keep fewer jobs.
    pub fn is_high(self) -> bool {
        self.share > 1
    }

    /// `level` is how much of what can be held is used up, `per_second` how many events all `queues` may have.
    pub fn new(level: f64, per_second: f64, queues: usize) -> Self {
        let steps = if level < HIGH { 0 } else { 1 + ((level - HIGH) / STEP) as u32 };
        let share = 1_u32.checked_shl(steps).map_or(SMALLEST, |share| share.min(SMALLEST));
        Pressure { share, part: per_second / queues.max(1) as f64, is_low: level < LOW }
    }
}

/// The sample of one queue.
pub(super) struct Sample {
    /// Every how many-th job is kept.
    pub share: u32,
    since: Instant,
    /// How many events came lately: of a second, where older ones count less.
    lately: f64,
    counted: Instant,
}

impl Sample {
    pub fn new(now: Instant) -> Self {
        Sample { share: 1, since: now, lately: 0.0, counted: now }
    }

    /// Notes how many events were kept, and changes the share for those that come next.
    pub fn adapt(&mut self, kept: usize, pressure: Pressure, now: Instant) {
        let passed = now.saturating_duration_since(self.counted).as_secs_f64();
        self.lately = self.lately * (-passed).exp() + kept as f64;
        self.counted = now;
        if pressure.share > self.share && self.lately > pressure.part {
            (self.share, self.since) = (pressure.share, now);
        } else if self.share > 1 && pressure.is_low && now.saturating_duration_since(self.since) > STAYS {
            (self.share, self.since) = (self.share / 2, now);
        }
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
    fn a_burst_is_kept_whole_and_a_flood_is_not() {
        let begin = Instant::now();
        let mut budget = Budget::new(1_000, begin);
        budget.spend(10_000, begin);
        assert_eq!(budget.pressure(0.0, 1, begin).share, 1);
        budget.spend(1_000, begin);
        assert_eq!(budget.pressure(0.0, 1, begin).share, 4);
        budget.spend(1_000_000, begin);
        assert_eq!(budget.pressure(0.0, 1, begin).share, SMALLEST);
        assert_eq!(budget.pressure(0.0, 1, begin + Duration::from_secs(2_000)).share, 1);
    }

    #[test]
    fn what_is_held_unwritten_counts_as_much_as_what_was_spent() {
        let now = Instant::now();
        let pressure = Budget::new(1_000, now).pressure(0.71, 1, now);
        assert_eq!((pressure.share, pressure.part), (2, 0.0));
    }

    #[test]
    fn a_queue_that_takes_less_than_its_part_is_kept_whole_beside_a_flood() {
        let now = Instant::now();
        let (mut quiet, mut flood) = (Sample::new(now), Sample::new(now));
        let pressure = Pressure::new(0.8, 1_000.0, 10);
        quiet.adapt(90, pressure, now);
        flood.adapt(5_000, pressure, now);
        assert_eq!((quiet.share, flood.share), (1, 16));
    }

    #[test]
    fn more_jobs_are_kept_again_some_time_after_the_flood() {
        let now = Instant::now();
        let mut sample = Sample::new(now);
        sample.adapt(5_000, Pressure::new(0.7, 1_000.0, 1), now);
        assert_eq!(sample.share, 2);
        for (seconds, level, share) in [(9, 0.0, 2), (11, 0.3, 2), (11, 0.2, 1)] {
            sample.adapt(0, Pressure::new(level, 1_000.0, 1), now + Duration::from_secs(seconds));
            assert_eq!(sample.share, share, "after {seconds} s at {level}");
        }
    }
}
