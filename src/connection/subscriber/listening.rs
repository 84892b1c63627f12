//! Listening to channels: the subscriber of an endpoint, and the place of one listener.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::runtime::Handle;

use super::inbox::Inbox;
use super::reconnector;
use super::registry::Subscription;
use super::shared::Shared;
use crate::connection::Endpoint;
use crate::error::{Error, Result};

/// The listeners of one process and endpoint, which share a connection. It is made for the first listener and closed
/// some time after the last one has left.
#[derive(Clone)]
pub struct Subscriber(Arc<Shared>);

/// Knows a subscriber but does not use it.
pub(in crate::connection) struct WeakSubscriber(Weak<Shared>);

impl WeakSubscriber {
    pub fn upgrade(&self) -> Option<Subscriber> {
        self.0.upgrade().map(Subscriber)
    }
}

/// What the first confirmation of a subscription means to a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// News: it has looked before, perhaps too early.
    Notice,
    /// Nothing: it looks only after [`Listening::confirmed`].
    Quiet,
}

impl Subscriber {
    /// Connects nothing. Call inside a tokio runtime.
    pub(in crate::connection) fn new(endpoint: Arc<Endpoint>) -> Self {
        Subscriber(Arc::new(Shared::new(endpoint, Handle::current())))
    }

    pub(in crate::connection) fn downgrade(&self) -> WeakSubscriber {
        WeakSubscriber(Arc::downgrade(&self.0))
    }

    /// Puts the messages of a channel that are equal to `key` into an inbox; if the key ends with a colon, those that
    /// begin with it up to their first colon. Does not wait: the subscription is tried again until it is confirmed, and
    /// after each reconnect.
    #[must_use]
    pub fn listen(&self, channel: &str, key: &str, inbox: &Arc<Inbox>, first: First) -> Listening {
        let (channel, key): (Arc<str>, Arc<str>) = (channel.into(), key.into());
        let mut registry = self.0.registry.lock();
        let known = registry.channel(&channel).is_some_and(|channel| channel.is_confirmed());
        let number = registry.add(&channel, &key, inbox.clone(), known || first == First::Notice);
        let begin = !std::mem::replace(&mut registry.running, true);
        drop(registry);
        if begin {
            self.0.runtime.spawn(reconnector::keep(self.0.clone()));
        }
        self.0.changed.notify_one();
        Listening { shared: self.0.clone(), channel, key, number }
    }
}

/// The place of one listener, until it is dropped.
pub struct Listening {
    shared: Arc<Shared>,
    channel: Arc<str>,
    key: Arc<str>,
    number: u64,
}

impl Listening {
    /// By this number the inbox tells listeners apart.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Waits until the server has confirmed the subscription: later messages arrive.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`] after `timeout`; the refusal of the server. It goes on trying all the same.
    pub async fn confirmed(&self, timeout: Duration) -> Result<()> {
        let states = self.shared.registry.lock().channel(&self.channel).map(|channel| channel.state.subscribe());
        let Some(mut states) = states else { return Err(Error::Closed) };
        let settled = states
            .wait_for(|state| matches!(state, Subscription::Confirmed | Subscription::Wanted { refusal: Some(_), .. }));
        match tokio::time::timeout(timeout, settled).await {
            Ok(Ok(state)) => match &*state {
                Subscription::Wanted { refusal: Some(refusal), .. } => return Err(refusal.clone()),
                _ => return Ok(()),
            },
            Ok(Err(_)) => return Err(Error::Closed),
            Err(_) => {}
        }
        let reason = match &*states.borrow() {
            Subscription::Wanted { reason: Some(reason), .. } => format!(" ({reason})"),
            _ => String::new(),
        };
        let (endpoint, timeout) = (&self.shared.endpoint, timeout.as_millis());
        Err(Error::ConnectionLost(format!("no subscription at Redis at {endpoint}{reason} within {timeout} ms")))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.shared.registry.lock().remove(&self.channel, &self.key, self.number);
        self.shared.changed.notify_one();
    }
}
