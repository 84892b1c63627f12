//! Who uses a queue, as far as its keys, its jobs and the connected programs tell: BullMQ, or Bull, its predecessor.
//!
//! Both use the same prefix, and many of the same keys, with other meanings: a worker or a producer of the one damages
//! jobs of the other.

mod flavour;
mod jobs;
pub mod listeners;
mod traces;

pub use flavour::Flavour;
use jobs::find_job;
use listeners::Listeners;
pub(super) use traces::{Signpost, Traces};

use crate::connection::Link;
use crate::error::Result;
use crate::protocol::Keys;

/// What shows that Bull uses a queue.
pub struct BullFound {
    pub flavour: Flavour,
    /// What shows it.
    pub shown_by: String,
}

/// Who uses a queue; both of them if somebody made a mistake.
pub struct Users {
    pub bull: Option<BullFound>,
    pub bullmq: bool,
}

impl Users {
    /// Looks for keys and jobs of both.
    ///
    /// # Errors
    /// What [`Link::call`] returns.
    pub async fn read(link: &Link, keys: &Keys) -> Result<Self> {
        let traces = Traces::read(link, keys).await?;
        let job = find_job(link, keys, &traces).await?;
        Ok(Self::of(keys, &traces, job))
    }

    /// The same for a queue that should be BullMQ's: if keys of BullMQ's exist, only keys that nobody but Bull writes
    /// count. If not, some jobs are read: in two more round trips, since a queue without a trace of BullMQ that is not
    /// empty is rare.
    pub(super) async fn of_bullmq(link: &Link, keys: &Keys, traces: &Traces) -> Result<Self> {
        let job = if traces.are_used() && !traces.is_of_bullmq() { find_job(link, keys, traces).await? } else { None };
        Ok(Self::of(keys, traces, job))
    }

    fn of(keys: &Keys, traces: &Traces, job: Option<(Flavour, String)>) -> Self {
        let shown_by_key = traces
            .set_of_bull()
            .map(|suffix| format!("{} is a set", keys.of(suffix)))
            .or_else(|| traces.has("meta-paused").then(|| format!("{} exists", keys.of("meta-paused"))));
        let is_heard = match traces.listeners {
            Listeners::Some => true,
            Listeners::Perhaps => !traces.is_of_bullmq(),
            Listeners::None => false,
        };
        let shown_by_listeners =
            is_heard.then(|| format!("a program with Bull listens to the channel {}", keys.of("delayed")));
        let (flavour, shown_by_job) = match job {
            // Bull 1 has no priorities.
            Some((Flavour::OneOrTwo, shown_by)) if traces.has("priority") => (Flavour::Two, Some(shown_by)),
            // Neither has its sorted sets: the job is a broken one of Bull 3 or 4.
            Some((Flavour::OneOrTwo | Flavour::Two, shown_by))
                if !traces.is_of_bullmq() && traces.flavour() == Flavour::ThreeOrFour =>
            {
                (Flavour::ThreeOrFour, Some(shown_by))
            }
            Some((flavour, shown_by)) => (flavour, Some(shown_by)),
            None => (traces.flavour(), None),
        };
        let bull = shown_by_key.or(shown_by_job).or(shown_by_listeners).map(|shown_by| BullFound { flavour, shown_by });
        Users { bull, bullmq: traces.is_of_bullmq() }
    }
}
