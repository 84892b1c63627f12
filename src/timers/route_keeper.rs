//! Looks after the routes of a queue: puts back the jobs that a dead worker left where no other looks for them, says
//! which routes have jobs that no worker takes, applies their fallbacks, retires those that nobody uses, and brings
//! retired ones back that have jobs again.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock::now_ms;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::error_once::ErrorOnce;
use crate::mutex::Mutex;
use crate::protocol::{reply, Keys};
use crate::queue::routes::{fall_back, leads_back, retire, revive, route_status, Rerouted, RouteStatus, BATCH};
use crate::timers::stalled_checker::{self, StalledRule};

const INTERVAL: Duration = Duration::from_secs(30);
/// One worker at a time looks after the routes of a queue. It stays the one until it has missed two turns.
const LEASE_MS: i64 = 75_000;
/// How often it looks at the retired routes. A turn that comes a little early counts as well.
const REVIVAL: Duration = Duration::from_secs(50);
/// The age of the oldest job of a route without workers from which on it is reported.
const UNMATCHED_MS: i64 = 60_000;

/// The most jobs of a route that one turn moves, in batches: the other routes wait meanwhile.
const MOST_BATCHES: usize = 1_000;

/// How many jobs are in routes without a worker, by the name of the route.
pub type Unmatched = Arc<Mutex<BTreeMap<String, i64>>>;

/// What is to be reported.
#[derive(Clone, Debug)]
pub enum RouteNews {
    /// Stalled jobs of a route were put back.
    Stalled(Keys, Vec<String>),
    /// No live worker matches a route whose jobs wait.
    Unmatched(Box<RouteStatus>),
    Rerouted(Rerouted),
}

/// The names of routes of which something was reported, until it is over, and when the retired ones were looked at.
#[derive(Default)]
struct Reported {
    unmatched: HashSet<String>,
    circles: HashSet<String>,
    revived: Option<Instant>,
}

pub struct RouteKeeper {
    pub link: Link,
    /// Of the base queue.
    pub keys: Keys,
    pub worker_id: String,
    pub unmatched: Unmatched,
    /// `None` does not look for stalled jobs.
    pub stalled: Option<StalledRule>,
}

impl RouteKeeper {
    /// Run until dropped: one pass at once, then one every 30 s.
    pub async fn run(self, mut news: impl FnMut(RouteNews), mut failed: impl FnMut(String)) {
        let (mut reported, errors, checks) = (Reported::default(), ErrorOnce::default(), ErrorOnce::default());
        loop {
            let mut left = Vec::new();
            let passed = self.pass(&mut reported, &mut left, &mut news, &mut failed).await;
            if passed.is_err() || self.stalled.is_none() {
                self.step_back().await;
            }
            match passed {
                Ok(()) => errors.ends(),
                Err(error) if errors.begins(&error) => failed(format!("could not look after the routes: {error}")),
                Err(_) => {}
            }
            self.rest(&left, &checks, &mut news, &mut failed).await;
        }
    }

    /// Wait for the next pass, and check routes meanwhile whose running jobs were left alone. Ends early when some were
    /// put back: their fallback may be due.
    async fn rest(
        &self,
        left: &[Keys],
        errors: &ErrorOnce,
        news: &mut impl FnMut(RouteNews),
        failed: &mut impl FnMut(String),
    ) {
        let end = Instant::now() + INTERVAL.mul_f64(0.9 + fastrand::f64() / 5.0);
        let checked = self.stalled.filter(|_| !left.is_empty());
        loop {
            if let Some(rule) = checked {
                match self.put_back(left, rule, news).await {
                    Ok(true) => return,
                    Ok(false) => errors.ends(),
                    Err(error) if errors.begins(&error) => failed(format!("stalled check failed: {error}")),
                    Err(_) => {}
                }
            }
            let pause = end.saturating_duration_since(Instant::now());
            if pause.is_zero() {
                return;
            }
            tokio::time::sleep(checked.map_or(pause, |rule| pause.min(rule.interval))).await;
        }
    }

    /// Whether stalled jobs of these routes were put back. A route that is refused does not stop the others.
    async fn put_back(&self, left: &[Keys], rule: StalledRule, news: &mut impl FnMut(RouteNews)) -> Result<bool> {
        let (mut found, mut refused) = (false, None);
        for keys in left {
            let mut stalled = |ids| {
                found = true;
                news(RouteNews::Stalled(keys.clone(), ids));
            };
            if let Err(error) = stalled_checker::pass(&self.link, keys, rule, &mut stalled).await {
                refused = Some(error);
            }
        }
        refused.filter(|_| !found).map_or(Ok(found), Err)
    }

