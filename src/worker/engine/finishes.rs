//! The calls that finish jobs, and whether outcomes wait for the next one.

use std::time::{Duration, Instant};

use crate::worker::finish::InFlight;

/// How long the first outcomes of quick handlers wait for others.
pub const GATHER_TIME: Duration = Duration::from_millis(1);

/// The calls that finish jobs, and the outcomes that wait for the next one.
#[derive(Default)]
pub struct Finishing {
    pub in_flight: InFlight,
    /// Outcomes wait for others, to go in the same call.
    pub gathering_since: Option<Instant>,
    /// A job was settled since the last event `drained`.
    pub has_settled: bool,
}

impl Finishing {
    /// Whether the outcomes that wait are to wait for more, a moment at most.
    pub fn gathers(&mut self, since: Option<Instant>, waiting: usize, wanted: usize, now: Instant) -> bool {
        let since = since.unwrap_or(now);
        if waiting == 0 || waiting >= wanted || now.saturating_duration_since(since) >= GATHER_TIME {
            return false;
        }
        self.gathering_since = Some(since);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_wait_for_others_until_enough_are_there_or_a_moment_is_over() {
        let (mut finishing, began) = (Finishing::default(), Instant::now());
        assert!(!finishing.gathers(None, 0, 5, began), "there are none");
        assert!(!finishing.gathers(None, 5, 5, began), "all are there");
        assert!(finishing.gathers(None, 1, 5, began));
        let since = finishing.gathering_since.take();
        assert!(finishing.gathers(since, 2, 5, began + GATHER_TIME / 2));
        assert!(!finishing.gathers(since, 2, 5, began + GATHER_TIME), "the moment began with the first outcome");
    }
}
