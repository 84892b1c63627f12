//! The lanes of a worker, as its tasks share them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use super::lane::Lane;
use super::rate_limit::SharedLimit;
use super::spec::LaneSpec;
use crate::error::Result;
use crate::mutex::Mutex;
use crate::protocol::Keys;

pub struct Lanes {
    all: Mutex<Vec<Arc<Lane>>>,
    shared_limit: Option<SharedLimit>,
    several: AtomicBool,
    /// Counts the lanes, and those that last_beat out to be in use.
    changes: AtomicUsize,
}

impl Lanes {
    /// One lane for each of these queues; without any, one for the queue of these keys. With `shares_limit` the rate
    /// limit of that queue counts for all.
    ///
    /// # Errors
    /// [`Error::QueueName`](crate::error::Error::QueueName).
    pub fn new(keys: &Keys, specs: &[LaneSpec], shares_limit: bool) -> Result<Self> {
        let shared_limit = shares_limit.then(|| SharedLimit { keys: keys.clone(), limit: Arc::default() });
        let lanes =
            Self { all: Mutex::default(), shared_limit, several: AtomicBool::new(false), changes: AtomicUsize::new(0) };
        for spec in specs {
            lanes.offer(keys.prefix(), spec)?;
        }
        if specs.is_empty() {
            lanes.all.lock().push(Arc::new(Lane::single(keys.clone())));
        }
        Ok(lanes)
    }

    /// Add a lane, or note that the queue of a lane is in use. True if anything has changed.
    ///
    /// # Errors
    /// [`Error::QueueName`](crate::error::Error::QueueName).
    pub fn offer(&self, prefix: &str, spec: &LaneSpec) -> Result<bool> {
        let keys = Keys::new(prefix, &spec.queue)?;
        let mut all = self.all.lock();
        let changed = match all.iter().find(|lane| lane.keys == keys) {
            Some(lane) => spec.registered && lane.register(),
            None => {
                let position = all.iter().position(|lane| lane.is_closed()).unwrap_or(all.len());
                let lane = Arc::new(Lane::new(keys, spec, position, self.shared_limit.as_ref()));
                match all.get_mut(position) {
                    Some(closed) => *closed = lane,
                    None => all.push(lane),
                }
                self.several.store(all.len() > 1, Ordering::Release);
                true
            }
        };
        self.changes.fetch_add(usize::from(changed), Ordering::Release);
        Ok(changed)
    }

    /// Note that nobody uses a queue any more. True if anything has changed.
    pub fn withdraw(&self, queue: &str) -> bool {
        let all = self.all.lock();
        let changed = all.iter().any(|lane| lane.queue() == queue && lane.withdraw_registration());
        self.changes.fetch_add(usize::from(changed), Ordering::Release);
        changed
    }

    /// The engine has closed a lane: unless it is served again, its position is free.
    pub fn close(&self, lane: &Lane) {
        let _all = self.all.lock();
        if !lane.is_served() {
            lane.close();
        }
    }

    /// All lanes. Each keeps its position, which another one gets only when it is closed.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Lane>> {
        self.all.lock().clone()
    }

    /// Whether there is more than one lane.
    #[must_use]
    pub fn are_several(&self) -> bool {
        self.several.load(Ordering::Acquire)
    }

    /// A number that grows with each change.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.changes.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Tier;

    fn lanes(queues: &[&str]) -> Lanes {
        let specs: Vec<_> = queues.iter().map(|queue| LaneSpec::new(*queue, Tier::Specific)).collect();
        Lanes::new(&Keys::new("bull", "q").unwrap(), &specs, false).unwrap()
    }

    fn offer(lanes: &Lanes, queue: &str) -> bool {
        lanes.offer("bull", &LaneSpec::new(queue, Tier::Specific)).unwrap()
    }

    #[test]
    fn the_position_of_a_closed_lane_is_that_of_the_next_one() {
        let lanes = lanes(&["q", "q~cap.a", "q~cap.b"]);
        assert!(lanes.withdraw("q~cap.a") && !lanes.withdraw("q~cap.a"));
        assert!(offer(&lanes, "q~cap.c"));
        lanes.close(&lanes.all()[1]);
        assert!(offer(&lanes, "q~cap.d"));
        let names: Vec<_> = lanes.all().iter().map(|lane| (lane.queue().to_owned(), lane.position)).collect();
        let expected = [("q", 0), ("q~cap.d", 1), ("q~cap.b", 2), ("q~cap.c", 3)];
        assert_eq!(names, expected.map(|(queue, position)| (queue.to_owned(), position)));
    }

    #[test]
    fn a_lane_that_is_served_again_keeps_its_position() {
        let lanes = lanes(&["q", "q~cap.a"]);
        let lane = lanes.all()[1].clone();
        assert!(lanes.withdraw("q~cap.a") && !lane.is_served());
        assert!(offer(&lanes, "q~cap.a") && lane.is_served());
        lanes.close(&lane); // the engine had decided to close it before
        assert!(offer(&lanes, "q~cap.b"));
        assert_eq!(lanes.all()[2].queue(), "q~cap.b");
        lanes.withdraw("q~cap.a");
        lanes.close(&lane);
        assert!(offer(&lanes, "q~cap.a") && !lane.is_closed());
    }

    #[test]
    fn a_queue_that_the_worker_names_itself_is_served_also_while_nobody_uses_it() {
        let lanes = lanes(&["q"]);
        let spec = LaneSpec { registered: false, ..LaneSpec::new("q~cap.a", Tier::Specific) };
        lanes.offer("bull", &spec).unwrap();
        let lane = lanes.all()[1].clone();
        assert!(offer(&lanes, "q~cap.a") && lanes.withdraw("q~cap.a"));
        lanes.close(&lane);
        assert!(lane.is_served() && !lane.is_closed() && !lane.is_registered());
    }
}
