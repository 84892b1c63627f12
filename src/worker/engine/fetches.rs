//! What the engine fetches with, and whether it may.

use std::sync::Arc;
use std::time::Instant;

use super::admission::Admission;
use super::prefetch::Prefetch;
use crate::connection::Link;
use crate::error_once::ErrorOnce;
use crate::worker::fetch::{Fetcher, LateFetches};
use crate::worker::isolation::Isolation;
use crate::worker::state::WorkerState;

/// What the engine fetches with, and how much it may.
pub struct Fetching {
    pub fetcher: Fetcher,
    /// The link of fetches: it waits for a connection a moment only.
    pub link: Link,
    pub admission: Admission,
    pub prefetch: Prefetch,
    pub isolation: Isolation,
    /// How many jobs were fetched in this run.
    pub count: u64,
    /// The server refused a fetch: the next one is sent after this moment.
    pub paused_until: Option<Instant>,
    pub late: LateFetches,
    /// About the starts of jobs that were claimed ahead.
    pub stamp_errors: Arc<ErrorOnce>,
}

impl Fetching {
    /// `own`: the link of fetches.
    pub fn new(state: &Arc<WorkerState>, link: &Link, own: Link) -> Self {
        Fetching {
            fetcher: Fetcher::new(own.clone(), state.options.worker_id.clone()),
            link: own,
            admission: Admission::new(state.clone(), link.clone()),
            prefetch: Prefetch::new(state.clone()),
            isolation: Isolation::new(state.options.lock_duration),
            count: 0,
            paused_until: None,
            late: LateFetches::default(),
            stamp_errors: Arc::default(),
        }
    }
}
