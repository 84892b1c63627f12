//! What the engine fetches with, and whether it may.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::admission::Admission;
use super::prefetch::Prefetch;
use crate::connection::Link;
use crate::error_once::ErrorOnce;
use crate::worker::fetch::{Fetcher, SentFetch};
use crate::worker::isolation::Isolation;
use crate::worker::state::WorkerState;

/// How long Redis may get a request after it was sent: so long, a connection that was given up may deliver what it had.
const LATEST: Duration = Duration::from_secs(60);
/// The shortest pause between two questions for the jobs of such a request.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Fetches whose reply got lost and of which Redis knew nothing: the request may still be on its way. Its jobs would be
/// held by this worker, and run by nobody.
#[derive(Default)]
pub struct LateFetches(Vec<(SentFetch, Instant)>);

impl LateFetches {
    /// Ask for the jobs of a fetch again, when half as much time again has gone by since it was sent.
    pub fn expect(&mut self, sent: SentFetch, now: Instant) {
        let age = now.saturating_duration_since(sent.at);
        if age < LATEST {
            self.0.push((sent, now + (age / 2).max(SHORTEST_PAUSE)));
        }
    }

    /// When to ask next.
    pub fn next(&self) -> Option<Instant> {
        self.0.iter().map(|(_, at)| *at).min()
    }

    /// The fetches to ask for now.
    pub fn take_due(&mut self, now: Instant) -> Vec<SentFetch> {
        self.0.extract_if(.., |(_, at)| *at <= now).map(|(sent, _)| sent).collect()
    }

    /// All of them.
    pub fn take(&mut self) -> Vec<SentFetch> {
        self.0.drain(..).map(|(sent, _)| sent).collect()
    }
}

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
