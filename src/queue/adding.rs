//! What holds for each call that adds jobs: when it returns, they are durable if that is wanted, and workers find their
//! route.

use std::future::Future;
use std::sync::Arc;

use super::durability::{durably, Durability};
use super::registration::Registration;
use crate::connection::Link;
use crate::error::Result;
use crate::protocol::Keys;

/// How the calls of one queue add jobs.
pub(super) struct Adding {
    pub keys: Keys,
    /// The link on which a route is registered.
    link: Link,
    pub registration: Option<Arc<Registration>>,
    pub durability: Option<Durability>,
}

impl Adding {
    pub fn new(link: Link, keys: Keys) -> Self {
        Adding { keys, link, registration: None, durability: None }
    }

    /// Whether the next call may add jobs at once.
    pub fn is_ready(&self) -> bool {
        self.registration.as_ref().is_none_or(|registration| registration.is_fresh(&self.link))
    }

    /// Registers the route, if the queue is one and that was not done a short time ago. True if it is new in the
    /// registry.
    pub async fn prepare(&self) -> Result<bool> {
        match &self.registration {
            Some(registration) => registration.ensure(&self.link, &self.keys).await,
            None => Ok(false),
        }
    }

    /// Runs a call that adds jobs. A route whose connection has changed meanwhile is registered again: the server behind
    /// the new one may have lost the registry, or never had it.
    ///
    /// # Errors
    /// Those of `add`, and [`crate::error::Error::NotDurable`].
    pub async fn run<'a, T, F>(&'a self, link: &'a Link, add: impl FnOnce(&'a Link) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let added = durably(self.durability.as_ref(), link, &self.keys, add).await?;
        if !self.is_ready() {
            if let Err(error) = self.prepare().await {
                tracing::warn!(queue = self.keys.name(), %error, "jobs were added, and their route is not registered");
            }
        }
        Ok(added)
    }
}
