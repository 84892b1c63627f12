//! Commands on a link: sent, and sent again where that is safe.
//!
//! What follows a fault is boxed: the future of a call holds what every call needs, and is copied often.

use std::borrow::Borrow;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::time::Instant;

use super::ending::Ending;
use super::fault::Fault;
use super::link::Link;
use super::pace::Pace;
use super::size;
use super::wire::{NoReply, Wire};
use super::{LinkState, Numbers, Proven, Retry, ServerInfo};
use crate::error::{Error, Result};

/// A bug that the fault suite has to find: a call is sent again although the first one may have been executed.
const RESENDS_BLINDLY: bool = cfg!(feature = "planted-blind-resend");

/// The longest pause before a busy server is asked again.
const BUSY_CAP: Duration = Duration::from_secs(1);

/// The state of one call over its tries.
#[derive(Clone)]
pub(super) struct Tries<'a> {
    pub retry: Retry,
    deadline: Option<Instant>,
    /// The next try needs a connection of a later generation than this.
    failed_generation: u64,
    /// The generation of the connection of the last try, if that may have been executed, or is on its way yet.
    sent_on: Option<u64>,
    sent: &'a MaybeSent,
    busy: Pace,
}

impl Tries<'_> {
    pub fn may_be_executed(&self) {
        self.sent.set();
    }
}

/// Whether a try of a call may have been executed although its reply is not known. It outlives the single call of a
/// link: who makes a call again after an error takes it along.
#[derive(Debug, Default)]
pub struct MaybeSent(AtomicBool);

impl MaybeSent {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Link {
    /// Waits until the link is connected.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`] after the link's timeout; the refusal of the server; [`Error::Closed`].
    pub async fn ready(&self) -> Result<ServerInfo> {
        let wire = self.wire(&mut self.tries(Retry::Look, &MaybeSent::default())).await?;
        Ok(wire.server.clone())
    }

    /// Runs one command.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`]: nothing was sent within the timeout, or the command changes nothing.
    /// [`Error::OutcomeUnknown`]: sent, but no reply came.
    /// [`Error::Server`]: an error reply. [`Error::Closed`].
    pub async fn call(&self, cmd: impl Borrow<Cmd>, retry: Retry) -> Result<Value> {
        self.call_proven(cmd, retry, Proven::Behind, &MaybeSent::default()).await
    }

    /// Runs one command whose reply is proven in this way; `sent` knows of earlier tries.
    ///
    /// # Errors
    /// See [`Link::call`].
    pub async fn call_proven(
        &self,
        cmd: impl Borrow<Cmd>,
        retry: Retry,
        proven: Proven,
        sent: &MaybeSent,
    ) -> Result<Value> {
        let mut tries = self.tries(retry, sent);
        loop {
            let wire = self.wire(&mut tries).await?;
            let reply = pin!(wire.send(cmd.borrow(), proven));
            match self.in_time(&tries, reply).await {
                Ok(reply) => match self.shared.endpoint.inspect(reply) {
                    Ok(value) => {
                        wire.proven.store(true, Ordering::Relaxed);
                        return Ok(value);
                    }
                    Err(Fault::Ask(_, to)) => match Box::pin(self.ask(&to, &[cmd.borrow()], &mut tries)).await?.pop() {
                        Some(Err(fault)) => Box::pin(self.after_fault(fault, &wire, &mut tries)).await?,
                        Some(Ok(value)) => return Ok(value),
                        None => {}
                    },
                    Err(fault) => Box::pin(self.after_fault(fault, &wire, &mut tries)).await?,
                },
                Err(no_reply) => {
                    let cmds = std::iter::once(cmd.borrow());
                    Box::pin(self.check_size(cmds, &no_reply, &wire, &tries)).await?;
                    self.after_no_reply(no_reply, &wire, &mut tries)?;
                }
            }
        }
    }

    /// Runs commands in one write; each has its own result.
    ///
    /// # Errors
    /// As [`Link::call`], for the pipeline as a whole. Error replies are in the results.
    pub async fn pipeline<C: Borrow<Cmd>>(&self, cmds: &[C], retry: Retry) -> Result<Vec<Result<Value>>> {
        self.pipeline_again(cmds, retry, &MaybeSent::default()).await
    }

    /// As [`Link::pipeline`], for reads.
    ///
    /// # Errors
    /// See [`Link::pipeline`].
    pub async fn read_many(&self, reads: &[Cmd], numbers: Numbers) -> Result<Vec<Result<Value>>> {
        self.pipeline_numbered(reads, Retry::Look, &MaybeSent::default(), numbers).await
    }

