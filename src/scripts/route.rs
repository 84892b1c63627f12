//! Routes of a queue, and fetches with a profile: `lua/route`.

use redis::Value;

use super::fetch::{fetch_call, FetchPlan, Fetched};
use super::{eval, eval_all, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::route::{NewFallback, Target};
use crate::protocol::{reply, Keys};

/// Registers the route of a target, the queue `route` of `base`, and changes its fallback. True if the route is new.
///
/// # Errors
/// [`Error::RouteLimit`], [`Error::RouteCollision`] and what [`eval`] returns.
pub async fn register_route(
    link: &Link,
    base: &Keys,
    route: &Keys,
    target: &Target,
    fallback: &NewFallback,
) -> Result<bool> {
    let (slug, canonical) = (target.slug(), target.canonical());
    let mut call = Call::on_both(&lua::route::REGISTER_ROUTE, base, route);
    call.arg(&slug).arg(&canonical);
    match fallback {
        NewFallback::Unchanged => call.arg("").arg(""),
        NewFallback::Off => call.arg("0").arg(""),
        NewFallback::Set(fallback) => call.arg(fallback.after).arg(fallback.to_json()),
    };
    let mut reply = eval(link, &call, Retry::Safe, reply::array).await?.into_iter();
    match reply.next().map(reply::integer).transpose()? {
        Some(1) => Ok(reply.next().map(reply::integer).transpose()? == Some(1)),
        Some(0) => {
            let other = reply.next().map(reply::text).transpose()?.unwrap_or_default();
            Err(Error::RouteCollision(format!(
                "The route {} of target {canonical} belongs to another target already: {other}. Rename a value of one \
                 of them",
                route.name()
            )))
        }
        _ => Err(Error::RouteLimit(format!(
            "Queue {} has 256 routes that are in use, so {} cannot be added for target {canonical}. Use fewer \
             different targets. \
             A route ends ten minutes after its last job; queue.route(target).obliterate() ends one at once",
            base.name(),
            route.name()
        ))),
    }
}

/// Retires routes that nobody uses, at most that many. With a slug: this route, which was removed just now. Returns how
/// many it were.
///
/// # Errors
/// What [`eval`] returns.
pub async fn retire_routes(link: &Link, base: &Keys, most: usize, slug: Option<&str>) -> Result<usize> {
    let mut call = Call::new(&lua::route::RETIRE_ROUTES, base);
    call.arg(most).optional(slug);
    let retired = eval(link, &call, Retry::Safe, reply::integer).await?;
    Ok(usize::try_from(retired).unwrap_or(0))
}

/// Brings back those of these retired routes that are in use again, and returns their slugs; forgets those without any
/// job.
///
/// # Errors
/// What [`eval`] returns.
pub async fn revive_routes(link: &Link, base: &Keys, slugs: &[String]) -> Result<Vec<String>> {
    let mut call = Call::new(&lua::route::REVIVE_ROUTES, base);
    call.arg("").arg(slugs);
    eval(link, &call, Retry::Safe, reply::texts).await
}

/// Which jobs a scan takes.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// How many of the next jobs it looks at, and of the next prioritized ones.
    pub depth: usize,
    /// What the worker has, as JSON.
    pub profile: &'a str,
}

/// Fetches jobs whose target the profile matches. Never sent twice, as `move_to_active`.
///
/// # Errors
/// [`crate::error::Error::OutcomeUnknown`] when the reply got lost.
pub async fn scan_jobs(link: &Link, keys: &Keys, now: i64, plan: &FetchPlan<'_>, scan: Scan<'_>) -> Result<Fetched> {
    let mut call = fetch_call(&lua::route::SCAN_JOBS, keys, now, plan);
    call.arg(scan.depth).arg(scan.profile).fan_out(plan.fan_out);
    let read = |reply| {
        let mut items = reply::array(reply)?.into_iter();
        let fetched = Fetched::read(items.by_ref())?;
        let unmatched = items.next().map_or(Ok(0), reply::integer)?;
        Ok(Fetched { unmatched: usize::try_from(unmatched).unwrap_or(0), ..fetched })
    };
    eval(link, &call, Retry::Never, read).await
}

/// A waiting job of a route, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub id: String,
    /// `wait`, `paused` or `prioritized`.
    pub place: &'static str,
    /// Its field `processedOn`; "" if it has never started.
    pub processed_on: String,
}

/// Moves waiting jobs of a route to another queue in the same slot. Returns for each its id there; `None` if it has
/// left its place or has run meanwhile.
///
/// # Errors
/// What [`eval_all`] returns; one for each job that could not be moved.
pub async fn move_job(link: &Link, route: &Keys, to: &Keys, jobs: &[Waiting]) -> Result<Vec<Result<Option<String>>>> {
    let call = |job: &Waiting| {
        let mut call = Call::on_both(&lua::route::MOVE_JOB, route, to);
        call.arg(job.place).arg(&job.id).arg(&job.processed_on);
        call
    };
    let calls: Vec<Call> = jobs.iter().map(call).collect();
    let read = |moved: Value| match moved {
        Value::Int(_) => Ok(None),
        id => reply::text(id).map(Some),
    };
    let replies = eval_all(link, &calls, Retry::Safe).await?;
    Ok(replies.into_iter().map(|reply| link.believe(Retry::Safe, reply.and_then(read))).collect())
}
