//! A connection for commands that block, used by one caller.

use std::future::{self, Future};
use std::pin::{pin, Pin};
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::time::Instant;

use super::connect_error::ConnectError;
use super::ending::Ending;
use super::fault::Fault;
use super::pace::Pace;
use super::setup::Greeting;
use super::wire::{NoReply, Wire, OUT_OF_STEP};
use super::{Endpoint, Link, Proven, WeakLink};
use crate::error::{Error, Result};
use crate::heartbeat::Heartbeat;
use crate::protocol::reply;

/// How much later than its timeout a reply may come, before the server counts as unreachable.
const GRACE: Duration = Duration::from_secs(2);
/// A longer wait for markers is made of such parts. So a connection that is half open, and a server whose clock was set
/// back, are noticed within 5 s.
const PART: Duration = Duration::from_secs(3);
/// Pause after a wait that ended far too early without a marker: the server's clock was set forward, or it does not
/// wait at all.
const TOO_EARLY: Duration = Duration::from_millis(100);
/// How long an ended wait may take to read what the server had sent before: a server that does not answer must not keep
/// its user.
const END: Duration = Duration::from_secs(1);
/// Redis before 7.0.8 reads a shorter time as "forever".
const SHORTEST: Duration = Duration::from_millis(2);

/// A socket that waits in `BZPOPMIN` or `XREAD`.
///
/// A server that waits for a socket which nobody reads would pop a marker that nobody gets. So a wait for markers is
/// ended by closing the write side of the socket and reading to its end: a marker that was popped before comes then.
/// The pending future owns the connection, and dropping it closes the connection at once.
pub struct BlockingLink {
    endpoint: Arc<Endpoint>,
    client_name: Option<String>,
    wire: Option<Wire>,
    pace: Pace,
    generation: u64,
    closed: bool,
    heartbeat: Arc<Heartbeat>,
    /// The link whose calls must reach the same server.
    beside: Option<WeakLink>,
}

impl BlockingLink {
    /// Does no I/O. `client_name` is what `getWorkers` looks for.
    #[must_use]
    pub fn new(endpoint: Arc<Endpoint>, client_name: Option<String>) -> Self {
        let (pace, heartbeat) = (Pace::new(endpoint.longest_pause()), Arc::default());
        BlockingLink { endpoint, client_name, wire: None, pace, generation: 0, closed: false, heartbeat, beside: None }
    }

    /// Notes in `heartbeat` when a part of a wait for markers has ended.
    #[must_use]
    pub fn with_heartbeat(self, heartbeat: Arc<Heartbeat>) -> Self {
        BlockingLink { heartbeat, ..self }
    }

    /// Waits where the calls of this link go. Sentinels that disagree, or a false message of one, could send each to
    /// another server.
    #[must_use]
    pub fn beside(self, link: &Link) -> Self {
        BlockingLink { beside: Some(link.downgrade()), ..self }
    }

    /// Another one like this, which is not connected.
    #[must_use]
    pub fn another(&self) -> Self {
        let new = Self::new(self.endpoint.clone(), self.client_name.clone());
        BlockingLink { heartbeat: self.heartbeat.clone(), beside: self.beside.clone(), ..new }
    }

    /// Connects if it is not connected, after the backoff of earlier failures.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`], the refusal of the server, or [`Error::Closed`].
    pub async fn connect(&mut self) -> Result<()> {
        if self.closed {
            return Err(Error::Closed);
        }
        if self.wire.as_ref().is_some_and(|wire| !wire.is_dead()) {
            return Ok(());
        }
        self.wire = None;
        self.pace.wait().await;
        // Counted before the try, so that a try that is dropped counts as well.
        self.pace.failed();
        self.generation += 1;
        let greeting = Greeting { name: self.client_name.as_deref(), ..Greeting::default() };
        match Wire::connect(&self.endpoint, greeting, self.generation).await {
            Ok((wire, _)) => {
                self.wire = Some(wire);
                Ok(())
            }
            Err(ConnectError::Fatal(error)) => Err(error),
            Err(ConnectError::Retry(reason)) => {
                Err(Error::ConnectionLost(format!("cannot reach Redis at {} ({reason})", self.endpoint)))
            }
        }
    }

    /// How many connections were made, so that a caller can see that this is a new one.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Waits for a marker, and returns its member and score; `None` after `timeout`, or when the wait was `ended`.
    ///
    /// # Errors
    /// See [`BlockingLink::wait`].
    pub async fn wait_marker(
        &mut self,
        key: &str,
        timeout: Duration,
        ended: impl Future<Output = ()>,
    ) -> Result<Option<(String, f64)>> {
        let popped = self.wait_markers(&[key], timeout, ended).await?;
        Ok(popped.map(|(_, member, score)| (member, score)))
    }

