//! The events of a worker.

use std::sync::Arc;

use super::details::Details;
use crate::worker::held::HeldJob;

/// Something that happened in the worker, for listeners and logs.
pub enum Event {
    /// The job will fail without being run.
    Refused {
        job: Arc<HeldJob>,
    },
    Completed {
        job: Arc<HeldJob>,
        value: Vec<u8>,
        finished_on: i64,
        details: Details,
    },
    /// Failed, and not retried.
    Failed {
        job: Arc<HeldJob>,
        reason: String,
        stacktrace: Vec<u8>,
        finished_on: i64,
        details: Details,
    },
    /// Failed, and retried.
    Retried {
        job: Arc<HeldJob>,
        reason: String,
        stacktrace: Vec<u8>,
        delay: i64,
        /// When it runs again, in ms since the epoch.
        next_run_at: i64,
        details: Details,
    },
    Stalled {
        id: String,
        queue: Arc<str>,
    },
    /// A job scheduler that had no next job has one again.
    SchedulerRepaired {
        id: String,
    },
    /// No live worker matches a route whose jobs wait.
    RouteUnmatched {
        /// The name of the route's queue.
        route: String,
        waiting: i64,
        /// For how many ms the oldest of them has waited.
        age: i64,
    },
    /// Something for the log that somebody should mend.
    Warning {
        text: String,
    },
    /// Something for the log that is no error.
    Notice {
        text: String,
    },
    /// Rights that the user of the URL lacks, as the words of an ACL rule; none: it has got them.
    Rights {
        missing: Vec<String>,
    },
    Drained,
    Error {
        text: String,
    },
    LockLost {
        id: String,
        token: Arc<str>,
    },
    /// The handler of the job should stop.
    Cancelled {
        id: String,
        token: Arc<str>,
    },
    /// The queue was checked and can be worked on; once per run.
    Ready,
    /// `ends`: there never was a connection, and the server refuses: that ends the run.
    Reconnecting {
        text: String,
        ends: bool,
    },
    Connected,
    /// Redis deletes keys when its memory is full.
    Evicts {
        policy: String,
    },
    /// So many percent of the checks for stalled jobs were skipped.
    ChecksSkipped {
        percent: u64,
    },
    Closed,
    /// That many events were dropped, since nobody read the ones before.
    Dropped {
        count: u64,
    },
}
