//! A shared, self-repairing connection for pipelined commands.

use std::borrow::Borrow;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::{Cmd, Pipeline, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use super::fault::{inspect, Fault};
use super::keeper::Keeper;
use super::pace::Pace;
use super::shared_link::{SharedLink, User};
use super::size;
use super::wire::{Lost, Wire};
use super::{Endpoint, LinkState, Retry, ServerInfo};
use crate::error::{Error, Result};

/// How a link is set up.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// `CLIENT SETNAME`, again after each reconnect.
    pub client_name: Option<String>,
    /// How long a call waits for a connection; `None` = for ever.
    pub patience: Option<Duration>,
    /// An owed reply and not a byte for two of these in a row: the peer is a black hole, and the link leaves it.
    pub silence: Duration,
    /// How long the connection stays when the last clone is dropped, for those who come soon.
    pub linger: Duration,
}

impl Default for LinkOptions {
    fn default() -> Self {
        LinkOptions { client_name: None, patience: None, silence: Duration::from_secs(10), linger: Duration::ZERO }
    }
}

/// A handle on the connection; clones share it. It closes when the last clone is dropped.
#[derive(Clone)]
pub struct Link {
    shared: Arc<SharedLink>,
    _user: Arc<User>,
    patience: Option<Duration>,
    /// The patience is one for replies, too.
    limited: bool,
}

/// A link as someone knows it who does not use it.
pub(super) struct Acquaintance(Weak<SharedLink>);

impl Acquaintance {
    /// Whether there is no such link any more.
    pub fn is_forgotten(&self) -> bool {
        self.0.upgrade().is_none_or(|shared| shared.is_closed())
    }

    /// The link again, unless it has closed.
    pub fn link(&self) -> Option<Link> {
        let shared = self.0.upgrade()?;
        let patience = shared.options.patience;
        Some(Link { _user: Arc::new(User::join(&shared)?), shared, patience, limited: false })
    }
}

/// The state of one call over its tries.
#[derive(Clone)]
struct Trial {
    retry: Retry,
    deadline: Option<Instant>,
    /// No wire of this generation or an earlier one will do.
    spoilt: u64,
    /// Some try may have been executed.
    sent: bool,
    busy: Pace,
}

impl Link {
    /// Makes a link that connects when first used. Call inside a tokio runtime.
    #[must_use]
    pub fn open(endpoint: Arc<Endpoint>, options: LinkOptions) -> Self {
        let patience = options.patience;
        let shared = Arc::new(SharedLink::new(endpoint, options));
        let user = User::join(&shared).expect("a new link is open");
        tokio::spawn(Keeper::new(shared.clone()).run());
        Link { _user: Arc::new(user), shared, patience, limited: false }
    }

    pub(super) fn acquaintance(&self) -> Acquaintance {
        Acquaintance(Arc::downgrade(&self.shared))
    }

    /// The same connection with another patience: how long a call waits until it is sent.
    #[must_use]
    pub fn with_patience(&self, patience: Option<Duration>) -> Self {
        Link { patience, limited: false, ..self.clone() }
    }

    /// The same connection for calls that may take so long in all: connecting, waiting for a busy server, and the reply.
    #[must_use]
    pub fn with_limit(&self, limit: Option<Duration>) -> Self {
        Link { patience: limit, limited: true, ..self.clone() }
    }

    /// The same connection for a call that has already waited for so long.
    #[must_use]
    pub fn after_waiting(&self, waited: Duration) -> Self {
        let patience = self.patience.map(|patience| patience.saturating_sub(waited));
        Link { patience, ..self.clone() }
    }

