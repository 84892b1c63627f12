//! The lanes of a worker, as its tasks share them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use super::lane::Lane;
use super::rate_limit::SharedLimit;
use super::spec::LaneSpec;
use crate::error::Result;
use crate::lock::Mutex;
use crate::protocol::Keys;

pub struct Lanes {
    all: Mutex<Vec<Arc<Lane>>>,
    shared_limit: Option<SharedLimit>,
    several: AtomicBool,
    /// Counts the lanes, and those that turned out to be in use.
    changes: AtomicUsize,
}

impl Lanes {
    /// One lane for each of these queues; without any, one for the queue of these keys. With `shares_limit` the rate limit of
    /// that queue counts for all.
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
                let position = all.len();
                all.push(Arc::new(Lane::new(keys, spec, position, self.shared_limit.as_ref())));
                self.several.store(position > 0, Ordering::Release);
                true
            }
        };
        self.changes.fetch_add(usize::from(changed), Ordering::Release);
        Ok(changed)
    }

    /// All lanes. Each keeps its position.
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
