//! Jobs of a route that no worker takes go where the route's fallback says.

use std::fmt;

use redis::Cmd;

use super::registry::register;
use super::status::RouteStatus;
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::route::{queue_of, Fallback, NewFallback};
use crate::protocol::{reply, JobRecord, Keys};
use crate::queue::schedulers::{add_scheduler_iteration, LatestJob};
use crate::reads::{command, due_work};
use crate::scripts::manage::promote_due;
use crate::scripts::route::{move_job, Waiting};

/// The most jobs that one call moves.
pub const BATCH: usize = 100;

/// Jobs that have left a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerouted {
    pub from: String,
    pub to: String,
    /// For how many ms they had to wait for that.
    pub after: i64,
    /// The ids there and, where it is another one, the old id.
    pub jobs: Vec<(String, Option<String>)>,
}

impl fmt::Display for Rerouted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rerouted { from, to, after, jobs } = self;
        let (jobs_of, them) = if jobs.len() == 1 { ("job of", "it") } else { ("jobs of", "them") };
        write!(f, "{} {jobs_of} {from} went to {to}, since no worker had taken {them} for {after} ms", jobs.len())?;
        for (id, old) in jobs {
            if let Some(old) = old {
                write!(f, "; job {old} has the id {id} there")?;
            }
        }
        Ok(())
    }
}

/// Moves the jobs of a route that have waited for as long as its fallback says, the oldest first, at most 100. `failed`
/// gets the errors about single jobs.
///
/// # Errors
/// What [`Link::pipeline`] and the scripts return.
pub async fn fall_back(
    link: &Link,
    base: &Keys,
    route: &RouteStatus,
    now: i64,
    failed: &mut impl FnMut(String),
) -> Result<Option<Rerouted>> {
    let Some(Fallback { after, to }) = &route.entry.fallback else { return Ok(None) };
    let target = Keys::new(base.prefix(), &queue_of(base.name(), &to.slug()))?;
    if route.oldest_age(now).is_none_or(|age| age < *after) || target == route.keys {
        return Ok(None);
    }
    if route.due > 0 {
        // Workers promote jobs when they fetch, and this route may have none.
        promote_due(link, &route.keys, now, i64::try_from(BATCH).unwrap_or(1), false).await?;
    }
    if !to.is_empty() {
        register(link, base, &target, to, &NewFallback::Unchanged).await?;
    }
    let mut waiting = Vec::new();
    for found in old_jobs(link, &route.keys, now - after).await? {
        if found.of_scheduler {
            // The chain goes on in the route: the scheduler is there.
            if let Err(error) = add_next(link, &route.keys, &found.job.id, now).await {
                failed(format!("could not move job {} of {}: {error}", found.job.id, route.keys.name()));
                continue;
            }
        }
        waiting.push(found.job);
    }
    let moved = move_job(link, &route.keys, &target, &waiting).await?;
    let mut jobs = Vec::new();
    for (job, moved) in waiting.into_iter().zip(moved) {
        match moved {
            Ok(Some(id)) => jobs.push((id.clone(), (job.id != id).then_some(job.id))),
            Ok(None) => {}
            Err(error) => failed(format!("could not move job {} of {}: {error}", job.id, route.keys.name())),
        }
    }
    let (from, to) = (route.keys.name().to_owned(), target.name().to_owned());
    Ok((!jobs.is_empty()).then_some(Rerouted { from, to, after: *after, jobs }))
}

/// Whether the fallbacks lead from a route to itself.
#[must_use]
pub fn leads_back(route: &RouteStatus, routes: &[RouteStatus]) -> bool {
    let mut at = route;
    for _ in routes {
        let Some(fallback) = &at.entry.fallback else { return false };
        let Some(next) = routes.iter().find(|next| next.entry.target == fallback.to) else { return false };
        if next.entry.target == route.entry.target {
            return true;
        }
        at = next;
    }
    false
}

struct Found {
    job: Waiting,
    of_scheduler: bool,
}

/// The next jobs of a route that could have run since `since` or longer, in the order in which they would run.
async fn old_jobs(link: &Link, keys: &Keys, since: i64) -> Result<Vec<Found>> {
    let (first, last) = (format!("-{BATCH}"), (BATCH - 1).to_string());
    let lists = [
        command("LRANGE", &[&keys.of("wait"), &first, "-1"]),
        command("LRANGE", &[&keys.of("paused"), &first, "-1"]),
        command("ZRANGE", &[&keys.of("prioritized"), "0", &last]),
    ];
    let mut jobs: Vec<(&'static str, String)> = Vec::new();
    for (place, ids) in ["wait", "paused", "prioritized"].into_iter().zip(link.pipeline(&lists, Retry::Safe).await?) {
        let mut ids = reply::texts(ids?)?;
        if place != "prioritized" {
            ids.reverse(); // the next one is at the tail
        }
        jobs.extend(ids.into_iter().map(|id| (place, id)));
    }
    let read = |id: &str| command("HMGET", &[&keys.job(id), "timestamp", "processedOn", "opts", "rjk"]);
    let reads: Vec<Cmd> = jobs.iter().map(|(_, id)| read(id)).collect();
    let mut found = Vec::new();
    for ((place, id), fields) in jobs.into_iter().zip(link.pipeline(&reads, Retry::Safe).await?) {
        let Ok(fields) = fields else { continue }; // a key of another type is no job
        let fields = reply::per_member(4, fields)?;
        let is_due = due_work::since(&fields).is_some_and(|due| due <= since);
        if let (Some(_), true) = (&fields[0], is_due) {
            let processed_on = fields[1].as_deref().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
            found.push(Found { job: Waiting { id, place, processed_on }, of_scheduler: fields[3].is_some() });
        }
    }
    found.truncate(BATCH);
    Ok(found)
}

/// Adds the job of a scheduler that follows this one, as a worker that takes it does.
async fn add_next(link: &Link, keys: &Keys, id: &str, now: i64) -> Result<()> {
    let job = JobRecord::from_flat(id, link.call(&command("HGETALL", &[&keys.job(id)]), Retry::Safe).await?)?;
    let (Some(scheduler_id), Ok(opts)) = (job.text("rjk"), serde_json::from_slice(job.opts())) else { return Ok(()) };
    let latest = LatestJob { scheduler_id, job_id: &job.id, name: &job.name(), data: job.data(), opts };
    add_scheduler_iteration(link, keys, now, latest).await.map(drop)
}