    async fn pass(
        &self,
        reported: &mut Reported,
        left: &mut Vec<Keys>,
        news: &mut impl FnMut(RouteNews),
        failed: &mut impl FnMut(String),
    ) -> Result<()> {
        if !self.leads().await? {
            self.unmatched.lock().clear();
            return Ok(());
        }
        // First, so that the jobs of routes that come back are seen below. A failure does not stop the rest.
        let mut renewed = Ok(());
        if reported.revived.is_none_or(|at| at.elapsed() >= REVIVAL) {
            renewed = revive(&self.link, &self.keys).await.map(|_| reported.revived = Some(Instant::now()));
        }
        let now = now_ms();
        let routes = route_status(&self.link, &self.keys, now).await?;
        let unmatched = || routes.iter().filter(|route| route.unmatched() > 0);
        left.extend(unmatched().filter(|route| route.active > 0).map(|route| route.keys.clone()));
        *self.unmatched.lock() = unmatched().map(|route| (route.keys.name().to_owned(), route.unmatched())).collect();
        reported.unmatched.retain(|name| unmatched().any(|route| route.keys.name() == name));
        for route in unmatched() {
            let is_old = route.oldest_age(now).is_some_and(|age| age >= UNMATCHED_MS);
            if is_old && reported.unmatched.insert(route.keys.name().to_owned()) {
                news(RouteNews::Unmatched(Box::new(route.clone())));
            }
        }
        let mut refused = None;
        for route in &routes {
            if leads_back(route, &routes) {
                if reported.circles.insert(route.keys.name().to_owned()) {
                    failed(format!(
                        "the fallbacks of route {} and of others lead in a circle: its jobs stay. Give one of them \
                         the fallback \"base\"",
                        route.keys.name()
                    ));
                }
                continue;
            }
            match self.empty(route, now, news, failed).await {
                Ok(()) => {}
                Err(error @ (Error::ConnectionLost(_) | Error::OutcomeUnknown(_))) => return Err(error),
                // One route that cannot be emptied does not stop the others.
                Err(error) => refused = Some(error),
            }
        }
        let retired = retire(&self.link, &self.keys).await;
        refused.map_or(Ok(()), Err).and(renewed).and(retired)
    }

    /// Apply the fallback of a route to all of its old jobs.
    async fn empty(
        &self,
        route: &RouteStatus,
        now: i64,
        news: &mut impl FnMut(RouteNews),
        failed: &mut impl FnMut(String),
    ) -> Result<()> {
        if let Some(error) = &route.error {
            return Err(error.clone());
        }
        for _ in 0..MOST_BATCHES {
            let rerouted = fall_back(&self.link, &self.keys, route, now, failed).await?;
            let moved = rerouted.as_ref().map_or(0, |rerouted| rerouted.jobs.len());
            rerouted.into_iter().for_each(|rerouted| news(RouteNews::Rerouted(rerouted)));
            if moved < BATCH {
                break;
            }
        }
        Ok(())
    }

    /// Lets another worker lead the next pass, since this one cannot do all of it: a right is missing, say, or it does
    /// not look for stalled jobs. If there is no other, it comes back.
    async fn step_back(&self) {
        let _ = release(&self.link, &self.keys, &self.worker_id).await;
    }

    /// Whether this worker looks after the routes.
    async fn leads(&self) -> Result<bool> {
        let key = self.keys.of("ext:routewd");
        let mut take = redis::cmd("SET");
        take.arg(&key).arg(&self.worker_id).arg("NX").arg("PX").arg(LEASE_MS);
        if self.link.call(&take, Retry::Safe).await? != redis::Value::Nil {
            return Ok(true);
        }
        if holds(&self.link, &key, &self.worker_id).await? {
            self.link.call(redis::cmd("PEXPIRE").arg(&key).arg(LEASE_MS), Retry::Safe).await?;
            return Ok(true);
        }
        Ok(false)
    }
}

async fn holds(link: &Link, key: &str, worker_id: &str) -> Result<bool> {
    let holder = link.call(redis::cmd("GET").arg(key), Retry::Safe).await?;
    Ok(reply::text(holder).is_ok_and(|holder| holder == worker_id))
}

/// Lets another worker look after the routes at once, if it was this one.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn release(link: &Link, keys: &Keys, worker_id: &str) -> Result<()> {
    let key = keys.of("ext:routewd");
    if holds(link, &key, worker_id).await? {
        link.call(redis::cmd("DEL").arg(key), Retry::Safe).await?;
    }
    Ok(())
}
