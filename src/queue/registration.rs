//! Registering a route before jobs are added to it, so that workers find it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::Value;

use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::mutex::Mutex;
use crate::protocol::keys::hash_tag;
use crate::protocol::route::{NewFallback, Target};
use crate::protocol::Keys;
use crate::queue::routes::register;
use crate::scripts::route::retire_routes;

/// After this time the next add registers the route again: the base queue may have been removed, with its registry.
const KNOWN_FOR: Duration = Duration::from_secs(30);

/// Where the jobs are that a worker is to run.
const OPEN: [&str; 6] = ["wait", "paused", "prioritized", "delayed", "active", "waiting-children"];

/// The registration of a route in the registry of its base queue.
pub struct Registration {
    base: Keys,
    target: Target,
    fallback: NewFallback,
    known_for: Duration,
    /// When it was last registered, and on which connection: the server behind a later one may not know the route.
    last: Mutex<Option<(Instant, Option<u64>)>>,
    /// Held by the call that registers it; others wait for that one.
    turn: tokio::sync::Mutex<()>,
    /// It is looked at again when its time is over.
    looks_again: AtomicBool,
}

impl Registration {
    #[must_use]
    pub fn new(base: Keys, target: Target, fallback: NewFallback) -> Self {
        Registration {
            base,
            target,
            fallback,
            known_for: KNOWN_FOR,
            last: Mutex::new(None),
            turn: tokio::sync::Mutex::new(()),
            looks_again: AtomicBool::new(false),
        }
    }

    /// Another time after which the route is registered again.
    #[must_use]
    pub fn renewed_after(self, known_for: Duration) -> Self {
        Registration { known_for, ..self }
    }

    pub(super) fn is_fresh(&self, link: &Link) -> bool {
        let known = |(at, connection): (Instant, Option<u64>)| {
            at.elapsed() < self.known_for && connection.is_some() && connection == link.generation()
        };
        self.last.lock().is_some_and(known)
    }

    /// Registers the route `keys`, unless that was done a short time ago. True if it is new in the registry.
    pub(super) async fn ensure(self: &Arc<Self>, link: &Link, keys: &Keys) -> Result<bool> {
        if self.is_fresh(link) {
            self.look_again(link, keys);
            return Ok(false);
        }
        let _turn = self.turn.lock().await;
        if !self.is_fresh(link) {
            let prefix = self.base.prefix();
            if link.ready().await?.cluster && hash_tag(&format!("{prefix}:")).is_none() {
                return Err(Error::QueueName(format!(
                    "Redis runs as a cluster, so a queue with routes needs a prefix with a hash tag: use prefix \
                     \"{{{prefix}}}\""
                )));
            }
            let connection = link.generation();
            let is_new = register(link, &self.base, keys, &self.target, &self.fallback).await?;
            *self.last.lock() = Some((Instant::now(), connection));
            return Ok(is_new);
        }
        Ok(false)
    }

    /// Registers the route again when its time is over, if it has jobs that a worker is to run. If its base was removed
    /// meanwhile, nobody would find these jobs until another one is added.
    fn look_again(self: &Arc<Self>, link: &Link, keys: &Keys) {
        if self.looks_again.swap(true, Ordering::Relaxed) {
            return;
        }
        let (registration, link, keys) = (self.clone(), link.downgrade(), keys.clone());
        let age = self.last.lock().map_or(Duration::ZERO, |(last, _)| last.elapsed());
        let rest = self.known_for.saturating_sub(age);
        tokio::spawn(async move {
            tokio::time::sleep(rest).await;
            registration.looks_again.store(false, Ordering::Relaxed);
            let Some(link) = link.join() else { return };
            let mut has_jobs = redis::cmd("EXISTS");
            has_jobs.arg(&OPEN.map(|state| keys.of(state)));
            if matches!(link.call(&has_jobs, Retry::Safe).await, Ok(Value::Int(1..))) {
                let _ = registration.ensure(&link, &keys).await;
            }
        });
    }

    /// Frees the place of the route, which was removed, unless it has jobs again. The next job registers it again.
    pub(super) async fn end(&self, link: &Link) -> Result<()> {
        *self.last.lock() = None;
        end_route(link, &self.base, &self.target.slug()).await
    }
}

/// Frees the place of a route, which was removed, unless it has jobs again.
pub(super) async fn end_route(link: &Link, base: &Keys, slug: &str) -> Result<()> {
    retire_routes(link, base, 1, Some(slug)).await.map(drop)
}
