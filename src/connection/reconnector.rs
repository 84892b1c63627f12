//! Keeps a link connected: connects, watches the connection, and leaves servers that are silent or wrong.
//!
//! A silent connection may be half open, or its server may have stopped for a moment. So the link leaves it and
//! connects anew, but calls that wait for their replies there go on waiting until a new connection has proved that the
//! server answers.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::MissedTickBehavior;

use super::connect_error::ConnectError;
use super::ending::Ending;
use super::pace::Pace;
use super::setup::Greeting;
use super::shared_link::SharedLink;
use super::wire::Wire;
use super::LinkState;

/// A connection is silent if a reply is due and no byte came for so many times [`super::LinkOptions::silence`].
const SILENT_AFTER: u64 = 4;
/// For so many bytes that were written without an answer, the link waits one time more: something on the way may have
/// them and pass them on slowly. An upload that can be seen to go on is no silence at all.
const UPLOAD: u64 = 256 << 10;
/// After so many times a silent connection that was left is closed, whatever the server does.
const LEFT: u32 = 30;
/// Between the two proofs on a new connection that the server answers.
const BETWEEN_PROOFS: Duration = Duration::from_millis(300);

/// Keeps a link connected.
pub(super) struct Reconnector {
    shared: Arc<SharedLink>,
    pace: Pace,
    generation: u64,
    /// Silent connections that were left, with calls that may still wait for replies.
    left: Vec<AbortHandle>,
}

impl Reconnector {
    pub fn new(shared: Arc<SharedLink>) -> Self {
        let pace = Pace::new(shared.endpoint.longest_pause());
        Reconnector { shared, pace, generation: 0, left: Vec::new() }
    }

    pub async fn run(mut self) {
        self.shared.first_call.notified().await;
        let mut ending = None;
        while let Some((wire, driver)) = self.connect(ending.as_ref()).await {
            let ended = self.watch(&wire, driver).await;
            self.shared.current.store(None);
            if ended == Ending::Silent {
                self.leave(&wire);
            }
            self.shared.note_left(wire.clone());
            // Reading works on a replica, too, and must not make the link ask it again and again.
            if !matches!(ended, Ending::Refused(_)) && wire.proven.load(Ordering::Relaxed) {
                self.pace.reset();
            }
            self.pace.failed();
            ending = Some(ended);
            self.shared.close_unused();
        }
        self.shared.close();
        self.left.iter().for_each(AbortHandle::abort);
    }

    /// Keeps a silent connection open for a while: if the server had only stopped, the replies come.
    fn leave(&mut self, wire: &Wire) {
        let (driver, time) = (wire.abort_handle(), self.shared.options.silence * LEFT);
        self.left.push(driver.clone());
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            driver.abort();
        });
    }

    /// Tries until it is connected; `None` when the link was closed.
    async fn connect(&mut self, ending: Option<&Ending>) -> Option<(Arc<Wire>, JoinHandle<()>)> {
        let shared = self.shared.clone();
        let mut states = shared.state.subscribe();
        let ask_role = matches!(ending, Some(Ending::Refused(_)));
        let mut error = ending.map(Ending::to_string);
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
                    self.left.retain(|left| !left.is_finished());
                    if !self.left.is_empty() {
                        tokio::spawn(end_left(wire.clone(), self.left.clone()));
                    }
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
    async fn watch(&self, wire: &Arc<Wire>, mut driver: JoinHandle<()>) -> Ending {
        let mut tick = tokio::time::interval(self.shared.options.silence);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut before, mut uploaded, mut silent) = (None, None, 0);
        let moved = wire.moved();
        tokio::pin!(moved);
        loop {
            tokio::select! {
                _ = &mut driver => return self.shared.ending(),
                // The old server may go on answering: what it acknowledges now is lost.
                now = &mut moved => {
                    let moved = Ending::Moved(Some(now));
                    tracing::debug!(endpoint = %self.shared.endpoint, reason = %moved, "leaving the server");
                    wire.kill();
                    return moved;
                }
                () = self.shared.wake_keeper.notified() => {
                    if self.shared.is_closed() {
                        wire.kill();
                        return Ending::Closed;
                    }
                    if self.shared.current.load().as_ref().is_none_or(|current| !Arc::ptr_eq(current, wire)) {
                        return self.shared.ending();
                    }
                }
                _ = tick.tick() => {
                    let (now, upload) = (wire.awaiting(), wire.uploaded());
                    let uploads = upload.is_some() && upload > uploaded;
                    silent = if now.is_some() && now == before && !uploads { silent + 1 } else { 0 };
                    (before, uploaded) = (now, upload.or(uploaded));
                    if silent >= SILENT_AFTER + (wire.unanswered() / UPLOAD).min(u64::from(LEFT)) {
                        return Ending::Silent;
                    }
                }
            }
        }
    }
}

/// Closes connections that were left, once the server answers on a new one. The server may be at work on a call of
/// theirs, so it has to answer twice: by then the replies would have come.
async fn end_left(wire: Arc<Wire>, left: Vec<AbortHandle>) {
    let mut proofs = 0;
    while proofs < 2 && !wire.is_dead() {
        tokio::time::sleep(BETWEEN_PROOFS).await;
        proofs += u32::from(wire.answers().await);
    }
    if proofs == 2 {
        left.iter().for_each(AbortHandle::abort);
    }
}
