//! Searching the jobs of a state, part after part, without taking much of Redis from others.
//!
//! Jobs come and go meanwhile, so a position in a state says little. What stays in its state keeps its order. So a search
//! remembers the ids that it has looked at last: behind the first of them that is still there it has missed nothing.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::handle::QueueHandle;
use crate::error::Result;
use crate::protocol::filter::Filter;
use crate::reads::listing::{self, Listing};
use crate::reads::{job_fields_timed, lengths_timed};
use crate::scripts::inspect;

/// So many ids are listed at a time: it takes Redis about 0.2 ms, also in the middle of a million.
const WINDOW: usize = 2_000;
/// So many ids are remembered, and so far before the position they are looked for at first.
const REMEMBERED: usize = 100;
const BACK: usize = 1_000;
/// So many jobs are looked at in a write: it takes Redis less than 1 ms, also among a million.
const PART: usize = 100;
/// Longer fields stay in Redis, and a script looks at them there: to send them would take longer.
const SHORT: usize = 2_000;
/// After so many bytes a call of the script ends, and longer data is not looked at: either takes less than 1 ms.
const BYTES: usize = 200_000;
const LONGEST: usize = 1_000_000;
/// Shorter rests are put together.
const SHORTEST_REST: f64 = 1_000.0;
/// What was rested too long shortens the next rests by at most so much.
const MOST_CREDIT: f64 = 5_000.0;

/// Where a search goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// About so many jobs are before it.
    pub at: usize,
    /// The ids that were looked at last.
    pub last: Vec<String>,
    /// How many jobs were looked at in all.
    pub looked_at: usize,
}

/// When a part of a search ends, and how much of Redis it takes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub jobs: usize,
    pub found: usize,
    pub time: Duration,
    /// The part of the time in which Redis may be busy with the search; 1 is without rests.
    pub share: f64,
}

/// What a part of a search has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub ids: Vec<String>,
    /// How many jobs were looked at in all.
    pub looked_at: usize,
    /// How many there are with those that are still to be looked at.
    pub total: usize,
    /// How many jobs of this part were not looked at, since a field is too long.
    pub too_long: usize,
    /// Where it goes on; `None` at the end.
    pub after: Option<Position>,
}

impl QueueHandle {
    /// Goes on with a search of a state, the newest jobs first. A state may be several keys, one behind another.
    ///
    /// # Errors
    /// What [`crate::connection::Link::pipeline`] returns.
    pub async fn search(&self, states: &[&str], filter: &Filter, from: Position, limits: Limits) -> Result<Found> {
        self.ready().await?;
        let mut search =
            Search { queue: self, filter, pace: Pace { share: limits.share, owed: 0.0 }, found: Found::default() };
        search.go_on(states, from, limits).await?;
        Ok(search.found)
    }

    /// Those of some jobs that fit.
    ///
    /// # Errors
    /// What [`crate::connection::Link::pipeline`] returns.
    pub async fn matching(&self, ids: &[String], filter: &Filter) -> Result<Vec<String>> {
        self.ready().await?;
        let pace = Pace { share: 1.0, owed: 0.0 };
        let mut search = Search { queue: self, filter, pace, found: Found::default() };
        for ids in ids.chunks(PART) {
            search.look_at(ids).await?;
        }
        Ok(search.found.ids)
    }
}

struct Search<'a> {
    queue: &'a QueueHandle,
    filter: &'a Filter,
    pace: Pace,
    found: Found,
}

