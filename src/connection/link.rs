//! A shared connection that reconnects by itself.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{watch, OnceCell};
use tokio::time::Instant;

use super::call_times::CallTimes;
use super::ending::Ending;
use super::reconnector::Reconnector;
use super::setup::HotScript;
use super::shared_link::{SharedLink, User};
use super::socket::Address;
use super::{Endpoint, LinkState, Retry, ServerInfo};
use crate::error::Result;

/// How a link is set up.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// `CLIENT SETNAME`, again after each reconnect.
    pub client_name: Option<String>,
    /// Scripts that its callers run: loaded when it connects, where the server does not have them.
    pub scripts: Vec<HotScript>,
    /// How long a call waits for a connection; `None` = forever.
    pub connect_timeout: Option<Duration>,
    /// If a reply is due and not a byte comes for four of these in a row, the link connects anew.
    pub silence: Duration,
    /// How long the connection stays open after the last user has left, for the next user.
    pub linger: Duration,
}

impl Default for LinkOptions {
    fn default() -> Self {
        // With the new connection, half-open ones are noticed within 5 s.
        let silence = Duration::from_millis(750);
        LinkOptions { client_name: None, scripts: Vec::new(), connect_timeout: None, silence, linger: Duration::ZERO }
    }
}

/// A handle on the connection. Its clones are one user; others join through [`WeakLink`]. When the last user has left,
/// the connection closes after [`LinkOptions::linger`].
#[derive(Clone)]
pub struct Link {
    pub(super) shared: Arc<SharedLink>,
    _user: Arc<User>,
    pub(super) timeout: Option<Duration>,
    /// The timeout includes the reply. Otherwise it only covers the wait until the call is sent.
    pub(super) covers_reply: bool,
    /// Where the times of scripts are noted.
    times: Option<Arc<CallTimes>>,
}

/// Knows a link but does not use it, so it does not keep the connection open.
#[derive(Clone)]
pub struct WeakLink(Weak<SharedLink>);

impl WeakLink {
    /// Whether the link has closed.
    pub(super) fn is_closed(&self) -> bool {
        self.0.upgrade().is_none_or(|shared| shared.is_closed())
    }

    /// What the server last said about itself; `None` before the first connection, and when the link has closed.
    #[must_use]
    pub fn server(&self) -> Option<ServerInfo> {
        self.0.upgrade()?.server.lock().clone()
    }

    /// The server that the link is connected to, if Sentinels have named it.
    pub(super) fn named_by_sentinels(&self) -> Option<Address> {
        self.0.upgrade()?.wire_after(0)?.named_by_sentinels().cloned()
    }

    /// A new user of the link; `None` when it has closed.
    pub(crate) fn join(&self) -> Option<Link> {
        let shared = self.0.upgrade()?;
        let timeout = shared.options.connect_timeout;
        Some(Link { _user: Arc::new(User::join(&shared)?), shared, timeout, covers_reply: false, times: None })
    }
}

impl Link {
    /// Makes a link that connects when first used. Call inside a tokio runtime.
    #[must_use]
    pub fn open(endpoint: Arc<Endpoint>, options: LinkOptions) -> Self {
        let timeout = options.connect_timeout;
        let shared = Arc::new(SharedLink::new(endpoint, options));
        let user = User::join(&shared).expect("a new link is open");
        tokio::spawn(Reconnector::new(shared.clone()).run());
        Link { _user: Arc::new(user), shared, timeout, covers_reply: false, times: None }
    }

    #[must_use]
    pub fn downgrade(&self) -> WeakLink {
        WeakLink(Arc::downgrade(&self.shared))
    }

    /// The same connection with another timeout for the time until a call is sent.
    #[must_use]
    pub fn with_connect_timeout(&self, timeout: Option<Duration>) -> Self {
        Link { timeout, covers_reply: false, ..self.clone() }
    }

    /// The same connection with a timeout for the whole call: connecting, waiting for a busy server, and the reply.
    #[must_use]
    pub fn with_call_timeout(&self, timeout: Option<Duration>) -> Self {
        Link { timeout, covers_reply: true, ..self.clone() }
    }

    /// The same connection for a call that has already waited for this time.
    #[must_use]
    pub fn after_waiting(&self, waited: Duration) -> Self {
        let timeout = self.timeout.map(|timeout| timeout.saturating_sub(waited));
        Link { timeout, ..self.clone() }
    }

    /// The same connection, whose scripts are timed.
    #[must_use]
    pub fn timed(self, times: Arc<CallTimes>) -> Self {
        Link { times: Some(times), ..self }
    }

    /// Where the times of scripts are noted, if they are.
    #[must_use]
    pub fn times(&self) -> Option<&CallTimes> {
        self.times.as_deref()
    }

    /// Whether a call would be sent at once.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared.wire_after(0).is_some()
    }

    /// Which connection a call would use: it grows with each one; `None` without a connection.
    #[must_use]
    pub fn generation(&self) -> Option<u64> {
        self.shared.wire_after(0).map(|wire| wire.generation)
    }

    /// How often another node got commands of this link, because the slot migrates there.
    #[must_use]
    pub fn redirected(&self) -> u64 {
        self.shared.redirected.load(Ordering::Relaxed)
    }

    /// The limit for a call, or for the time until it is sent; `None` = without limit.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
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

    /// Whether there never was a connection, and the server, or its certificate, is the reason: calls fail then, and
    /// do not wait.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.shared.first_refusal().is_some()
    }

    /// Connects anew. Calls in flight have a moment for their replies.
    pub fn renew(&self, reason: &str) {
        if let Some(wire) = self.shared.wire_after(0) {
            self.shared.leave(&wire, Ending::Renewed(reason.to_owned()));
        }
    }

    /// Whether the server executes scripts that come on this connection, and within this time.
    pub async fn answers(&self, time: Duration) -> bool {
        let Some(wire) = self.shared.wire_after(0) else { return false };
        tokio::time::timeout(time, wire.answers()).await.unwrap_or(false)
    }

    /// Returns what `cell` has; else calls `make` for it. Callers that come together wait for the first of them, and
    /// each for no longer than the link's timeout: when the server does not answer, their waits do not add up.
    ///
    /// # Errors
    /// Those of `make`, and of [`Link::ready`].
    pub async fn once<'a, T, F>(&self, cell: &'a OnceCell<T>, make: impl FnOnce() -> F) -> Result<&'a T>
    where
        F: Future<Output = Result<T>>,
    {
        if let Some(made) = cell.get() {
            return Ok(made);
        }
        let deadline = self.timeout().map(|timeout| Instant::now() + timeout);
        self.ready().await?;
        let made = cell.get_or_try_init(make);
        match deadline {
            None => made.await,
            Some(deadline) => match tokio::time::timeout_at(deadline, made).await {
                Ok(made) => made,
                Err(_) => Err(self.too_late(Retry::Look)),
            },
        }
    }

    /// Closes the connection for all users; later calls fail with [`crate::error::Error::Closed`].
    pub fn close(&self) {
        self.shared.close();
    }

    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }
}
