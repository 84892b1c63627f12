//! Whose turn it is: smooth weighted round robin with a bound.

/// Shares the turns of a worker among its lanes.
///
/// Lanes that always have jobs get turns in proportion to their weights, spread evenly. And with `W` the sum of the
/// weights of the lanes that wait, each of them gets a turn within `W` turns, also while others come and go.
#[derive(Default)]
pub struct Turns {
    lanes: Vec<Waiting>,
    /// How many turns were given.
    given: u64,
}

#[derive(Clone, Default)]
struct Waiting {
    /// The credit of round robin: grows with each turn, and the turn goes to the highest one.
    credit: i64,
    /// Since how many given turns it waits; `None`: it does not wait.
    since: Option<u64>,
}

impl Turns {
    /// Give the next turn to one of the lanes that wait: (position, weight), by position. `None` if none waits.
    pub fn next(&mut self, waiting: &[(usize, u32)]) -> Option<usize> {
        let (last, _) = waiting.last()?;
        self.lanes.resize(self.lanes.len().max(last + 1), Waiting::default());
        let total: i64 = waiting.iter().map(|(_, weight)| i64::from(*weight)).sum();
        let mut rest = waiting.iter().peekable();
        for (position, lane) in self.lanes.iter_mut().enumerate() {
            match rest.next_if(|(waits, _)| *waits == position) {
                Some((_, weight)) => {
                    lane.credit += i64::from(*weight);
                    lane.since.get_or_insert(self.given);
                }
                None => *lane = Waiting::default(),
            }
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
        lane.since = Some(self.given);
        Some(chosen)
    }

    /// Whether from now on the turns must go to the lanes that wait longest: the first so many of them would otherwise
    /// wait for more than `total` turns.
    fn is_late(&self, oldest_first: &[usize], total: i64) -> bool {
        (1_i64..).zip(oldest_first).any(|(rank, position)| {
            let waited = self.given - self.lanes[*position].since.unwrap_or(self.given);
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
        let order: Vec<_> = (0..14).filter_map(|_| turns.next(&lanes)).collect();
        assert_eq!(order, [0, 1, 0, 2, 0, 1, 0, 0, 1, 0, 2, 0, 1, 0]);
    }

    #[test]
    fn without_a_lane_there_is_no_turn() {
        assert_eq!(Turns::default().next(&[]), None);
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
                let chosen = turns.next(&waiting);
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
}