    /// As [`Link::pipeline`]; `sent` knows of earlier tries.
    ///
    /// # Errors
    /// See [`Link::pipeline`].
    pub async fn pipeline_again<C: Borrow<Cmd>>(
        &self,
        cmds: &[C],
        retry: Retry,
        sent: &MaybeSent,
    ) -> Result<Vec<Result<Value>>> {
        self.pipeline_numbered(cmds, retry, sent, Numbers::Between).await
    }

    async fn pipeline_numbered<C: Borrow<Cmd>>(
        &self,
        cmds: &[C],
        retry: Retry,
        sent: &MaybeSent,
        numbers: Numbers,
    ) -> Result<Vec<Result<Value>>> {
        let mut results: Vec<Option<Result<Value>>> = (0..cmds.len()).map(|_| None).collect();
        let mut tries = self.tries(retry, sent);
        loop {
            let open: Vec<usize> = (0..cmds.len()).filter(|&slot| results[slot].is_none()).collect();
            if open.is_empty() {
                return Ok(results.into_iter().flatten().collect());
            }
            let wire = self.wire(&mut tries).await?;
            let replies = pin!(wire.send_each(open.iter().map(|&slot| cmds[slot].borrow()), numbers));
            let replies = match self.in_time(&tries, replies).await {
                Ok(replies) => replies,
                Err(no_reply) => {
                    let cmds = cmds.iter().map(Borrow::borrow);
                    Box::pin(self.check_size(cmds, &no_reply, &wire, &tries)).await?;
                    self.after_no_reply(no_reply, &wire, &mut tries)?;
                    continue;
                }
            };
            // Commands that the server refused for now were not executed: only these are sent again.
            let (mut refused, mut asked) = (None, Vec::new());
            for (&slot, reply) in open.iter().zip(replies) {
                match self.shared.endpoint.inspect(reply) {
                    Err(Fault::Ask(_, to)) => asked.push((slot, to)),
                    reply => refused = keep(&mut results[slot], reply).or(refused),
                }
            }
            if let Some((_, to)) = asked.first() {
                let cmds: Vec<&Cmd> = asked.iter().map(|(slot, _)| cmds[*slot].borrow()).collect();
                for ((slot, _), reply) in asked.iter().zip(Box::pin(self.ask(to, &cmds, &mut tries)).await?) {
                    refused = keep(&mut results[*slot], reply).or(refused);
                }
            }
            match refused {
                None => wire.proven.store(true, Ordering::Relaxed),
                Some(fault) => {
                    Box::pin(self.after_fault(fault, &wire, &mut tries)).await?;
                    if retry == Retry::Look {
                        // What is read together is of one time: what was read before the refusal may have changed.
                        results.iter_mut().for_each(|result| *result = None);
                    }
                }
            }
        }
    }

