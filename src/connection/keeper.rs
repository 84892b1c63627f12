//! Keeps a link connected: connects, watches the connection, and gives up servers that are silent or wrong.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use super::pace::Pace;
use super::setup::{ConnectError, Greeting};
use super::shared_link::SharedLink;
use super::wire::Wire;
use super::LinkState;

/// Why a connection ended to a server that is a replica now.
const REFUSED: &str = "the server refused to write";

const RECONNECT_CAP: Duration = Duration::from_secs(5);

/// Keeps a link connected.
pub(super) struct Keeper {
    shared: Arc<SharedLink>,
    pace: Pace,
    generation: u64,
}

impl Keeper {
    pub fn new(shared: Arc<SharedLink>) -> Self {
        Keeper { shared, pace: Pace::new(RECONNECT_CAP), generation: 0 }
    }

    pub async fn run(mut self) {
        self.shared.first_call.notified().await;
        let mut error = None;
        while let Some((wire, driver)) = self.connect(error.take()).await {
            let reason = self.watch(&wire, driver).await;
            self.shared.current.store(None);
            if wire.proven.load(Ordering::Relaxed) {
                self.pace.reset();
            }
            self.pace.failed();
            error = Some(reason);
            self.shared.close_unused();
        }
        self.shared.close();
    }

    /// Tries until it is connected; `None` when the link was closed.
    async fn connect(&mut self, mut error: Option<String>) -> Option<(Arc<Wire>, JoinHandle<()>)> {
        let shared = self.shared.clone();
        let mut states = shared.state.subscribe();
        let ask_role = error.as_deref() == Some(REFUSED);
        loop {
            let attempt = self.pace.failures();
            if !shared.publish(LinkState::Connecting { attempt, error: error.take() }) {
                return None;
            }
            let options = &shared.options;
            let greeting = Greeting { name: options.client_name.as_deref(), scripts: &options.scripts, ask_role };
            let generation = self.generation + 1;
            let tried = async {
                self.pace.wait().await;
                Wire::connect(&shared.endpoint, greeting, generation).await
            };
            let connected = tokio::select! {
                connected = tried => connected,
                _ = states.wait_for(|state| *state == LinkState::Closed) => return None,
            };
            match connected {
                Ok((wire, driver)) => {
                    self.generation = generation;
                    *shared.refusal.lock() = None;
                    *shared.server.lock() = Some(wire.server.clone());
                    let refuses = wire.refuses;
                    let wire = Arc::new(wire);
                    shared.current.store(Some(wire.clone()));
                    return shared.publish(LinkState::Connected { generation, refuses }).then_some((wire, driver));
                }
                Err(ConnectError::Retry(reason)) => {
                    error = Some(reason);
                    *shared.refusal.lock() = None;
                }
                Err(ConnectError::Fatal(refusal)) => {
                    error = Some(refusal.to_string());
                    *shared.refusal.lock() = Some(refusal);
                }
            }
            tracing::debug!(endpoint = %shared.endpoint, attempt, error, "cannot connect");
            self.pace.failed();
        }
    }

    /// Watches a connection until it ends; returns the reason.
    async fn watch(&self, wire: &Arc<Wire>, mut driver: JoinHandle<()>) -> String {
        let mut tick = tokio::time::interval(self.shared.options.silence);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut before = None;
        let mut silent = 0;
        loop {
            tokio::select! {
                _ = &mut driver => return "the connection was closed".into(),
                () = self.shared.wake_keeper.notified() => {
                    if self.shared.is_closed() {
                        wire.kill();
                        return "closed".into();
                    }
                    if self.shared.current.load().as_ref().is_none_or(|current| !Arc::ptr_eq(current, wire)) {
                        return REFUSED.into();
                    }
                }
                _ = tick.tick() => {
                    let now = wire.awaiting();
                    silent = if now.is_some() && now == before { silent + 1 } else { 0 };
                    before = now;
                    if silent >= 2 {
                        wire.kill();
                        return "the server stopped answering".into();
                    }
                }
            }
        }
    }
}
