//! What waits in the routes of a queue, and how many workers may take it.

use redis::{Cmd, Value};

use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::route::{queue_of, Profile, RouteEntry};
use crate::protocol::{due, reply, Keys};
use crate::reads::profiles::live_profile;
use crate::reads::workers::{connections, Purpose};
use crate::reads::{command, due_work};

/// How many routes are asked about per round trip.
const PAGE: usize = 32;
/// Commands per route.
const READS: usize = 9;

/// A route of a queue.
#[derive(Clone, Debug)]
pub struct RouteStatus {
    pub entry: RouteEntry,
    pub keys: Keys,
    /// How many jobs may run: those in wait, paused and prioritized, and delayed ones that are due.
    pub waiting: i64,
    /// How many of them are still delayed: a worker of this route would have promoted them.
    pub due: i64,
    /// Since when the oldest of them may run, ms since the epoch.
    pub since: Option<i64>,
    /// How many jobs run, or were left by a worker that died.
    pub active: i64,
    /// How many workers may take them: live ones whose profile matches, and connected ones of the route itself.
    pub workers: usize,
    /// The server's error if it refuses a key of this route: then nothing is known of its jobs.
    pub error: Option<Error>,
}

impl RouteStatus {
    /// For how many ms the oldest job has waited.
    #[must_use]
    pub fn oldest_age(&self, now: i64) -> Option<i64> {
        self.since.map(|since| (now - since).max(0))
    }

    /// How many jobs it has that no worker looks after.
    #[must_use]
    pub fn unmatched(&self) -> i64 {
        if self.workers == 0 && self.error.is_none() {
            self.waiting + self.active
        } else {
            0
        }
    }
}

/// Reads the registry and looks into each route. Entries that cannot be read are left out.
///
/// # Errors
/// What [`Link::pipeline`] returns, and the server's error about a key of the base.
pub async fn route_status(link: &Link, base: &Keys, now: i64) -> Result<Vec<RouteStatus>> {
    let hashes = ["ext:routes", "ext:workers"].map(|name| command("HGETALL", &[&base.of(name)]));
    let mut replies = link.pipeline(&hashes, Retry::Safe).await?.into_iter();
    let mut next = || reply::texts(replies.next().unwrap_or(Err(Error::Closed))?);
    let (routes, workers) = (next()?, next()?);
    let profile = |entry: &String| Profile::from_json(&live_profile(entry.as_bytes(), now)?);
    let profiles: Vec<Profile> = workers.chunks_exact(2).filter_map(|pair| profile(&pair[1])).collect();
    let mut found = Vec::new();
    for pair in routes.chunks_exact(2) {
        let Ok(entry) = RouteEntry::parse(&pair[0], &pair[1]) else { continue };
        let keys = Keys::new(base.prefix(), &queue_of(base.name(), &pair[0]))?;
        let workers = profiles.iter().filter(|profile| entry.target.matches(profile)).count();
        found.push(RouteStatus { entry, keys, waiting: 0, due: 0, since: None, active: 0, workers, error: None });
    }
    count_connected(link, &mut found).await?;
    for routes in found.chunks_mut(PAGE) {
        look(link, routes, now).await?;
    }
    found.sort_unstable_by(|one, other| one.keys.name().cmp(other.keys.name()));
    Ok(found)
}

/// Counts the workers that serve a route as a queue, by the names of their connections: they have no profile. Where
/// Redis does not list the connections, only profiles count.
async fn count_connected(link: &Link, routes: &mut [RouteStatus]) -> Result<()> {
    if routes.is_empty() {
        return Ok(());
    }
    let queues: Vec<Keys> = routes.iter().map(|route| route.keys.clone()).collect();
    match connections(link, &queues, Purpose::Worker).await {
        Err(Error::Server { .. }) => {}
        found => found?.into_iter().for_each(|connection| routes[connection.queue].workers += 1),
    }
    Ok(())
}

async fn look(link: &Link, routes: &mut [RouteStatus], now: i64) -> Result<()> {
    let last = due::last_score(now).to_string();
    let reads: Vec<Cmd> = routes.iter().flat_map(|route| reads(&route.keys, &last)).collect();
    let mut replies = link.pipeline(&reads, Retry::Safe).await?.into_iter();
    let mut oldest: Vec<(usize, Cmd)> = Vec::new();
    for (at, route) in routes.iter_mut().enumerate() {
        let replies: Vec<Result<Value>> = replies.by_ref().take(READS).collect();
        let mut replies = match replies.into_iter().collect::<Result<Vec<Value>>>() {
            Ok(replies) => replies.into_iter(),
            Err(error) => {
                route.error = Some(error);
                continue;
            }
        };
        let mut next = || replies.next().unwrap_or(Value::Nil);
        let counts = [next(), next(), next(), next()].map(|count| reply::integer(count).unwrap_or(0));
        (route.waiting, route.due) = (counts.iter().sum(), counts[3]);
        route.active = reply::integer(next()).unwrap_or(0);
        for first in [next(), next(), next()] {
            let id = match first {
                Value::Array(mut ids) => ids.pop(),
                Value::Nil => None,
                id => Some(id),
            };
            if let Some(id) = id {
                oldest.push((
                    at,
                    command("HMGET", &[&route.keys.job(&reply::text(id)?), "timestamp", "processedOn", "opts"]),
                ));
            }
        }
        let delayed = reply::texts(next())?;
        if let (true, Some(score)) = (route.due > 0, delayed.get(1)) {
            route.since = score.parse().ok().map(due::of_score);
        }
    }
    let commands: Vec<Cmd> = oldest.iter().map(|(_, read)| read.clone()).collect();
    let found = link.pipeline(&commands, Retry::Safe).await?;
    for ((at, _), fields) in oldest.iter().zip(found) {
        let fields = match fields {
            Ok(fields) => fields,
            Err(error) => {
                routes[*at].error = Some(error);
                continue;
            }
        };
        // Without a hash it is no job.
        let since = due_work::since(&reply::per_member(3, fields)?).unwrap_or(0);
        let known = &mut routes[*at].since;
        *known = Some(known.map_or(since, |known| known.min(since)));
    }
    Ok(())
}

fn reads(keys: &Keys, last: &str) -> [Cmd; READS] {
    let [wait, paused, prioritized, delayed, active] =
        ["wait", "paused", "prioritized", "delayed", "active"].map(|name| keys.of(name));
    [
        command("LLEN", &[&wait]),
        command("LLEN", &[&paused]),
        command("ZCARD", &[&prioritized]),
        command("ZCOUNT", &[&delayed, "-inf", last]),
        command("LLEN", &[&active]),
        command("LINDEX", &[&wait, "-1"]),
        command("LINDEX", &[&paused, "-1"]),
        command("ZRANGE", &[&prioritized, "0", "0"]),
        command("ZRANGE", &[&delayed, "0", "0", "WITHSCORES"]),
    ]
}
