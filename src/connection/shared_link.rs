//! What the handles of a link and its keeper share.

use std::sync::atomic::AtomicU64;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::runtime::Handle;
use tokio::sync::{watch, Notify};

use super::ending::Ending;
use super::wire::Wire;
use super::{Endpoint, LinkOptions, LinkState, ServerInfo};
use crate::error::{Error, Result};
use crate::mutex::Mutex;

/// So many older connections are remembered.
const MOST_OLDER: usize = 16;
/// How long calls in flight may take when the link leaves a server that refuses writes.
const TIME_FOR_REPLIES: Duration = Duration::from_secs(2);

/// One link: its state, its current connection, its users.
pub(super) struct SharedLink {
    pub endpoint: Arc<Endpoint>,
    pub options: LinkOptions,
    pub current: ArcSwapOption<Wire>,
    pub state: watch::Sender<LinkState>,
    pub usage: Usage,
    /// Why the server refuses the connection, as long as it does.
    pub refusal: Mutex<Option<Error>>,
    pub server: Mutex<Option<ServerInfo>>,
    /// Connections that were left and that the server may not have ended, the newest first.
    older: Mutex<Vec<Arc<Wire>>>,
    /// Held by the one of many calls that ends them.
    pub ending_older: tokio::sync::Mutex<()>,
    /// Why the link has left its server, until the keeper has read it.
    left: Mutex<Option<Ending>>,
    /// How many commands were sent to another node, to which the slot migrates.
    pub redirected: AtomicU64,
    /// Notified by the first call: the keeper then makes the first connection.
    pub first_call: Notify,
    /// Notified when the link has left its server, or was closed.
    pub wake_keeper: Notify,
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
            older: Mutex::default(),
            ending_older: tokio::sync::Mutex::default(),
            left: Mutex::new(None),
            redirected: AtomicU64::new(0),
            first_call: Notify::new(),
            wake_keeper: Notify::new(),
        }
    }

    /// The current connection, if its generation is later than this.
    pub fn wire_after(&self, generation: u64) -> Option<Arc<Wire>> {
        self.current.load_full().filter(|wire| wire.generation > generation)
    }

    /// Waits for a connection of a later generation.
    pub async fn next_wire(&self, generation: u64) -> Result<Arc<Wire>> {
        let mut states = self.state.subscribe();
        self.first_call.notify_one();
        loop {
            match &*states.borrow_and_update() {
                LinkState::Closed => return Err(Error::Closed),
                LinkState::Connecting { .. } => {
                    if let Some(refusal) = self.first_refusal() {
                        return Err(refusal);
                    }
                }
                LinkState::Connected { .. } => {
                    if let Some(wire) = self.wire_after(generation) {
                        return Ok(wire);
                    }
                }
            }
            if states.changed().await.is_err() {
                return Err(Error::Closed);
            }
        }
    }

    /// The refusal, if there never was a connection: the caller has to learn of a wrong password or certificate. After
    /// a first connection callers wait, since somebody changes passwords, rights or certificates and will finish that.
    pub fn first_refusal(&self) -> Option<Error> {
        let refusal = self.refusal.lock().clone()?;
        self.server.lock().is_none().then_some(refusal)
    }

    /// Stops using a connection; calls in flight there may still get their replies.
    pub fn leave(&self, wire: &Arc<Wire>, reason: Ending) {
        let previous = self.current.compare_and_swap(wire, None);
        if previous.as_ref().is_some_and(|current| Arc::ptr_eq(current, wire)) {
            tracing::debug!(endpoint = %self.endpoint, %reason, "leaving the server");
            *self.left.lock() = Some(reason);
            let driver = wire.abort_handle();
            tokio::spawn(async move {
                tokio::time::sleep(TIME_FOR_REPLIES).await;
                driver.abort();
            });
            self.wake_keeper.notify_one();
        }
    }

    /// Notes a connection that has ended, or was left.
    pub fn note_left(&self, wire: Arc<Wire>) {
        let mut older = self.older.lock();
        older.insert(0, wire);
        older.truncate(MOST_OLDER);
    }

    /// Older connections with calls that have ended without a reply and may take effect yet.
    pub fn owing(&self) -> Vec<Arc<Wire>> {
        let mut older = self.older.lock();
        older.retain(|wire| !wire.is_settled());
        older.iter().filter(|wire| wire.owes()).cloned().collect()
    }

    /// Why the last connection has ended.
    pub fn ending(&self) -> Ending {
        self.left.lock().take().unwrap_or(Ending::Closed)
    }

    pub fn is_closed(&self) -> bool {
        *self.state.borrow() == LinkState::Closed
    }

    pub fn close(&self) {
        self.state.send_replace(LinkState::Closed);
        if let Some(wire) = self.current.swap(None) {
            wire.kill();
        }
        // Each of these wakes the keeper, which then reads the state.
        self.first_call.notify_one();
        self.wake_keeper.notify_one();
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

/// Counts the users of a link: without users it closes.
#[derive(Default)]
struct Count {
    users: usize,
    /// How often the number of users has become 0.
    times_unused: u64,
}

/// The users of one link.
pub(super) struct Usage {
    count: Mutex<Count>,
    linger: Duration,
    runtime: Handle,
}

impl Usage {
    /// Call inside a tokio runtime.
    fn new(linger: Duration) -> Self {
        Usage { count: Mutex::default(), linger, runtime: Handle::current() }
    }
}

/// One user of a link; the link closes some time after the last user was dropped.
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
        count.times_unused += 1;
        // Without a connection there is nothing to keep open.
        if usage.linger.is_zero() || shared.wire_after(0).is_none() {
            return shared.close();
        }
        let (times_unused, linger) = (count.times_unused, usage.linger);
        usage.runtime.spawn(async move {
            tokio::time::sleep(linger).await;
            let count = shared.usage.count.lock();
            if count.users == 0 && count.times_unused == times_unused {
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
