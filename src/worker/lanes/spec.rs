//! What Python says about a queue that a worker is to serve.

use serde::Deserialize;

use crate::protocol::Tier;

/// A queue to serve, under the prefix of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneSpec {
    pub queue: String,
    pub tier: Tier,
    /// How many turns it gets while the others have jobs as well: in proportion to the sum of all weights.
    pub weight: u32,
    /// It is known that somebody uses the queue. Until then the worker creates no keys of it: it waits for jobs, but
    /// starts no timers.
    pub registered: bool,
    /// At most that many jobs of this queue at a time; `None`: as many as the worker runs.
    pub concurrency: Option<usize>,
}

impl LaneSpec {
    /// A queue that is in use, with the weight of its tier.
    #[must_use]
    pub fn new(queue: impl Into<String>, tier: Tier) -> Self {
        Self { queue: queue.into(), tier, weight: tier.weight(), registered: true, concurrency: None }
    }
}
