//! Keeps a link connected: tries, watches, gives up on silent and on wrong servers.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::{watch, Notify};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use super::pace::Pace;
use super::usage::Usage;
use super::wire::{Refused, Wire};
use super::{Endpoint, LinkOptions, LinkState, ServerInfo};
use crate::error::{Error, Result};
use crate::lock::Mutex;

const RECONNECT_CAP: Duration = Duration::from_secs(5);
/// What calls in flight get when the link leaves a server that refuses writes.
const FAREWELL: Duration = Duration::from_secs(2);

/// What the clones of a link and its keeper share.
pub(super) struct Shared {
    pub endpoint: Arc<Endpoint>,
    pub options: LinkOptions,
    current: ArcSwapOption<Wire>,
    pub state: watch::Sender<LinkState>,
    pub usage: Usage,
    /// Why the server will not have us, as long as it will not.
    refusal: Mutex<Option<Error>>,
    pub server: Mutex<Option<ServerInfo>>,
    /// The first call asks for the first connection.
    demand: Notify,
    /// The current wire leads to the wrong server.
    condemned: Notify,
}

impl Shared {
    /// Call inside a tokio runtime.
    pub fn new(endpoint: Arc<Endpoint>, options: LinkOptions) -> Self {
        let (state, _) = watch::channel(LinkState::Connecting { attempt: 0, error: None });
        let usage = Usage::new(options.linger);
        Shared {
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
    fn publish(&self, next: LinkState) -> bool {
        self.state.send_if_modified(|state| {
            let open = *state != LinkState::Closed;
            if open {
                *state = next;
            }
            open
        })
    }
}

/// Keeps a link connected.
pub(super) struct Keeper {
    shared: Arc<Shared>,
    pace: Pace,
    generation: u64,
}

impl Keeper {
    pub fn new(shared: Arc<Shared>) -> Self {
        Keeper { shared, pace: Pace::new(RECONNECT_CAP), generation: 0 }
    }

    pub async fn run(mut self) {
        self.shared.demand.notified().await;
        let mut error = None;
        while let Some((wire, driver)) = self.connect(error.take()).await {
            let ended = self.attend(&wire, driver).await;
            self.shared.current.store(None);
            if wire.proven.load(Ordering::Relaxed) {
                self.pace.reset();
            }
            self.pace.failed();
            error = Some(ended);
            self.shared.close_unused();
        }
        self.shared.close();
    }

    /// Tries until there is a connection; `None` when the link was closed.
    async fn connect(&mut self, mut error: Option<String>) -> Option<(Arc<Wire>, JoinHandle<()>)> {
        let shared = self.shared.clone();
        let mut states = shared.state.subscribe();
        loop {
            let attempt = self.pace.failures();
            if !shared.publish(LinkState::Connecting { attempt, error: error.take() }) {
                return None;
            }
            let name = shared.options.client_name.as_deref();
            let generation = self.generation + 1;
            let tried = async {
                self.pace.wait().await;
                Wire::connect(&shared.endpoint, name, generation).await
            };
            let outcome = tokio::select! {
                outcome = tried => outcome,
                _ = states.wait_for(|state| *state == LinkState::Closed) => return None,
            };
            match outcome {
                Ok((wire, driver)) => {
                    self.generation = generation;
                    *shared.refusal.lock() = None;
                    *shared.server.lock() = Some(wire.server.clone());
                    let wire = Arc::new(wire);
                    shared.current.store(Some(wire.clone()));
                    return shared.publish(LinkState::Connected { generation }).then_some((wire, driver));
                }
                Err(Refused::Later(reason)) => {
                    error = Some(reason);
                    *shared.refusal.lock() = None;
                }
                Err(Refused::Fatal(refusal)) => {
                    error = Some(refusal.to_string());
                    *shared.refusal.lock() = Some(refusal);
                }
            }
            tracing::debug!(endpoint = %shared.endpoint, attempt, error, "cannot connect");
            self.pace.failed();
        }
    }

    /// Watches a connection until it is over; returns why.
    async fn attend(&self, wire: &Arc<Wire>, mut driver: JoinHandle<()>) -> String {
        let mut tick = tokio::time::interval(self.shared.options.silence);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = None;
        let mut silent = 0;
        loop {
            tokio::select! {
                _ = &mut driver => return "the connection was closed".into(),
                () = self.shared.condemned.notified() => {
                    if self.shared.is_closed() {
                        wire.kill();
                        return "closed".into();
                    }
                    if self.shared.current.load().as_ref().is_none_or(|current| !Arc::ptr_eq(current, wire)) {
                        return "the server refused to write".into();
                    }
                }
                _ = tick.tick() => {
                    let now = wire.awaiting();
                    silent = if now.is_some() && now == heard { silent + 1 } else { 0 };
                    heard = now;
                    if silent >= 2 {
                        wire.kill();
                        return "the server fell silent".into();
                    }
                }
            }
        }
    }
}