    /// Whether a call would be sent at once.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared.wire_after(0).is_some()
    }

    #[must_use]
    pub fn endpoint(&self) -> &Arc<Endpoint> {
        &self.shared.endpoint
    }

    /// Follows the state. The current state counts as seen.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<LinkState> {
        self.shared.state.subscribe()
    }

    /// What the server last said about itself; `None` before the first connection.
    #[must_use]
    pub fn server(&self) -> Option<ServerInfo> {
        self.shared.server.lock().clone()
    }

    /// Ends the connection for all clones; calls fail with [`Error::Closed`] from now on.
    pub fn close(&self) {
        self.shared.close();
    }

    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Waits until the link is connected.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`] after the link's patience; what the server refuses us with; [`Error::Closed`].
    pub async fn ready(&self) -> Result<ServerInfo> {
        let wire = self.wire(&self.trial(Retry::Look)).await?;
        Ok(wire.server.clone())
    }

    /// Runs one command.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`]: nothing was sent within the patience, or nothing would have changed.
    /// [`Error::OutcomeUnknown`]: sent, but no reply came.
    /// [`Error::Server`]: an error reply. [`Error::Closed`].
    pub async fn call(&self, cmd: impl Borrow<Cmd>, retry: Retry) -> Result<Value> {
        let mut trial = self.trial(retry);
        loop {
            let wire = self.wire(&trial).await?;
            match self.in_time(&trial, wire.send(cmd.borrow())).await {
                Ok(reply) => match inspect(reply) {
                    Ok(value) => {
                        wire.proven.store(true, Ordering::Relaxed);
                        return Ok(value);
                    }
                    Err(fault) => self.overcome(fault, &wire, &mut trial).await?,
                },
                Err(lost) => {
                    self.check_size(std::iter::once(cmd.borrow()), &lost, &wire, &trial).await?;
                    self.forgive(lost, &wire, &mut trial)?;
                }
            }
        }
    }

    /// Runs commands in one write; each has its own result.
    ///
    /// # Errors
    /// As [`Link::call`], for the pipeline as a whole. Error replies are in the results.
    pub async fn pipeline<C: Borrow<Cmd>>(&self, cmds: &[C], retry: Retry) -> Result<Vec<Result<Value>>> {
        let mut results: Vec<Option<Result<Value>>> = (0..cmds.len()).map(|_| None).collect();
        let mut trial = self.trial(retry);
        loop {
            let open: Vec<usize> = (0..cmds.len()).filter(|&slot| results[slot].is_none()).collect();
            if open.is_empty() {
                return Ok(results.into_iter().flatten().collect());
            }
            let wire = self.wire(&trial).await?;
            let mut pipeline = Pipeline::with_capacity(open.len());
            for &slot in &open {
                pipeline.add_command(cmds[slot].borrow().clone());
            }
            let replies = match self.in_time(&trial, wire.send_all(&pipeline, open.len())).await {
                Ok(replies) => replies,
                Err(lost) => {
                    self.check_size(cmds.iter().map(Borrow::borrow), &lost, &wire, &trial).await?;
                    self.forgive(lost, &wire, &mut trial)?;
                    continue;
                }
            };
            // Slots that the server refused for now were not executed: only they are sent again.
            let mut refused = None;
            for (slot, reply) in open.into_iter().zip(replies) {
                match inspect(reply) {
                    Ok(value) => results[slot] = Some(Ok(value)),
                    Err(Fault::Reply(error)) => results[slot] = Some(Err(error)),
                    Err(fault) => refused = Some(fault),
                }
            }
            match refused {
                None => wire.proven.store(true, Ordering::Relaxed),
                Some(fault) => self.overcome(fault, &wire, &mut trial).await?,
            }
        }
    }

    fn trial(&self, retry: Retry) -> Trial {
        let deadline = self.patience.map(|patience| Instant::now() + patience);
        Trial { retry, deadline, spoilt: 0, sent: false, busy: Pace::new(Duration::from_secs(1)) }
    }

    async fn in_time<T>(
        &self,
        trial: &Trial,
        reply: impl Future<Output = std::result::Result<T, Lost>>,
    ) -> std::result::Result<T, Lost> {
        match trial.deadline.filter(|_| self.limited) {
            None => reply.await,
            Some(deadline) => tokio::time::timeout_at(deadline, reply).await.unwrap_or(Err(Lost::Late)),
        }
    }

    /// A connection that is newer than what the trial has spoilt.
    async fn wire(&self, trial: &Trial) -> Result<Arc<Wire>> {
        if let Some(wire) = self.shared.wire_after(trial.spoilt) {
            return Ok(wire);
        }
        let wait = self.shared.next_wire(trial.spoilt);
        match trial.deadline {
            None => wait.await,
            Some(deadline) => match tokio::time::timeout_at(deadline, wait).await {
                Ok(result) => result,
                Err(_) => Err(self.out_of_patience(trial)),
            },
        }
    }

    fn out_of_patience(&self, trial: &Trial) -> Error {
        let reason = match &*self.shared.state.borrow() {
            LinkState::Connecting { error: Some(error), .. } => format!(" ({error})"),
            _ => String::new(),
        };
        let endpoint = &self.shared.endpoint;
        let patience = self.patience.unwrap_or_default().as_millis();
        if trial.sent && trial.retry != Retry::Look {
            return Error::OutcomeUnknown(format!(
                "the connection to Redis at {endpoint} was lost{reason} after the command was sent and did not come back \
                 within {patience} ms: it may or may not have been executed"
            ));
        }
        Error::ConnectionLost(format!(
            "cannot reach Redis at {endpoint}{reason} within {patience} ms; nothing was sent. \
             Check that Redis runs there and that the URL is right"
        ))
    }

    fn too_late(&self, trial: &Trial) -> Error {
        let (endpoint, limit) = (&self.shared.endpoint, self.patience.unwrap_or_default().as_millis());
        let text = format!("Redis at {endpoint} did not answer within {limit} ms");
        match trial.retry {
            Retry::Look => Error::ConnectionLost(text),
            Retry::Safe | Retry::Never => {
                Error::OutcomeUnknown(format!("{text}: the command may or may not have been executed"))
            }
        }
    }

    /// Decides about another try after an error reply that means "not executed".
    async fn overcome(&self, fault: Fault, wire: &Arc<Wire>, trial: &mut Trial) -> Result<()> {
        match fault {
            Fault::Reply(error) => Err(error),
            Fault::WrongServer(error) => {
                self.shared.leave(wire, &error.to_string());
                trial.spoilt = wire.generation;
                Ok(())
            }
            Fault::Busy(error) => {
                trial.busy.failed();
                match trial.deadline {
                    Some(deadline) => match tokio::time::timeout_at(deadline, trial.busy.wait()).await {
                        Ok(()) => Ok(()),
                        Err(_) => Err(error),
                    },
                    None => {
                        trial.busy.wait().await;
                        Ok(())
                    }
                }
            }
        }
    }

    /// Fails what the server would close each connection for.
    async fn check_size<'a>(
        &self,
        cmds: impl Iterator<Item = &'a Cmd>,
        lost: &Lost,
        wire: &Wire,
        trial: &Trial,
    ) -> Result<()> {
        let Some(longest) = size::suspicious(cmds).filter(|_| !matches!(lost, Lost::Late)) else {
            return Ok(());
        };
        let next = Trial { spoilt: wire.generation, ..trial.clone() };
        // Without a connection nobody knows.
        let Ok(wire) = self.wire(&next).await else {
            return Ok(());
        };
        size::verdict(&wire, longest).await.map_or(Ok(()), Err)
    }

    /// Decides about another try when no reply came.
    fn forgive(&self, lost: Lost, wire: &Wire, trial: &mut Trial) -> Result<()> {
        if wire.is_dead() {
            trial.spoilt = wire.generation;
        }
        match (lost, trial.retry) {
            (Lost::Late, _) => Err(self.too_late(trial)),
            (Lost::NotSent(_), _) => {
                trial.spoilt = wire.generation;
                Ok(())
            }
            (Lost::Unknown(_), Retry::Safe | Retry::Look) => {
                trial.sent = true;
                // A server that takes connections and never answers is asked no more than patience allows.
                match trial.deadline {
                    Some(deadline) if deadline <= Instant::now() => Err(self.too_late(trial)),
                    _ => Ok(()),
                }
            }
            (Lost::Unknown(reason), Retry::Never) => Err(Error::OutcomeUnknown(format!(
                "Redis at {} did not answer ({reason}): the command may or may not have been executed",
                self.shared.endpoint
            ))),
        }
    }
}
