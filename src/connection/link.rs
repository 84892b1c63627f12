//! A shared, self-repairing connection for pipelined commands.

use std::borrow::Borrow;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Pipeline, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use super::fault::{inspect, Fault};
use super::keeper::{Keeper, Shared};
use super::pace::Pace;
use super::wire::{Lost, Wire};
use super::{Endpoint, LinkState, Retry, ServerInfo};
use crate::error::{Error, Result};

/// How a link is set up.
#[derive(Clone, Debug, Default)]
pub struct LinkOptions {
    /// `CLIENT SETNAME`, again after each reconnect.
    pub client_name: Option<String>,
    /// How long a call waits for a connection; `None` = for ever.
    pub patience: Option<Duration>,
    /// How long a call waits for its reply; `None` = as long as the peer shows signs of life.
    pub response_timeout: Option<Duration>,
}

/// A handle on the connection; clones share it. It closes when the last clone is dropped.
#[derive(Clone)]
pub struct Link {
    shared: Arc<Shared>,
    _guard: Arc<Guard>,
    patience: Option<Duration>,
}

struct Guard(Arc<Shared>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The state of one call over its tries.
struct Trial {
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
        let shared = Arc::new(Shared::new(endpoint, options));
        tokio::spawn(Keeper::new(shared.clone()).run());
        Link { _guard: Arc::new(Guard(shared.clone())), shared, patience }
    }

    /// The same connection with another patience.
    #[must_use]
    pub fn with_patience(&self, patience: Option<Duration>) -> Self {
        Link { patience, ..self.clone() }
    }

    /// The same connection for a call that has already waited for so long.
    #[must_use]
    pub fn after_waiting(&self, waited: Duration) -> Self {
        self.with_patience(self.patience.map(|patience| patience.saturating_sub(waited)))
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
        let wire = self.wire(&self.trial()).await?;
        Ok(wire.server.clone())
    }

    /// Runs one command.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`]: nothing was sent within the patience. [`Error::OutcomeUnknown`]: sent, but no reply came.
    /// [`Error::Server`]: an error reply. [`Error::Closed`].
    pub async fn call(&self, cmd: impl Borrow<Cmd>, retry: Retry) -> Result<Value> {
        let mut trial = self.trial();
        loop {
            let wire = self.wire(&trial).await?;
            match self.patiently(wire.send(cmd.borrow())).await {
                Ok(reply) => match inspect(reply) {
                    Ok(value) => {
                        wire.proven.store(true, Ordering::Relaxed);
                        return Ok(value);
                    }
                    Err(fault) => self.overcome(fault, &wire, &mut trial).await?,
                },
                Err(lost) => self.forgive(lost, retry, &wire, &mut trial)?,
            }
        }
    }

    /// Runs commands in one write; each has its own result.
    ///
    /// # Errors
    /// As [`Link::call`], for the pipeline as a whole. Error replies are in the results.
    pub async fn pipeline<C: Borrow<Cmd>>(&self, cmds: &[C], retry: Retry) -> Result<Vec<Result<Value>>> {
        let mut results: Vec<Option<Result<Value>>> = (0..cmds.len()).map(|_| None).collect();
        let mut trial = self.trial();
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
            let replies = match self.patiently(wire.send_all(&pipeline, open.len())).await {
                Ok(replies) => replies,
                Err(lost) => {
                    self.forgive(lost, retry, &wire, &mut trial)?;
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

    fn trial(&self) -> Trial {
        let deadline = self.patience.map(|patience| Instant::now() + patience);
        Trial { deadline, spoilt: 0, sent: false, busy: Pace::new(Duration::from_secs(1)) }
    }

    async fn patiently<T>(
        &self,
        reply: impl Future<Output = std::result::Result<T, Lost>>,
    ) -> std::result::Result<T, Lost> {
        match self.shared.options.response_timeout {
            None => reply.await,
            Some(limit) => match tokio::time::timeout(limit, reply).await {
                Ok(result) => result,
                Err(_) => Err(Lost::Unknown(format!("no reply within {} ms", limit.as_millis()))),
            },
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
        if trial.sent {
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

    /// Decides about another try when no reply came.
    fn forgive(&self, lost: Lost, retry: Retry, wire: &Wire, trial: &mut Trial) -> Result<()> {
        if wire.is_dead() {
            trial.spoilt = wire.generation;
        }
        match (lost, retry) {
            (Lost::NotSent(_), _) => {
                trial.spoilt = wire.generation;
                Ok(())
            }
            (Lost::Unknown(_), Retry::Safe) => {
                trial.sent = true;
                Ok(())
            }
            (Lost::Unknown(reason), Retry::Never) => Err(Error::OutcomeUnknown(format!(
                "Redis at {} did not answer ({reason}): the command may or may not have been executed",
                self.shared.endpoint
            ))),
        }
    }
}
