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
use crate::reads::{fields_and_lengths_timed, job_fields_timed, FieldsAndLengths};
use crate::scripts::inspect;

/// So many ids are listed at a time: it takes Redis about 0.2 ms, also in the middle of a million.
const WINDOW: usize = 2_000;
/// So many ids are remembered, and so far before the position they are looked for at first.
const REMEMBERED: usize = 100;
const BACK: usize = 1_000;
/// So many jobs are looked at in a trip: others wait for at most about 0.3 ms, also among a million.
const PART: usize = 50;
/// Longer fields stay in Redis, and a script looks at them there: to send them would take longer.
const SHORT: usize = 2_000;
/// After so many bytes a call of the script ends, and longer data is not looked at: either takes less than 1 ms.
const BYTES: usize = 200_000;
const LONGEST: usize = 1_000_000;
/// Shorter rests, in µs, are put together: behind a rest the server is slow at first, so several trips follow each
/// other. Others have their turns between them.
const SHORTEST_REST: f64 = 6_000.0;
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
        let mut parts = ids.chunks(PART);
        let mut part = search.measured(parts.next().unwrap_or_default()).await?;
        while !part.ids.is_empty() {
            part = search.look_at(part, parts.next().unwrap_or_default()).await?;
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
            let (mut parts, mut left) = (window.ids.chunks(PART), window.ids.len());
            let mut part = self.measured(parts.next().unwrap_or_default()).await?;
            while !part.ids.is_empty() {
                left -= part.ids.len();
                position.pass(&part.ids);
                part = self.look_at(part, parts.next().unwrap_or_default()).await?;
                let is_enough = self.found.ids.len() >= limits.found
                    || position.looked_at.saturating_sub(first) >= limits.jobs
                    || began.elapsed() >= limits.time;
                if is_enough && !(left == 0 && window.is_last) {
                    self.found.looked_at = position.looked_at;
                    self.found.total = position.looked_at + left + window.behind;
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

    /// The first part, in a trip of its own.
    async fn measured(&mut self, ids: &[String]) -> Result<Part> {
        let (_, part) = self.read(&[], ids).await?;
        Ok(part)
    }

    /// Looks at a part. The lengths of the next one come in the same trip: each trip that wakes an idle server costs it
    /// more than the jobs in it.
    async fn look_at(&mut self, part: Part, next: &[String]) -> Result<Part> {
        let (likely, next) = self.read(&part.short, next).await?;
        // Replies may have changed places. Of the few jobs that seem to fit none may be a wrong one.
        let mut fitting = self.certain(&likely).await?;
        fitting.extend(self.look_in_redis(&part.long).await?);
        let is_whole = self.filter.fields().is_empty();
        let is_found = |id: &String| is_whole || fitting.contains(id);
        self.found.ids.extend(part.asked.into_iter().filter(is_found));
        Ok(next)
    }

    /// Those of some jobs that seem to fit, and the next part.
    async fn read(&mut self, short: &[String], next: &[String]) -> Result<(Vec<String>, Part)> {
        // Bull 3 kept its markers among the ids.
        let is_asked = |id: &&String| !id.starts_with("0:") && self.filter.takes_id(id);
        let asked: Vec<String> = next.iter().filter(is_asked).cloned().collect();
        let unbounded: Vec<&str> = self.filter.fields().iter().map(String::as_str).filter(is_unbounded).collect();
        let part = Part { ids: next.to_vec(), ..Part::default() };
        if self.filter.fields().is_empty() {
            return Ok((Vec::new(), Part { asked, ..part }));
        }
        let measured = if unbounded.is_empty() { &[][..] } else { &asked[..] };
        let reads =
            FieldsAndLengths { ids: short, fields: self.filter.fields(), measured, measured_fields: &unbounded };
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        if !short.is_empty() || !measured.is_empty() {
            let busy;
            (values, lengths, busy) = fields_and_lengths_timed(self.queue.link(), self.queue.keys(), &reads).await?;
            self.pace.rest(busy).await;
        }
        let likely = short.iter().zip(values).filter(|(_, values)| self.filter.takes(values));
        let likely = likely.map(|(id, _)| id.clone()).collect();
        lengths.resize(asked.len(), 0);
        let (short, long) = asked.iter().zip(lengths).partition::<Vec<_>, _>(|(_, length)| *length <= SHORT);
        let ids = |part: Vec<(&String, usize)>| part.into_iter().map(|(id, _)| id.clone()).collect();
        let (short, long) = (ids(short), ids(long));
        Ok((likely, Part { asked, short, long, ..part }))
    }

    /// Those of some jobs that do fit.
    async fn certain(&mut self, likely: &[String]) -> Result<HashSet<String>> {
        if likely.is_empty() {
            return Ok(HashSet::new());
        }
        let (queue, fields) = (self.queue, self.filter.fields());
        let (values, busy) = job_fields_timed(queue.link(), queue.keys(), likely, fields).await?;
        let fitting = likely.iter().zip(values).filter(|(_, values)| self.filter.takes(values));
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

/// Jobs that are looked at in one trip.
#[derive(Default)]
struct Part {
    /// All of them; none if there is no part any more.
    ids: Vec<String>,
    /// Those whose ids fit.
    asked: Vec<String>,
    /// Those whose fields are sent, and those that are too long for it.
    short: Vec<String>,
    long: Vec<String>,
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
