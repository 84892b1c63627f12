//! Routing: which worker may run a job. A target says what a job needs, a profile what a worker has. The jobs of one target wait in a
//! queue of their own, the route `<base>~<slug>`.

mod entry;
mod matching;
mod names;
mod profile;
mod target;
mod token;

pub use entry::{Fallback, NewFallback, RouteEntry};
pub use names::{queue_of, split_name};
pub use profile::Profile;
pub use target::{Mode, Target};

/// How closely a queue fits a worker; the closest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Jobs for this server only.
    Server,
    /// Jobs that need some of what the worker has.
    Specific,
    /// The base queue: jobs for everybody.
    Base,
}

impl Tier {
    /// How many turns a queue gets where others wait, too.
    #[must_use]
    pub fn weight(self) -> u32 {
        match self {
            Tier::Server => 4,
            Tier::Specific => 2,
            Tier::Base => 1,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tier::Server => "server",
            Tier::Specific => "specific",
            Tier::Base => "base",
        }
    }
}
