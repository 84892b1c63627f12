//! A queue and its links.

use std::future::Future;
use std::sync::Arc;

use redis::{Cmd, Value};
use tokio::sync::OnceCell;

use super::adding::Adding;
use super::checks::{self, Compat};
use super::coalescer::Coalescer;
use super::durability::{Durability, Durable};
use super::registration::Registration;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::Keys;
use crate::scripts::hint::Wake;

/// What a queue handle checks at its first call, and what it writes to `meta` when it first adds or changes something.
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    pub max_len_events: i64,
    pub skip_metas_update: bool,
    /// A queue of Bull's is not refused.
    pub allow_legacy: bool,
    /// Written to `meta` at the first call, whatever that is; `None` leaves what is there.
    pub compat: Option<Compat>,
    /// How calls that make jobs ready wake idle workers.
    pub wake: Wake,
}

impl Default for QueueOptions {
    fn default() -> Self {
        QueueOptions {
            max_len_events: 10_000,
            skip_metas_update: false,
            allow_legacy: false,
            compat: None,
            wake: Wake::default(),
        }
    }
}

/// A queue and the links to it. The first call checks the queue, and the first write writes its `meta`: once per
/// handle.
pub struct QueueHandle {
    pub(super) link: Link,
    pub(super) bulk: Link,
    pub(super) keys: Keys,
    pub(super) options: QueueOptions,
    checked: OnceCell<()>,
    compat_written: OnceCell<()>,
    meta_written: OnceCell<()>,
    pub(super) single: Coalescer,
    pub(super) adding: Adding,
}

impl QueueHandle {
    /// `bulk` carries what takes more than one script call; it may be a clone of `link`.
    #[must_use]
    pub fn new(link: Link, bulk: Link, keys: Keys, options: QueueOptions) -> Self {
        QueueHandle {
            adding: Adding::new(link.clone(), keys.clone()),
            link,
            bulk,
            keys,
            options,
            checked: OnceCell::new(),
            compat_written: OnceCell::new(),
            meta_written: OnceCell::new(),
            single: Coalescer::default(),
        }
    }

    /// The queue is a route: it is registered before anything is added to it.
    #[must_use]
    pub fn with_registration(mut self, registration: Option<Registration>) -> Self {
        self.adding.registration = registration.map(Arc::new);
        self
    }

    /// Adds jobs on this link, which is for nothing else, and waits there until they are durable.
    #[must_use]
    pub fn with_durability(mut self, durable: Option<(Link, Durable)>) -> Self {
        self.adding.durability = durable.map(|(link, wanted)| Durability::new(link, wanted));
        self
    }

    #[must_use]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The link for calls of many jobs, so that single calls need not wait behind them.
    #[must_use]
    pub fn bulk(&self) -> &Link {
        &self.bulk
    }

    #[must_use]
    pub fn options(&self) -> QueueOptions {
        self.options
    }

    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Connects and checks that the queue can be used; writes nothing but the version that it is to follow, if one is
    /// given. Does nothing after the first success.
    ///
    /// # Errors
    /// [`Error::LegacyQueue`], [`Error::QueueName`] (no hash tag on a cluster), [`Error::RedisVersion`] and what
    /// [`Link::call`] returns.
    pub async fn ready(&self) -> Result<()> {
        let check = || checks::check(&self.link, &self.keys, self.options.allow_legacy);
        self.link.once(&self.checked, check).await?;
        let Some(compat) = self.options.compat else { return Ok(()) };
        self.link.once(&self.compat_written, || checks::write_compat(&self.link, &self.keys, compat)).await.copied()
    }

    /// As [`QueueHandle::ready`], and writes `meta`, for calls that add or change something; does so once. A route is
    /// registered first, and again from time to time.
    ///
    /// # Errors
    /// See [`QueueHandle::ready`]; of a route also [`Error::RouteLimit`] and [`Error::RouteCollision`].
    pub async fn writable(&self) -> Result<()> {
        self.ready().await?;
        let is_new = self.adding.prepare().await?;
        let write = || async {
            let QueueOptions { max_len_events, skip_metas_update, .. } = self.options;
            if !skip_metas_update {
                checks::write_meta(&self.link, &self.keys, max_len_events).await?;
            }
            Ok(())
        };
        // A route that retires without any job has no meta any more.
        let is_again = is_new && self.meta_written.initialized();
        let written = if is_again { write().await } else { self.link.once(&self.meta_written, write).await.copied() };
        match written {
            // The server may refuse this write for want of memory or of a right. The call itself reports that, if it is
            // refused, too.
            Err(Error::Server { .. }) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Runs a call that adds jobs; with durability it returns when they are durable.
    ///
    /// # Errors
    /// Those of `add`, and [`Error::NotDurable`].
    pub async fn durably<'a, T, F>(&'a self, add: impl FnOnce(&'a Link) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        self.adding.run(&self.link, add).await
    }

    /// Whether a call would be sent at once.
    pub(super) fn is_connected_and_prepared(&self) -> bool {
        self.meta_written.initialized() && self.link.is_connected() && self.adding.is_ready()
    }

    pub(super) async fn read(&self, cmd: &Cmd) -> Result<Value> {
        self.ready().await?;
        self.link.call(cmd, Retry::Look).await
    }

    pub(super) async fn write(&self, cmd: &Cmd) -> Result<Value> {
        self.writable().await?;
        self.link.call(cmd, Retry::InOrder).await
    }
}