impl Search<'_> {
    async fn go_on(&mut self, states: &[&str], mut position: Position, limits: Limits) -> Result<()> {
        let (began, first) = (Instant::now(), position.looked_at);
        loop {
            let window = self.window(states, &mut position).await?;
            let mut left = window.ids.as_slice();
            while !left.is_empty() {
                let (part, rest) = left.split_at(PART.min(left.len()));
                self.look_at(part).await?;
                left = rest;
                position.pass(part);
                let is_enough = self.found.ids.len() >= limits.found
                    || position.looked_at.saturating_sub(first) >= limits.jobs
                    || began.elapsed() >= limits.time;
                if is_enough && !(left.is_empty() && window.is_last) {
                    self.found.looked_at = position.looked_at;
                    self.found.total = position.looked_at + left.len() + window.behind;
                    self.found.after = Some(position);
                    return Ok(());
                }
            }
            if window.is_last {
                self.found.looked_at = position.looked_at;
                self.found.total = position.looked_at;
                return Ok(());
            }
        }
    }

    /// The next ids to look at. Where none of those is left that were looked at last, the search begins anew.
    async fn window(&mut self, states: &[&str], position: &mut Position) -> Result<Window> {
        let start = position.at.saturating_sub(BACK);
        let window = self.list(states, start).await?;
        if let Some(window) = Window::behind(start, window, position) {
            return Ok(window);
        }
        let mut start = 0;
        loop {
            let window = self.list(states, start).await?;
            let is_last = start + window.ids.len() >= window.total;
            if let Some(window) = Window::behind(start, window, position) {
                return Ok(window);
            }
            if is_last {
                *position = Position::default();
                return Ok(Window::first(self.list(states, 0).await?));
            }
            start += WINDOW;
        }
    }

    async fn list(&mut self, states: &[&str], start: usize) -> Result<Listing> {
        let listing = listing::newest(self.queue.link(), self.queue.keys(), states, start, WINDOW + BACK).await?;
        self.pace.rest(listing.busy).await;
        Ok(listing)
    }

    async fn look_at(&mut self, ids: &[String]) -> Result<()> {
        // Bull 3 kept its markers among the ids.
        let is_asked = |id: &&String| !id.starts_with("0:") && self.filter.takes_id(id);
        let asked: Vec<String> = ids.iter().filter(is_asked).cloned().collect();
        if asked.is_empty() || self.filter.fields().is_empty() {
            self.found.ids.extend(asked);
            return Ok(());
        }
        let (short, long) = self.by_length(&asked).await?;
        let mut fitting = self.fetch(&short).await?;
        fitting.extend(self.look_in_redis(&long).await?);
        self.found.ids.extend(asked.into_iter().filter(|id| fitting.contains(id)));
        Ok(())
    }

    /// Those whose fields are sent, and those that are too long for it.
    async fn by_length(&mut self, ids: &[String]) -> Result<(Vec<String>, Vec<String>)> {
        let unbounded: Vec<&str> = self.filter.fields().iter().map(String::as_str).filter(is_unbounded).collect();
        if unbounded.is_empty() {
            return Ok((ids.to_vec(), Vec::new()));
        }
        let (lengths, busy) = lengths_timed(self.queue.link(), self.queue.keys(), ids, &unbounded).await?;
        self.pace.rest(busy).await;
        let (short, long): (Vec<_>, Vec<_>) = ids.iter().zip(lengths).partition(|(_, length)| *length <= SHORT);
        let ids = |part: Vec<(&String, usize)>| part.into_iter().map(|(id, _)| id.clone()).collect();
        Ok((ids(short), ids(long)))
    }

    async fn fetch(&mut self, ids: &[String]) -> Result<HashSet<String>> {
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let (queue, fields) = (self.queue, self.filter.fields());
        let (values, busy) = job_fields_timed(queue.link(), queue.keys(), ids, fields).await?;
        let fitting = ids.iter().zip(values).filter(|(_, values)| self.filter.takes(values));
        let fitting = fitting.map(|(id, _)| id.clone()).collect();
        self.pace.rest(busy).await;
        Ok(fitting)
    }

    async fn look_in_redis(&mut self, ids: &[String]) -> Result<HashSet<String>> {
        let (fields, texts) = (self.filter.fields(), self.filter.texts());
        let (mut left, mut fitting) = (ids, HashSet::new());
        while !left.is_empty() {
            let asked = inspect::Asked { longest: LONGEST, most: BYTES, fields, texts: &texts, ids: left };
            let (matches, busy) = inspect::get_matches(self.queue.link(), self.queue.keys(), &asked).await?;
            left = &left[matches.looked_at.clamp(1, left.len())..];
            self.found.too_long += matches.too_long;
            let those = matches.jobs.into_iter().filter(|(_, values)| self.filter.takes(values));
            fitting.extend(those.map(|(id, _)| id));
            self.pace.rest(busy).await;
        }
        Ok(fitting)
    }
}

/// Whether a field of a job may be as long as its producer or its handler likes.
fn is_unbounded(field: &&str) -> bool {
    matches!(*field, "data" | "failedReason")
}

impl Position {
    fn pass(&mut self, ids: &[String]) {
        self.at += ids.len();
        self.looked_at += ids.len();
        self.last.extend_from_slice(ids);
        self.last.drain(..self.last.len().saturating_sub(REMEMBERED));
    }
}

/// Ids that are still to be looked at.
struct Window {
    ids: Vec<String>,
    /// How many there are behind them.
    behind: usize,
    is_last: bool,
}

impl Window {
    fn first(listing: Listing) -> Self {
        let behind = listing.total.saturating_sub(listing.ids.len());
        Window { ids: listing.ids, behind, is_last: behind == 0 }
    }

    /// What comes behind those that were looked at last; `None` if none of them is here.
    fn behind(start: usize, mut listing: Listing, position: &mut Position) -> Option<Self> {
        if position.last.is_empty() {
            return Some(Self::first(listing));
        }
        let known: HashSet<&str> = position.last.iter().map(String::as_str).collect();
        // One of them may have left and come back at an end. Behind the first one nothing is missed in any case.
        let first = listing.ids.iter().position(|id| known.contains(id.as_str()))?;
        let behind = listing.total.saturating_sub(start + listing.ids.len());
        listing.ids.drain(..first);
        let seen = listing.ids.iter().take_while(|id| known.contains(id.as_str())).count();
        position.at = start + first + seen;
        listing.ids.retain(|id| !known.contains(id.as_str()));
        Some(Window { ids: listing.ids, behind, is_last: behind == 0 })
    }
}

/// Keeps Redis busy for a part of the time only.
struct Pace {
    share: f64,
    /// How many µs are still to be rested.
    owed: f64,
}

impl Pace {
    async fn rest(&mut self, busy: Duration) {
        self.owed += busy.as_secs_f64() * 1e6 * (1.0 / self.share - 1.0);
        if self.owed > SHORTEST_REST {
            let began = Instant::now();
            tokio::time::sleep(Duration::from_secs_f64(self.owed / 1e6)).await;
            self.owed = (self.owed - began.elapsed().as_secs_f64() * 1e6).max(-MOST_CREDIT);
        }
    }
}
