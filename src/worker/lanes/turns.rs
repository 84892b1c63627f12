//! Whose turn it is among lanes of one tier: smooth weighted round robin with a bound. Which lanes may have it is in
//! `worker/engine/next_turn.rs`.

/// Shares the turns of a worker among its lanes.
///
/// Lanes that always have jobs get to start jobs in proportion to their weights, spread evenly. And with `W` the sum of
/// the weights of the lanes that wait, each of them gets a turn within `W` turns, also while others come and go.
#[derive(Default)]
pub struct Turns {
    lanes: Vec<Waiting>,
    /// How many turns were given.
    given: u64,
}

#[derive(Clone, Default)]
struct Waiting {
    /// The credit of round robin: grows with each job that starts, and the turn goes to the highest one.
    credit: i64,
    /// 0 unless it waits.
    weight: i64,
    /// Since how many given turns it waits; `None`: it does not wait.
    since: Option<u64>,
    /// `since` before its last turn.
    since_before: Option<u64>,
}

impl Turns {
    /// Give the next turn to one of the lanes that wait: (position, weight), by position. `None` if none waits. It
    /// counts as one job, see [`Self::settle`]. A lane that does not wait loses its credit, unless it `stays`: it has
    /// jobs, but may not take any now.
    pub fn next(&mut self, waiting: &[(usize, u32)], stays: impl Fn(usize) -> bool) -> Option<usize> {
        let (last, _) = waiting.last()?;
        self.lanes.resize(self.lanes.len().max(last + 1), Waiting::default());
        let mut rest = waiting.iter().peekable();
        let (mut owed, mut count) = (0, 0);
        for (position, lane) in self.lanes.iter_mut().enumerate() {
            match rest.next_if(|(waits, _)| *waits == position) {
                Some((_, weight)) => {
                    lane.weight = i64::from(*weight);
                    lane.since.get_or_insert(self.given);
                }
                None if stays(position) => (lane.weight, lane.since) = (0, None),
                None => {
                    *lane = Waiting::default();
                    continue;
                }
            }
            (owed, count) = (owed + lane.credit, count + 1);
        }
        // What is owed to lanes that do not wait any more is owed to nobody.
        let (surplus, total) = (owed / count, self.total());
        for lane in self.lanes.iter_mut().filter(|lane| lane.weight > 0) {
            lane.credit += lane.weight - surplus;
        }
        let mut oldest_first: Vec<usize> = waiting.iter().map(|(position, _)| *position).collect();
        oldest_first.sort_by_key(|position| self.lanes[*position].since);
        let chosen = if self.is_late(&oldest_first, total) {
            oldest_first[0]
        } else {
            // Of equal ones the one that waits longest.
            oldest_first.into_iter().rev().max_by_key(|position| self.lanes[*position].credit)?
        };
        self.given += 1;
        let lane = &mut self.lanes[chosen];
        lane.credit -= total;
        lane.since_before = lane.since.replace(self.given);
        Some(chosen)
    }

    /// So many jobs have come with a turn.
    pub fn settle(&mut self, position: usize, jobs: usize) {
        let more = i64::try_from(jobs).unwrap_or(i64::MAX).saturating_sub(1);
        let total = self.total();
        if self.lanes.get(position).is_some_and(|lane| lane.weight > 0) {
            self.lanes.iter_mut().for_each(|lane| lane.credit += lane.weight * more);
            self.lanes[position].credit -= total * more;
        }
    }

    /// A turn could bring no job, since the lane had reached its limit: it does not count. A small limit has as many
    /// such turns as others.
    pub fn take_back(&mut self, position: usize) {
        self.settle(position, 0);
        self.given = self.given.saturating_sub(1);
        if let Some(lane) = self.lanes.get_mut(position).filter(|lane| lane.since.is_some()) {
            lane.since = lane.since_before;
        }
    }

    /// The part of so many jobs that a lane may take in its turn: in proportion to its weight, at least one.
    pub fn part(&self, position: usize, jobs: usize) -> usize {
        let (weight, total) = (self.lanes.get(position).map_or(0, |lane| lane.weight), self.total());
        let part = usize::try_from(weight).unwrap_or(0).saturating_mul(jobs);
        if weight > 0 {
            part.div_ceil(usize::try_from(total).unwrap_or(1))
        } else {
            jobs
        }
    }

    fn total(&self) -> i64 {
        self.lanes.iter().map(|lane| lane.weight).sum()
    }

