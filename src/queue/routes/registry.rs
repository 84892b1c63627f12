//! Which routes a queue has: how they come, retire and come back.

use std::collections::BTreeSet;

use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::route::{queue_of, NewFallback, Target};
use crate::protocol::{reply, Keys};
use crate::reads::command;
use crate::scripts::inspect::count_each;
use crate::scripts::route::{register_route, retire_routes, revive_routes};

/// The most routes of which one call counts the jobs, that it retires or looks at.
const PAGE: usize = 100;

/// A list of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Those that producers and workers use.
    Live,
    /// Those that have retired, but may have finished jobs.
    Retired,
}

impl Listed {
    fn key(self, base: &Keys) -> String {
        base.of(match self {
            Listed::Live => "ext:routes",
            Listed::Retired => "ext:retired",
        })
    }
}

/// The slugs of the routes of a queue.
///
/// # Errors
/// What [`Link::pipeline`] returns. [`Error::Server`] with WRONGTYPE names the key that is no registry of routes.
pub async fn slugs(link: &Link, base: &Keys, lists: &[Listed]) -> Result<Vec<String>> {
    let keys: Vec<String> = lists.iter().map(|list| list.key(base)).collect();
    let reads: Vec<_> = keys.iter().map(|key| command("HGETALL", &[key])).collect();
    let mut found = BTreeSet::new(); // a script that was stopped leaves a name in both lists
    for (key, entries) in keys.iter().zip(link.pipeline(&reads, Retry::Safe).await?) {
        found.extend(reply::texts(entries.map_err(|error| named(error, key))?)?.into_iter().step_by(2));
    }
    // Another program has written it: no route has such a name.
    found.remove("");
    Ok(found.into_iter().collect())
}

/// The queues of the routes of a queue, by name. Those with names that no queue has are left out.
///
/// # Errors
/// See [`slugs`].
pub async fn routes(link: &Link, base: &Keys, lists: &[Listed]) -> Result<Vec<Keys>> {
    let keys = |slug: String| Keys::new(base.prefix(), &queue_of(base.name(), &slug)).ok();
    Ok(slugs(link, base, lists).await?.into_iter().filter_map(keys).collect())
}

fn named(error: Error, key: &str) -> Error {
    match error {
        Error::Server { code, .. } if code == "WRONGTYPE" => {
            let message = format!(
                "{key} is not the hash with the routes of the queue: another program has written it. Delete this \
                 key: producers register their routes again"
            );
            Error::Server { code, message }
        }
        error => error,
    }
}

/// Registers the route of a target, the queue `route` of `base`. If the queue has no place for it, those that nobody
/// uses make room: the workers that look after that may be away. True if the route is new.
///
/// # Errors
/// See [`register_route`].
pub async fn register(link: &Link, base: &Keys, route: &Keys, target: &Target, fallback: &NewFallback) -> Result<bool> {
    loop {
        let registered = register_route(link, base, route, target, fallback).await;
        if !matches!(registered, Err(Error::RouteLimit(_))) {
            return registered;
        }
        // If they cannot retire, it matters only that there is no place.
        if !retire_routes(link, base, PAGE, None).await.is_ok_and(|retired| retired > 0) {
            // A call beside this one may have made room.
            return register_route(link, base, route, target, fallback).await;
        }
    }
}

/// Retires all routes that nobody uses.
///
/// # Errors
/// See [`retire_routes`].
pub async fn retire(link: &Link, base: &Keys) -> Result<()> {
    while retire_routes(link, base, PAGE, None).await? == PAGE {}
    Ok(())
}

/// Brings back the retired routes that are in use again. Returns how many.
///
/// # Errors
/// See [`slugs`] and [`revive_routes`].
pub async fn revive(link: &Link, base: &Keys) -> Result<usize> {
    let mut revived = 0;
    for page in slugs(link, base, &[Listed::Retired]).await?.chunks(PAGE) {
        revived += revive_routes(link, base, page).await?.len();
    }
    Ok(revived)
}

/// Counts the jobs of each of these states in all routes of a queue, also in those that have retired.
///
/// # Errors
/// See [`slugs`], and what the counts return.
pub async fn count_in_routes(link: &Link, base: &Keys, states: &[&str]) -> Result<Vec<i64>> {
    let mut sums = vec![0; states.len()];
    for page in routes(link, base, &[Listed::Live, Listed::Retired]).await?.chunks(PAGE) {
        for counts in count_each(link, page, states).await? {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    Ok(sums)
}
