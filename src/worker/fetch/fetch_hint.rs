//! What a worker knows of the jobs of one queue: whether a fetch is worthwhile now, or when it will be.

use super::marker_waiter::Marker;
use crate::clock::now_ms;
use crate::scripts::fetch::{Fetched, Hold};
use crate::scripts::hint::is_fanned_out;

#[derive(Default)]
pub struct FetchHint {
    /// The last fetch found nothing, or the queue was at its global concurrency after it. The next one is only
    /// worthwhile after a marker or a timer, or when jobs leave.
    idle: bool,
    /// When the next delayed job is due (ms since the epoch).
    due_at: Option<i64>,
    /// The last marker that was popped, until the next fetch.
    popped: Option<Marker>,
}

impl FetchHint {
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// There may be jobs again.
    pub fn look_again(&mut self) {
        self.idle = false;
    }

    /// There may be jobs again, if one was due by that time.
    pub fn look_again_if_due(&mut self, now: i64) {
        if self.due_at.is_some_and(|at| at <= now) {
            self.due_at = None;
            self.idle = false;
        }
    }

    pub fn due_at(&self) -> Option<i64> {
        self.due_at
    }

    /// A fetch is sent: the marker has served its purpose. Whether there was one, and whether it was one of several
    /// that were set at once.
    pub fn fetching(&mut self) -> (bool, bool) {
        let popped = self.popped.take();
        (popped.is_some(), popped.is_some_and(|marker| is_fanned_out(&marker.member)))
    }

    /// Note what a reply says about the next fetch.
    pub fn note_reply(&mut self, fetched: &Fetched) {
        self.idle = (fetched.jobs.is_empty() || fetched.full.is_some()) && fetched.hold != Hold::Alone;
        self.due_at = (fetched.next_delayed > 0).then_some(fetched.next_delayed);
    }

    pub fn note_marker(&mut self, marker: Marker) {
        if marker.score >= 1.0 {
            let due = marker.score as i64;
            self.due_at = Some(self.due_at.map_or(due, |known| known.min(due)));
            if due <= now_ms() {
                self.idle = false;
            }
        } else {
            self.idle = false;
        }
        self.popped = Some(marker);
    }

    pub fn has_popped(&self) -> bool {
        self.popped.is_some()
    }

    /// The marker to put back: after a popped marker the worker either fetches or puts it back, since other workers may
    /// wait for it.
    pub fn take_popped(&mut self) -> Option<Marker> {
        self.popped.take()
    }
}
