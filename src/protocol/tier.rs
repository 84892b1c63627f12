//! How exactly a queue is meant for a worker.

use serde::Deserialize;

/// The tiers of the queues that a worker serves, from the most exact one down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// For this very worker.
    Server,
    /// For workers that have certain properties.
    Specific,
    /// For every worker.
    Base,
}

impl Tier {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Specific => "specific",
            Self::Base => "base",
        }
    }

    /// How many turns a queue of this tier gets for each turn of a queue for every worker.
    #[must_use]
    pub fn weight(self) -> u32 {
        match self {
            Self::Server => 4,
            Self::Specific => 2,
            Self::Base => 1,
        }
    }
}
