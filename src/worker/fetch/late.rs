//! Fetches that Redis may get late.

use std::time::{Duration, Instant};

use super::request::SentFetch;

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
