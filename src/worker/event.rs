//! What a worker tells listeners and logs.

use std::sync::Arc;

use super::held::HeldJob;
use super::witness::Witness;

/// Something that happened in the worker, for listeners and logs.
pub enum Event {
    /// It will fail instead of being run.
    Refused {
        job: Arc<HeldJob>,
    },
    Completed {
        job: Arc<HeldJob>,
        value: Vec<u8>,
        finished_on: i64,
        witness: Witness,
    },
    /// Failed for good.
    Failed {
        job: Arc<HeldJob>,
        reason: String,
        stacktrace: Vec<u8>,
        finished_on: i64,
        witness: Witness,
    },
    /// Failed, to be tried again.
    Retried {
        job: Arc<HeldJob>,
        reason: String,
        stacktrace: Vec<u8>,
        delay: i64,
        witness: Witness,
    },
    Stalled {
        id: String,
    },
    /// A job scheduler goes on whose chain of jobs was cut.
    SchedulerRepaired {
        id: String,
    },
    Drained,
    Error {
        text: String,
    },
    LockLost {
        id: String,
    },
    /// Whoever runs it should stop.
    Cancelled {
        id: String,
        token: Arc<str>,
    },
    /// The queue was found fit to work with; once per run.
    Ready,
    Reconnecting {
        text: String,
    },
    Connected,
    Closed,
    /// So many events were not kept, since nobody picked up those before.
    Dropped {
        count: u64,
    },
}