    /// Waits for a marker of several queues, the first one preferred, and returns its key, member and score; `None`
    /// after `timeout`, or when the wait was `ended`. The connection is closed then, and a marker that was popped
    /// before is returned.
    ///
    /// # Errors
    /// See [`BlockingLink::wait`]. The server refuses all keys if it refuses one.
    pub async fn wait_markers(
        &mut self,
        keys: &[&str],
        timeout: Duration,
        ended: impl Future<Output = ()>,
    ) -> Result<Option<(String, String, f64)>> {
        let end = Instant::now() + timeout;
        let mut ended = pin!(ended);
        loop {
            let began = Instant::now();
            let part = (end - began).clamp(SHORTEST, PART);
            let mut cmd = redis::cmd("BZPOPMIN");
            cmd.arg(keys).arg(format!("{:.3}", part.as_secs_f64()));
            let Some(popped) = self.wait_until(&cmd, part, read_marker, ended.as_mut()).await? else { return Ok(None) };
            self.pace.reset();
            self.heartbeat.beat();
            if popped.is_none() {
                // Then the Sentinels are asked again.
                let theirs = self.beside.as_ref().and_then(WeakLink::named_by_sentinels);
                self.wire.take_if(|wire| theirs.as_ref().zip(wire.named_by_sentinels()).is_some_and(|(a, b)| a != b));
            }
            if popped.is_some() || self.wire.is_none() || Instant::now() + SHORTEST >= end {
                return Ok(popped);
            }
            if began.elapsed() < part / 2 {
                tokio::select! {
                    () = ended.as_mut() => return Ok(None),
                    () = tokio::time::sleep(TOO_EARLY.min(end - Instant::now())) => {}
                }
            }
        }
    }

    /// Runs a command that blocks for at most `timeout`, and reads its reply.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`] when the socket failed or the reply has another shape; the next call reconnects after
    /// the backoff. [`Error::Server`]; [`Error::Closed`].
    pub async fn wait<T>(&mut self, cmd: &Cmd, timeout: Duration, read: impl FnOnce(Value) -> Result<T>) -> Result<T> {
        let reply = self.wait_until(cmd, timeout, read, pin!(future::pending())).await?;
        self.pace.reset();
        reply.ok_or(Error::Closed)
    }

    /// Runs a command that does not block. It says nothing about waits: a connection that answers and breaks each wait
    /// is not tried without a pause.
    ///
    /// # Errors
    /// See [`BlockingLink::wait`].
    pub async fn ask<T>(&mut self, cmd: &Cmd, read: impl FnOnce(Value) -> Result<T>) -> Result<T> {
        let reply = self.wait_until(cmd, Duration::ZERO, read, pin!(future::pending())).await?;
        reply.ok_or(Error::Closed)
    }

    /// The same, but `None` if the wait was `ended` before there was a reply.
    async fn wait_until<T>(
        &mut self,
        cmd: &Cmd,
        timeout: Duration,
        read: impl FnOnce(Value) -> Result<T>,
        mut ended: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Option<T>> {
        tokio::select! {
            biased;
            () = ended.as_mut() => return Ok(None),
            connected = self.connect() => connected?,
        }
        let Some(wire) = self.wire.take() else {
            return Err(Error::Closed);
        };
        let lost = |reason: &str| Err(Error::ConnectionLost(format!("Redis at {}: {reason}", self.endpoint)));
        let (reply, has_ended) = {
            let mut call = pin!(wire.send(cmd, Proven::Behind));
            tokio::select! {
                reply = tokio::time::timeout(timeout + GRACE, call.as_mut()) => (reply, false),
                now = wire.moved() => return lost(&Ending::Moved(Some(now)).to_string()),
                () = ended => {
                    wire.end_writing();
                    (tokio::time::timeout(END, call).await, true)
                }
            }
        };
        let reply = match reply {
            Ok(Ok(reply)) => reply,
            Ok(Err(NoReply::OutOfStep)) => return lost(OUT_OF_STEP),
            Ok(Err(_)) | Err(_) if has_ended => return Ok(None),
            Ok(Err(_)) => return lost("the connection was closed during a blocking wait"),
            Err(_) => return lost("no answer to a blocking wait"),
        };
        let value = match self.endpoint.inspect(reply).map(read) {
            Ok(Err(Error::WrongShape(reason))) => return lost(&reason),
            Ok(value) => value?,
            Err(Fault::Moved(error, to)) => {
                self.endpoint.moved(&to);
                return lost(&error.to_string());
            }
            // While a slot migrates, the keys that have moved are not waited for: no script changes any of them then.
            Err(Fault::Busy(error) | Fault::WrongServer(error) | Fault::Ask(error, _)) => {
                return lost(&error.to_string())
            }
            Err(Fault::ForCaller(error)) => {
                self.wire = Some(wire).filter(|_| !has_ended);
                return Err(error);
            }
        };
        self.wire = Some(wire).filter(|_| !has_ended);
        Ok(Some(value))
    }

    /// Closes the socket; the next call opens another one.
    pub fn disconnect(&mut self) {
        self.wire = None;
    }

    /// Closes the socket; later calls fail with [`Error::Closed`].
    pub fn close(&mut self) {
        self.closed = true;
        self.wire = None;
    }
}

/// Reads `[key, member, score]` or nil.
fn read_marker(value: Value) -> Result<Option<(String, String, f64)>> {
    if value == Value::Nil {
        return Ok(None);
    }
    let mut items = reply::exactly(3, value)?;
    let (Some(score), Some(member), Some(key)) = (items.pop(), items.pop(), items.pop()) else { return Ok(None) };
    let score = match score {
        Value::Double(score) => score,
        other => reply::text(other)?.parse().unwrap_or(0.0),
    };
    Ok(Some((reply::text(key)?, reply::text(member)?, score)))
}
