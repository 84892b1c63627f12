//! What the clones of a link and its keeper share.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::{watch, Notify};

use super::usage::Usage;
use super::wire::Wire;
use super::{Endpoint, LinkOptions, LinkState, ServerInfo};
use crate::error::{Error, Result};
use crate::lock::Mutex;

/// What calls in flight get when the link leaves a server that refuses writes.
const FAREWELL: Duration = Duration::from_secs(2);

/// One link: its state, its current connection, its users.
pub(super) struct SharedLink {
    pub endpoint: Arc<Endpoint>,
    pub options: LinkOptions,
    pub current: ArcSwapOption<Wire>,
    pub state: watch::Sender<LinkState>,
    pub usage: Usage,
    /// Why the server will not have us, as long as it will not.
    pub refusal: Mutex<Option<Error>>,
    pub server: Mutex<Option<ServerInfo>>,
    /// The first call asks for the first connection.
    pub demand: Notify,
    /// The current wire leads to the wrong server.
    pub condemned: Notify,
}

impl SharedLink {
    /// Call inside a tokio runtime.
    pub fn new(endpoint: Arc<Endpoint>, options: LinkOptions) -> Self {
        let (state, _) = watch::channel(LinkState::Connecting { attempt: 0, error: None });
        let usage = Usage::new(options.linger);
        SharedLink {
            endpoint,
            options,
            usage,
            current: ArcSwapOption::empty(),
            state,
            refusal: Mutex::new(None),
            server: Mutex::new(None),
            demand: Notify::new(),
            condemned: Notify::new(),
        }
    }

    pub fn wire_after(&self, spoilt: u64) -> Option<Arc<Wire>> {
        self.current.load_full().filter(|wire| wire.generation > spoilt)
    }

    pub async fn next_wire(&self, spoilt: u64) -> Result<Arc<Wire>> {
        let mut states = self.state.subscribe();
        self.demand.notify_one();
        loop {
            match &*states.borrow_and_update() {
                LinkState::Closed => return Err(Error::Closed),
                LinkState::Connecting { .. } => {
                    if let Some(refusal) = self.refusal_at_the_start() {
                        return Err(refusal);
                    }
                }
                LinkState::Connected { .. } => {
                    if let Some(wire) = self.wire_after(spoilt) {
                        return Ok(wire);
                    }
                }
            }
            if states.changed().await.is_err() {
                return Err(Error::Closed);
            }
        }
    }

    /// Why there never was a connection: a mistake that somebody has to hear of. Who was let in before waits: somebody changes
    /// passwords, rights or certificates, and goes on to.
    fn refusal_at_the_start(&self) -> Option<Error> {
        let refusal = self.refusal.lock().clone()?;
        self.server.lock().is_none().then_some(refusal)
    }

    /// Stops using a wire; what is in flight there may still be answered.
    pub fn leave(&self, wire: &Arc<Wire>, reason: &str) {
        let previous = self.current.compare_and_swap(wire, None);
        if previous.as_ref().is_some_and(|current| Arc::ptr_eq(current, wire)) {
            tracing::warn!(endpoint = %self.endpoint, reason, "leaving the server");
            let driver = wire.abort_handle();
            tokio::spawn(async move {
                tokio::time::sleep(FAREWELL).await;
                driver.abort();
            });
            self.condemned.notify_one();
        }
    }

    pub fn is_closed(&self) -> bool {
        *self.state.borrow() == LinkState::Closed
    }

    pub fn close(&self) {
        self.state.send_replace(LinkState::Closed);
        if let Some(wire) = self.current.swap(None) {
            wire.kill();
        }
        // The keeper looks at the state whenever one of these wakes it.
        self.demand.notify_one();
        self.condemned.notify_one();
    }

    /// Publishes a state unless the link was closed meanwhile; false if it was.
    pub fn publish(&self, next: LinkState) -> bool {
        self.state.send_if_modified(|state| {
            let open = *state != LinkState::Closed;
            if open {
                *state = next;
            }
            open
        })
    }
}

/// One user, and all who share it.
pub(super) struct User(Arc<SharedLink>);

impl User {
    /// `None` when the link has closed.
    pub fn join(shared: &Arc<SharedLink>) -> Option<Self> {
        let mut count = shared.usage.count.lock();
        if shared.is_closed() {
            return None;
        }
        count.users += 1;
        Some(User(shared.clone()))
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let (shared, usage) = (self.0.clone(), &self.0.usage);
        let mut count = usage.count.lock();
        count.users -= 1;
        if count.users > 0 {
            return;
        }
        count.deserted += 1;
        // Nothing is gained by waiting for a connection that there is not.
        if usage.linger.is_zero() || shared.wire_after(0).is_none() {
            return shared.close();
        }
        let (deserted, linger) = (count.deserted, usage.linger);
        usage.runtime.spawn(async move {
            tokio::time::sleep(linger).await;
            let count = shared.usage.count.lock();
            if count.users == 0 && count.deserted == deserted {
                shared.close();
            }
        });
    }
}

impl SharedLink {
    /// Closes the link if nobody uses it.
    pub fn close_unused(&self) {
        let count = self.usage.count.lock();
        if count.users == 0 {
            self.close();
        }
    }
}