    fn tries<'a>(&self, retry: Retry, sent: &'a MaybeSent) -> Tries<'a> {
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        Tries { retry, deadline, failed_generation: 0, sent_on: None, sent, busy: Pace::new(BUSY_CAP) }
    }

    pub(super) async fn in_time<T>(
        &self,
        tries: &Tries<'_>,
        reply: impl Future<Output = std::result::Result<T, NoReply>>,
    ) -> std::result::Result<T, NoReply> {
        match tries.deadline.filter(|_| self.covers_reply) {
            None => reply.await,
            Some(deadline) => tokio::time::timeout_at(deadline, reply).await.unwrap_or(Err(NoReply::Late)),
        }
    }

    /// A connection that is newer than those that failed, and that takes writes unless this is a read. What was sent
    /// before on others, by calls that have ended, takes effect no more, where the server allows to see to that.
    async fn wire(&self, tries: &mut Tries<'_>) -> Result<Arc<Wire>> {
        match self.shared.wire_after(tries.failed_generation) {
            Some(wire) if tries.sent_on.is_none() && self.is_ready(&wire, tries.retry) => Ok(wire),
            _ => Box::pin(self.wait_for_wire(tries)).await,
        }
    }

    /// Whether a call needs to wait for nothing before it is sent on this connection.
    fn is_ready(&self, wire: &Wire, retry: Retry) -> bool {
        (retry == Retry::Look || !wire.is_closed_to_writes()) && self.shared.owing().is_empty()
    }

    async fn wait_for_wire(&self, tries: &mut Tries<'_>) -> Result<Arc<Wire>> {
        let wire = loop {
            let wire = self.newer_wire(tries).await?;
            let ended = async { Ok(self.end_older(&wire).await) };
            match self.in_time(tries, ended).await {
                Ok(Ok(())) => break wire,
                Ok(Err(fault)) => self.after_fault(fault, &wire, tries).await?,
                Err(_) => return Err(self.too_late(tries.retry)),
            }
        };
        let may_come_late =
            tries.retry == Retry::InOrder && tries.sent_on.is_some_and(|sent_on| sent_on < wire.generation);
        let left_open = if may_come_late { wire.left_open.lock().clone() } else { None };
        left_open.map_or(Ok(wire), |why| Err(self.may_come_late(&why)))
    }

    /// Ends what [`SharedLink::owing`] has, from this connection.
    async fn end_older(&self, wire: &Wire) -> std::result::Result<(), Fault> {
        if self.shared.owing().is_empty() {
            return Ok(());
        }
        let _alone = self.shared.ending_older.lock().await;
        for older in self.shared.owing() {
            wire.end_older(&older).await?;
        }
        Ok(())
    }

    async fn newer_wire(&self, tries: &Tries<'_>) -> Result<Arc<Wire>> {
        let mut wire = match self.shared.wire_after(tries.failed_generation) {
            Some(wire) => wire,
            None => {
                let next = self.shared.next_wire(tries.failed_generation);
                before(tries.deadline, next).await.unwrap_or_else(|| Err(self.no_connection(tries)))?
            }
        };
        while tries.retry != Retry::Look && wire.is_closed_to_writes() {
            let wait = async {
                tokio::select! {
                    () = wire.opened_to_writes() => Ok(wire.clone()),
                    next = self.shared.next_wire(wire.generation) => next,
                }
            };
            wire = before(tries.deadline, wait).await.unwrap_or_else(|| Err(self.closed_to_writes(tries)))?;
        }
        Ok(wire)
    }

    /// The error when a failover lasted too long.
    fn closed_to_writes(&self, tries: &Tries<'_>) -> Error {
        let (endpoint, timeout) = (&self.shared.endpoint, self.timeout.unwrap_or_default().as_millis());
        let text = format!(
            "Redis at {endpoint} has had no new master within {timeout} ms (the option timeout=, of Tasks redis_timeout=, of commands --timeout): a failover is under \
             way, in which writes wait"
        );
        match tries.sent.is_set() {
            false => Error::ConnectionLost(format!("{text}; nothing was sent")),
            true => Error::OutcomeUnknown(format!("{text}. An earlier try may or may not have been executed")),
        }
    }

    /// The error when no connection came in time.
    fn no_connection(&self, tries: &Tries<'_>) -> Error {
        let reason = match &*self.shared.state.borrow() {
            LinkState::Connecting { error: Some(error), .. } => format!(" ({error})"),
            _ => String::new(),
        };
        let endpoint = &self.shared.endpoint;
        let timeout = self.timeout.unwrap_or_default().as_millis();
        if tries.sent.is_set() && tries.retry != Retry::Look {
            return Error::OutcomeUnknown(format!(
                "the connection to Redis at {endpoint} was lost{reason} after the command was sent and did not come \
                 back within {timeout} ms: it may or may not have been executed"
            ));
        }
        let (what, advice) = if reason.contains("READONLY") {
            (
                "a master",
                "nothing was written. A replica takes no writes: give the URL of the master, or of the Sentinels",
            )
        } else {
            ("Redis", "nothing was sent. Check that Redis runs there and that the URL is right")
        };
        Error::ConnectionLost(format!(
            "cannot reach {what} at {endpoint}{reason} within {timeout} ms (the option timeout=, of Tasks redis_timeout=, of commands --timeout); {advice}"
        ))
    }

    /// The error when no reply came in time.
    pub(super) fn too_late(&self, retry: Retry) -> Error {
        let (endpoint, timeout) = (&self.shared.endpoint, self.timeout.unwrap_or_default().as_millis());
        let text = format!("Redis at {endpoint} did not answer within {timeout} ms");
        match retry {
            Retry::Look => Error::ConnectionLost(text),
            Retry::Safe | Retry::InOrder | Retry::Never => {
                Error::OutcomeUnknown(format!("{text}: the command may or may not have been executed"))
            }
        }
    }

    /// After an error reply: returns it, or waits for another try if the command was not executed.
    async fn after_fault(&self, fault: Fault, wire: &Arc<Wire>, tries: &mut Tries<'_>) -> Result<()> {
        match fault {
            Fault::ForCaller(error) => Err(error),
            Fault::WrongServer(error) => {
                self.shared.leave(wire, Ending::Refused(error.to_string()));
                tries.failed_generation = wire.generation;
                Ok(())
            }
            Fault::Moved(_, to) => {
                self.shared.endpoint.moved(&to);
                self.shared.leave(wire, Ending::Moved(to.node));
                tries.failed_generation = wire.generation;
                Ok(())
            }
            // The node that was asked sends its callers on: the migration has gone on meanwhile.
            Fault::Ask(error, _) | Fault::Busy(error) => {
                tries.busy.failed();
                match tries.deadline {
                    Some(deadline) => match tokio::time::timeout_at(deadline, tries.busy.wait()).await {
                        Ok(()) => Ok(()),
                        Err(_) => Err(error),
                    },
                    None => {
                        tries.busy.wait().await;
                        Ok(())
                    }
                }
            }
        }
    }

    /// Returns an error if no reply came because an argument is too long: the server would close every new connection
    /// as well.
    async fn check_size<'a>(
        &self,
        cmds: impl Iterator<Item = &'a Cmd>,
        no_reply: &NoReply,
        wire: &Wire,
        tries: &Tries<'_>,
    ) -> Result<()> {
        let Some(longest) = size::maybe_too_long(cmds).filter(|_| !matches!(no_reply, NoReply::Late)) else {
            return Ok(());
        };
        let next = Tries { failed_generation: wire.generation, ..tries.clone() };
        // Without a connection the limits of the server are unknown.
        let Ok(wire) = self.newer_wire(&next).await else {
            return Ok(());
        };
        size::error_if_too_long(&wire, longest).await.map_or(Ok(()), Err)
    }

    /// When no reply came: returns an error, or `Ok` for another try.
    fn after_no_reply(&self, no_reply: NoReply, wire: &Arc<Wire>, tries: &mut Tries<'_>) -> Result<()> {
        if matches!(no_reply, NoReply::OutOfStep) {
            self.shared.leave(wire, Ending::OutOfStep);
        }
        if wire.is_dead() {
            tries.failed_generation = wire.generation;
        }
        match (no_reply, tries.retry) {
            (NoReply::Late, _) => Err(self.too_late(tries.retry)),
            (NoReply::NotSent(_), _) => {
                tries.failed_generation = wire.generation;
                Ok(())
            }
            (_, retry) if retry != Retry::Never || RESENDS_BLINDLY => {
                tries.may_be_executed();
                tries.sent_on = Some(wire.generation);
                // A server that accepts connections and never answers is asked again only until the deadline.
                match tries.deadline {
                    Some(deadline) if deadline <= Instant::now() => Err(self.too_late(tries.retry)),
                    _ => Ok(()),
                }
            }
            (sent, _) => Err(self.unknown(&sent.into_reason())),
        }
    }

    /// The error when a command was sent and its reply did not come, for this reason.
    pub(super) fn unknown(&self, reason: &str) -> Error {
        Error::OutcomeUnknown(format!(
            "Redis at {} did not answer ({reason}): the command may or may not have been executed",
            self.shared.endpoint
        ))
    }

    /// The error when a call is not sent again since its first try could come behind a later one.
    fn may_come_late(&self, why: &str) -> Error {
        Error::OutcomeUnknown(format!(
            "Redis at {} did not answer, and cannot be asked to end the connection that the command was sent on \
             ({why}): the command may or may not have been executed, and may be executed later. Call again when Redis \
             answers",
            self.shared.endpoint
        ))
    }

    /// Makes a read, and once more on a new connection if a reply has a shape that its call cannot have.
    ///
    /// # Errors
    /// Those of `read`; for [`Error::WrongShape`] see [`Link::believe`].
    pub async fn look<T, F: Future<Output = Result<T>>>(&self, read: impl Fn() -> F) -> Result<T> {
        let result = read().await;
        if !matches!(result, Err(Error::WrongShape(_))) {
            return result;
        }
        let _ = self.believe(Retry::Look, result);
        self.believe(Retry::Look, read().await)
    }

    /// Returns what was read from a reply. If the reply has a shape that its call cannot have, the connection is
    /// closed, and the call counts as one without a reply.
    ///
    /// # Errors
    /// Those of `read`. For [`Error::WrongShape`]: [`Error::ConnectionLost`] for a read, else
    /// [`Error::OutcomeUnknown`].
    pub fn believe<T>(&self, retry: Retry, read: Result<T>) -> Result<T> {
        let Err(Error::WrongShape(reason)) = read else { return read };
        if let Some(wire) = self.shared.wire_after(0) {
            wire.distrust();
            self.shared.leave(&wire, Ending::OutOfStep);
        }
        Err(match retry {
            Retry::Look => {
                Error::ConnectionLost(format!("Redis at {} did not answer ({reason})", self.shared.endpoint))
            }
            Retry::Safe | Retry::InOrder | Retry::Never => self.unknown(&reason),
        })
    }
}

/// What comes before the deadline, if there is one.
async fn before<T>(deadline: Option<Instant>, wait: impl Future<Output = T>) -> Option<T> {
    match deadline {
        None => Some(wait.await),
        Some(deadline) => tokio::time::timeout_at(deadline, wait).await.ok(),
    }
}

/// Notes a reply that the caller gets. Returns the fault of a command that is sent again.
fn keep(result: &mut Option<Result<Value>>, reply: std::result::Result<Value, Fault>) -> Option<Fault> {
    *result = match reply {
        Ok(value) => Some(Ok(value)),
        Err(Fault::ForCaller(error)) => Some(Err(error)),
        Err(fault) => return Some(fault),
    };
    None
}
