//! When a run ends by itself.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::lane_state::LaneState;
use super::Engine;
use crate::clock::now_ms;
use crate::error::{Error, Result};
use crate::error_once::ErrorOnce;
use crate::protocol::Keys;
use crate::queue::routes::{revive, routes, Listed};
use crate::scripts::inspect::is_drained;
use crate::worker::listeners::Event;
use crate::worker::options::{RunLimits, Until};

/// When the run ends, and what is known of its end and of a pause, when the worker takes no jobs.
pub(super) struct End {
    pub limits: RunLimits,
    pub deadline: Option<Instant>,
    outage: ErrorOnce,
    /// A queue that was not drained at the last look.
    undrained: Option<Keys>,
    /// It was reported that the run waits for jobs that this worker does not take.
    route_reported: bool,
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

impl Engine {
    /// Whether a run that ends by itself has nothing left to do. Called only with nothing in hand.
    pub(super) async fn has_ended(&mut self) -> bool {
        if self.end.allows(self.fetching.count) == 0 {
            return true;
        }
        match self.end.limits.until {
            Until::Closed => false,
            Until::Empty => self.lanes.states.iter().all(|state| {
                let is_empty = state.hint.is_idle() && state.lane.limited_for(now_ms()).is_none();
                is_empty || state.is_left_out()
            }),
            Until::Drained => match self.is_drained().await {
                Ok(drained) => drained,
                Err(error) => {
                    // A lost connection is reported elsewhere.
                    if matches!(error, Error::Server { .. }) && self.end.outage.begins(&error) {
                        self.state
                            .error(format!("cannot see whether all queues are drained, so the run goes on: {error}"));
                    }
                    false
                }
            },
        }
    }

    /// Whether the queues of all lanes are drained, and if they are routes, all registered routes of the same queue:
    /// another worker may have stopped before it was done with one.
    async fn is_drained(&mut self) -> Result<bool> {
        let (link, horizon) = (self.fetching.link.clone(), self.end.limits.horizon_ms);
        if let Some(keys) = self.end.undrained.clone() {
            if !is_drained(&link, &keys, now_ms(), horizon).await? {
                return Ok(false);
            }
        }
        let usable = self.lanes.states.iter().filter(|state| state.checked && !state.is_left_out());
        let mut queues: Vec<Keys> = usable.map(|state| state.lane.keys.clone()).collect();
        if self.state.options.routing.is_some() {
            queues.extend(routes(&link, &self.keys, &[Listed::Live]).await?);
            queues.push(self.keys.clone());
            queues.sort_unstable_by(|one, other| one.name().cmp(other.name()));
            queues.dedup();
        }
        let drained = join_all(queues.iter().map(|keys| is_drained(&link, keys, now_ms(), horizon))).await;
        for (keys, drained) in queues.into_iter().zip(drained) {
            if !drained? {
                self.tell_of_route(&keys);
                self.end.undrained = Some(keys);
                return Ok(false);
            }
        }
        // A program that does not register may have added jobs to a route that had retired.
        Ok(self.state.options.routing.is_none() || revive(&link, &self.keys).await? == 0)
    }

    /// Say once per run that only jobs of others keep it from ending.
    fn tell_of_route(&mut self, keys: &Keys) {
        let is_served = |state: &LaneState| state.lane.keys == *keys && state.lane.is_served();
        if !self.end.route_reported && !self.lanes.states.iter().any(is_served) {
            self.end.route_reported = true;
            let text =
                format!("waits for jobs in {}, which this worker does not match, until all are drained", keys.name());
            self.state.emit(Event::Notice { text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
