//! The end of a run, and of taking jobs.

use std::time::{Duration, Instant};

use crate::error_once::ErrorOnce;
use crate::protocol::Keys;
use crate::worker::options::RunLimits;

/// When the run ends, and what is known of its end and of a pause, when the worker takes no jobs.
pub struct End {
    pub limits: RunLimits,
    pub deadline: Option<Instant>,
    pub outage: ErrorOnce,
    /// A queue that was not drained at the last look.
    pub undrained: Option<Keys>,
    /// It was reported that the run waits for jobs that this worker does not take.
    pub route_reported: bool,
    /// The worker is paused and waits for no marker any more.
    pub heeds_pause: bool,
    /// How long the server took to end the wait.
    pub took: Duration,
    /// It stops taking jobs, and had so many in hand when it woke other workers; `None` if it has to wake them.
    woke_with: Option<usize>,
}

impl End {
    pub fn new(limits: RunLimits) -> Self {
        End {
            deadline: limits.max_time.map(|time| Instant::now() + time),
            limits,
            outage: ErrorOnce::default(),
            undrained: None,
            route_reported: false,
            heeds_pause: false,
            took: Duration::ZERO,
            woke_with: None,
        }
    }

    /// Whether the time of the run is over.
    pub fn is_overdue(&self) -> bool {
        self.deadline.is_some_and(|at| Instant::now() >= at)
    }

    /// How many more jobs the run may fetch, if it has fetched so many.
    pub fn allows(&self, fetched: u64) -> usize {
        let allowed = self.limits.max_jobs.map_or(u64::MAX, |max| max.saturating_sub(fetched));
        usize::try_from(allowed).unwrap_or(usize::MAX)
    }

    /// Other workers must be woken again, for jobs that go back now.
    pub fn owe_wake_up(&mut self) {
        self.woke_with = None;
    }

    /// Whether other workers are to be woken, with so many jobs in hand: once when the jobs that no handler has started
    /// are back, and again when the last job has ended, since it may have held a place of the global concurrency.
    pub fn owes_wake_up(&self, in_hand: usize) -> bool {
        self.woke_with.is_none_or(|before| before > 0 && in_hand == 0)
    }

    /// Other workers are woken.
    pub fn wakes(&mut self, in_hand: usize) {
        self.woke_with = Some(in_hand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::options::Until;

    fn run(max_jobs: Option<u64>, max_time: Option<Duration>) -> End {
        End::new(RunLimits { until: Until::Closed, max_jobs, max_time, horizon_ms: 0 })
    }

    #[test]
    fn a_run_ends_after_its_jobs_or_its_time() {
        assert_eq!((run(None, None).allows(7), run(None, None).is_overdue()), (usize::MAX, false));
        assert_eq!([5, 7, 9].map(|fetched| run(Some(7), None).allows(fetched)), [2, 0, 0]);
        assert!(run(None, Some(Duration::ZERO)).is_overdue());
    }

    #[test]
    fn other_workers_are_woken_when_jobs_go_back_and_once_more_when_the_last_one_has_ended() {
        let mut end = run(None, None);
        assert!(end.owes_wake_up(3));
        end.wakes(3);
        assert!(!end.owes_wake_up(3) && !end.owes_wake_up(1) && end.owes_wake_up(0));
        end.wakes(0);
        assert!(!end.owes_wake_up(0));
        end.owe_wake_up();
        assert!(end.owes_wake_up(0), "more jobs went back");
    }
}