    /// Whether from now on the turns must go to the lanes that wait longest: the first so many of them would otherwise
    /// wait for more than `total` turns.
    fn is_late(&self, oldest_first: &[usize], total: i64) -> bool {
        (1_i64..).zip(oldest_first).any(|(rank, position)| {
            let waited = self.given.saturating_sub(self.lanes[*position].since.unwrap_or(self.given));
            total - i64::try_from(waited).unwrap_or(i64::MAX) <= rank
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_that_always_wait_get_turns_by_weight_and_evenly() {
        let mut turns = Turns::default();
        let lanes = [(0, 4), (1, 2), (2, 1)];
        let order: Vec<_> = (0..14).filter_map(|_| turns.next(&lanes, |_| false)).collect();
        assert_eq!(order, [0, 1, 0, 2, 0, 1, 0, 0, 1, 0, 2, 0, 1, 0]);
    }

    #[test]
    fn without_a_lane_there_is_no_turn() {
        assert_eq!(Turns::default().next(&[], |_| false), None);
    }

    #[test]
    fn each_lane_gets_a_turn_within_the_sum_of_weights_also_while_others_come_and_go() {
        for seed in 0..500 {
            let mut random = fastrand::Rng::with_seed(seed);
            let count = random.usize(2..9);
            let weights: Vec<u32> = (0..count).map(|_| [1, 2, 4, random.u32(1..12)][random.usize(0..4)]).collect();
            let flicker = random.f64();
            let (mut turns, mut waits) = (Turns::default(), vec![(false, 0_u32, 0_u32); count]);
            for _ in 0..200 {
                for (waiting, ..) in &mut waits {
                    if random.f64() < flicker {
                        *waiting = random.bool();
                    }
                }
                let waiting: Vec<_> = (0..count).filter(|at| waits[*at].0).map(|at| (at, weights[at])).collect();
                let sum: u32 = waiting.iter().map(|(_, weight)| weight).sum();
                let chosen = turns.next(&waiting, |_| false);
                for (at, (waiting, waited, most)) in waits.iter_mut().enumerate() {
                    if !*waiting || chosen == Some(at) {
                        (*waited, *most) = (0, 0);
                    } else {
                        (*waited, *most) = (*waited + 1, sum.max(*most));
                        assert!(*waited < *most, "seed {seed}: lane {at} waited for {waited} turns of {most}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_lane_that_may_take_nothing_for_a_while_keeps_its_credit() {
        let mut turns = Turns::default();
        let (all, first) = ([(0, 2), (1, 1)], [(0, 2)]);
        let mut order = Vec::new();
        for _ in 0..4 {
            order.extend(turns.next(&all, |_| true));
            order.extend(turns.next(&first, |_| true)); // the second one has a limit
        }
        assert_eq!(order, [0, 0, 1, 0, 0, 0, 0, 0]);
    }

    /// Workers that share a rate limit: (workers, slots of each, jobs per window). Returns the share of each lane.
    fn shares_under_a_limit(
        lanes: &[(usize, u32)],
        (workers, slots, most): (usize, usize, usize),
        random: &mut fastrand::Rng,
    ) -> Vec<f64> {
        let mut all: Vec<Turns> = std::iter::repeat_with(Turns::default).take(workers).collect();
        let mut started = vec![0; lanes.len()];
        let windows = 320 / most;
        for _ in 0..windows {
            let (mut left, mut free) = (most, vec![slots; workers]);
            while left > 0 {
                let worker = random.usize(0..workers);
                let turns = &mut all[worker];
                let position = turns.next(lanes, |_| true).unwrap();
                let jobs = turns.part(position, free[worker]).min(left);
                turns.settle(position, jobs);
                (left, started[position]) = (left - jobs, started[position] + jobs);
                free[worker] = if free[worker] == jobs { slots } else { free[worker] - jobs };
            }
            for turns in &mut all {
                let position = turns.next(lanes, |_| true).unwrap();
                turns.take_back(position); // the limit is reached
            }
        }
        let all = f64::from(u32::try_from(windows * most).unwrap());
        started.into_iter().map(|jobs| f64::from(u32::try_from(jobs).unwrap()) / all).collect()
    }

    #[test]
    fn lanes_with_one_rate_limit_start_jobs_by_weight_also_if_several_workers_share_it() {
        let (one, two): (&[_], &[_]) = (&[(0, 1), (1, 2)], &[(0, 1), (1, 2), (2, 2)]);
        let some = [(two, 1, 1, 5), (two, 1, 8, 5), (two, 2, 8, 10), (two, 4, 8, 10), (two, 3, 20, 10)];
        let few = [(one, 1, 4, 2), (one, 1, 1, 1), (one, 2, 4, 2), (two, 1, 4, 2), (two, 1, 10, 1)];
        for (lanes, workers, slots, most) in some.into_iter().chain(few) {
            for seed in 0..200 {
                let mut random = fastrand::Rng::with_seed(seed);
                let shares = shares_under_a_limit(lanes, (workers, slots, most), &mut random);
                let fair = 1.0 / f64::from(lanes.iter().map(|(_, weight)| weight).sum::<u32>());
                assert!(
                    (fair * 0.85..=fair * 1.15).contains(&shares[0]),
                    "{workers} workers, {slots} slots, {most} jobs: {shares:?}"
                );
            }
        }
    }
}
