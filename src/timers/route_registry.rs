//! Finds the routes whose jobs a worker may run, and says in Redis what the worker has.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use redis::Cmd;
use serde_json::Value;

use crate::clock::now_ms;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::error_once::ErrorOnce;
use crate::protocol::route::{Profile, RouteEntry, Target};
use crate::protocol::{reply, Keys};

/// How often a worker asks whether there are new routes.
const PERIOD: Duration = Duration::from_secs(2);
/// How often it writes its profile. Others take a worker for dead after three times this long.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How often it removes the profiles of workers that ended without doing so.
const PRUNING: Duration = Duration::from_secs(300);
/// The age at which a profile is removed.
const LONG_DEAD_MS: i64 = 600_000;

/// What a worker learns from the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteChange {
    /// There is a route whose jobs it may run. Said more than once.
    Found(RouteEntry),
    /// A route that it had found, or that it serves in any case, has retired: its slug. Said more than once.
    Retired(String),
    /// The slugs of routes that it knows without the registry, but that the registry has for other targets: it must not
    /// serve these, and may serve all others.
    Others(Vec<String>),
}

/// Which jobs of the queue itself a worker with a profile takes: what others read of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfBase {
    All,
    /// Those whose target its profile fits.
    Fitting,
    None,
}

impl OfBase {
    /// The member of the entry that says it.
    fn member(self) -> &'static str {
        match self {
            OfBase::All => "",
            OfBase::Fitting => ",\"base\":\"fitting\"",
            OfBase::None => ",\"base\":\"none\"",
        }
    }
}

/// The registry of the routes of a queue, as one worker sees it.
pub struct RouteRegistry {
    link: Link,
    keys: Keys,
    profile: Profile,
    /// Which jobs without a route of their own it takes.
    of_base: OfBase,
    /// Its field in the hash of profiles.
    worker_id: String,
    /// The version of the routes that were read last.
    version: Option<String>,
    /// The routes that the worker serves before they are found, by their slugs.
    own: HashMap<String, Target>,
    /// The slugs of the routes that it has found.
    found: HashSet<String>,
    /// Entries that were reported as strange.
    strange: HashSet<(String, String)>,
    written: Option<Instant>,
    pruned: Option<Instant>,
}

impl RouteRegistry {
    #[must_use]
    pub fn new(link: Link, keys: Keys, profile: Profile, of_base: OfBase, worker_id: String) -> Self {
        let own = profile.self_routes().into_iter().map(|target| (target.slug(), target)).collect();
        let (found, strange) = (HashSet::new(), HashSet::new());
        RouteRegistry {
            link,
            keys,
            profile,
            of_base,
            worker_id,
            version: None,
            own,
            found,
            strange,
            written: None,
            pruned: None,
        }
    }

    /// Run until dropped, after a first [`RouteRegistry::look`]. `changed` gets the routes that the profile matches;
    /// `failed` gets what to report.
    pub async fn run(mut self, mut changed: impl FnMut(RouteChange), mut failed: impl FnMut(String)) {
        let errors = ErrorOnce::default();
        loop {
            // Workers that started together must not ask at the same time.
            tokio::time::sleep(PERIOD.mul_f64(0.9 + fastrand::f64() / 5.0)).await;
            match self.look(&mut changed, &mut failed).await {
                Ok(()) => errors.ends(),
                Err(error) if errors.begins(&error) => failed(format!("could not look for routes: {error}")),
                Err(_) => {}
            }
        }
    }

    /// Read the routes if they have changed, and write the profile if it is time. One that fails does not stop the
    /// other.
    ///
    /// # Errors
    /// What [`Link::call`] returns.
    pub async fn look(&mut self, changed: &mut impl FnMut(RouteChange), failed: &mut impl FnMut(String)) -> Result<()> {
        let read = self.read_if_changed(changed, failed).await;
        read.and(self.keep_profile().await)
    }

    async fn read_if_changed(
        &mut self,
        changed: &mut impl FnMut(RouteChange),
        failed: &mut impl FnMut(String),
    ) -> Result<()> {
        let version = match self.call(redis::cmd("GET").arg(self.keys.of("ext:rver"))).await {
            // It may not be read, or has another type: then the routes may have changed.
            Err(error @ Error::Server { .. }) => return self.read(changed, failed).await.and(Err(error)),
            version => version?,
        };
        let version = (version != redis::Value::Nil).then(|| reply::text(version)).transpose()?;
        if version == self.version {
            return Ok(());
        }
        if version.is_some() {
            self.read(changed, failed).await?;
        } else {
            changed(RouteChange::Others(Vec::new()));
        }
        self.version = version;
        // The queue may have been removed, with the profiles.
        self.written = None;
        Ok(())
    }

    async fn keep_profile(&mut self) -> Result<()> {
        if self.written.is_none_or(|at| at.elapsed() >= HEARTBEAT) {
            self.write_profile().await?;
            self.written = Some(Instant::now());
        }
        if self.pruned.is_none_or(|at| at.elapsed() >= PRUNING) {
            self.prune().await?;
            self.pruned = Some(Instant::now());
        }
        Ok(())
    }

    async fn read(&mut self, changed: &mut impl FnMut(RouteChange), failed: &mut impl FnMut(String)) -> Result<()> {
        let mut missing: HashSet<String> = self.found.iter().chain(self.own.keys()).cloned().collect();
        let mut others = Vec::new();
        let routes = reply::texts(self.call(redis::cmd("HGETALL").arg(self.keys.of("ext:routes"))).await?)?;
        for pair in routes.chunks_exact(2) {
            let (slug, json) = (&pair[0], &pair[1]);
            missing.remove(slug);
            let entry = RouteEntry::parse(slug, json);
            let own = self.own.get(slug);
            if own.is_some_and(|target| !entry.as_ref().is_ok_and(|entry| entry.target == *target)) {
                others.push(slug.clone());
            }
            match entry {
                Ok(entry) if entry.target.matches(&self.profile) => {
                    self.found.insert(slug.clone());
                    changed(RouteChange::Found(entry));
                }
                Ok(_) => {}
                Err(error) => {
                    if self.strange.insert((slug.clone(), json.clone())) {
                        failed(format!(
                            "skips route {slug:.100} of queue {}, which another version or program registered: {:.300}",
                            self.keys.name(),
                            error.to_string()
                        ));
                    }
                }
            }
        }
        changed(RouteChange::Others(others));
        if !missing.is_empty() {
            self.retire(missing.into_iter().collect(), changed).await?;
        }
        Ok(())
    }

    /// Of routes that are not registered any more those that have retired. The others were removed with the whole
    /// queue: a producer that does not know it yet may add jobs to them.
    async fn retire(&mut self, missing: Vec<String>, changed: &mut impl FnMut(RouteChange)) -> Result<()> {
        let key = self.keys.of("ext:retired");
        let retired = reply::array(self.call(redis::cmd("HMGET").arg(key).arg(&missing)).await?)?;
        for (slug, entry) in missing.into_iter().zip(retired) {
            if entry != redis::Value::Nil {
                self.found.remove(&slug);
                changed(RouteChange::Retired(slug));
            }
        }
        Ok(())
    }

    async fn write_profile(&self) -> Result<()> {
        let (profile, base) = (self.profile.canonical(), self.of_base.member());
        let entry = format!("{{\"profile\":{profile}{base},\"ts\":{}}}", now_ms());
        let key = self.keys.of("ext:workers");
        self.call(redis::cmd("HSET").arg(key).arg(&self.worker_id).arg(entry)).await.map(drop)
    }

    async fn prune(&self) -> Result<()> {
        let key = self.keys.of("ext:workers");
        let workers = reply::texts(self.call(redis::cmd("HGETALL").arg(&key)).await?)?;
        let dead = |pair: &&[String]| written_at(&pair[1]).is_none_or(|at| now_ms() - at > LONG_DEAD_MS);
        let dead: Vec<&String> = workers.chunks_exact(2).filter(dead).map(|pair| &pair[0]).collect();
        if !dead.is_empty() {
            self.call(redis::cmd("HDEL").arg(key).arg(dead)).await?;
        }
        Ok(())
    }

    async fn call(&self, cmd: &Cmd) -> Result<redis::Value> {
        self.link.call(cmd, Retry::Safe).await
    }
}

/// Removes the profile of a worker that ends.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn remove_profile(link: &Link, keys: &Keys, worker_id: &str) -> Result<()> {
    link.call(redis::cmd("HDEL").arg(keys.of("ext:workers")).arg(worker_id), Retry::Safe).await.map(drop)
}

/// When the profile was written, in ms; `None` if another program wrote it.
fn written_at(entry: &str) -> Option<i64> {
    serde_json::from_str::<Value>(entry).ok()?.get("ts")?.as_i64()
}
