//! Who listens to what.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::inbox::Inbox;
use crate::error::Error;

/// How long a channel without listeners stays subscribed. Waits for one job after the other then share a subscription.
const LINGER: Duration = Duration::from_millis(500);

/// Whether the server has confirmed a subscription.
#[derive(Clone, Debug)]
pub(super) enum Subscription {
    /// Not (or no longer) confirmed: why, if a try has failed, and the error if another try will fail as well.
    Wanted {
        reason: Option<String>,
        refusal: Option<Error>,
    },
    Confirmed,
}

struct Listener {
    number: u64,
    inbox: Arc<Inbox>,
    /// Whether the next confirmation is news for it.
    informed: bool,
}

pub(super) struct Channel {
    by_key: HashMap<Arc<str>, Vec<Listener>>,
    pub state: watch::Sender<Subscription>,
    /// When its last listener left.
    unused_since: Option<Instant>,
}

/// The listeners of one endpoint, by channel and key.
#[derive(Default)]
pub(super) struct Registry {
    channels: HashMap<Arc<str>, Channel>,
    numbers: u64,
    /// A task keeps the subscriptions.
    pub running: bool,
}

impl Registry {
    /// Adds a listener; returns its number.
    pub fn add(&mut self, channel: &Arc<str>, key: &Arc<str>, inbox: Arc<Inbox>, informed: bool) -> u64 {
        self.numbers += 1;
        let number = self.numbers;
        let channel = self.channels.entry(channel.clone()).or_insert_with(Channel::new);
        channel.unused_since = None;
        if channel.is_refused() {
            // Somebody new may try at once.
            channel.state.send_replace(Subscription::Wanted { reason: None, refusal: None });
        }
        channel.by_key.entry(key.clone()).or_default().push(Listener { number, inbox, informed });
        number
    }

    pub fn remove(&mut self, name: &str, key: &str, number: u64) {
        let Some(channel) = self.channels.get_mut(name) else { return };
        let Some(listeners) = channel.by_key.get_mut(key) else { return };
        if let Some(index) = listeners.iter().position(|listener| listener.number == number) {
            listeners.swap_remove(index).inbox.forget(number);
        }
        if listeners.is_empty() {
            channel.by_key.remove(key);
        }
        if channel.by_key.is_empty() {
            channel.unused_since = Some(Instant::now());
        }
    }

    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.get(name)
    }

    /// Passes a message to those who listen to exactly it, and to those who listen to its beginning up to the first
    /// colon.
    pub fn dispatch(&self, channel: &str, text: &str) {
        let Some(channel) = self.channels.get(channel) else { return };
        let beginning = text.find(':').map(|colon| &text[..=colon]).filter(|beginning| *beginning != text);
        let mut message: Option<Arc<str>> = None;
        for key in [Some(text), beginning].into_iter().flatten() {
            for listener in channel.by_key.get(key).into_iter().flatten() {
                let message = message.get_or_insert_with(|| text.into());
                listener.inbox.put(listener.number, message.clone());
            }
        }
    }

    /// The channels to subscribe, each with whether the server has refused it, and when the next one may be unused for
    /// long enough. Forgets those that are.
    pub fn wanted(&mut self) -> (Vec<(Arc<str>, bool)>, Option<Instant>) {
        let now = Instant::now();
        self.channels.retain(|_, channel| channel.unused_since.is_none_or(|since| now < since + LINGER));
        let next = self.channels.values().filter_map(|channel| channel.unused_since).min();
        let wanted = self.channels.iter().map(|(name, channel)| (name.clone(), channel.is_refused()));
        (wanted.collect(), next.map(|since| since + LINGER))
    }

    /// Ends the task if no channel is wanted; true if it is to end.
    pub fn stop_if_unused(&mut self) -> bool {
        self.running = !self.wanted().0.is_empty();
        !self.running
    }

    /// A subscription is confirmed: messages before it may have been missed.
    pub fn confirm(&mut self, name: &str) {
        let Some(channel) = self.channels.get_mut(name) else { return };
        for listener in channel.by_key.values_mut().flatten() {
            if std::mem::replace(&mut listener.informed, true) {
                listener.inbox.miss(listener.number);
            }
        }
        channel.state.send_replace(Subscription::Confirmed);
    }

    /// The server refuses one channel.
    pub fn refuse(&self, name: &str, refusal: Error) {
        if let Some(channel) = self.channels.get(name) {
            let reason = Some(refusal.to_string());
            channel.state.send_replace(Subscription::Wanted { reason, refusal: Some(refusal) });
        }
    }

    /// There is no connection.
    pub fn disconnect(&self, reason: &str, refusal: Option<&Error>) {
        for channel in self.channels.values() {
            let (reason, refusal) = (Some(reason.to_owned()), refusal.cloned());
            channel.state.send_replace(Subscription::Wanted { reason, refusal });
        }
    }
}

impl Channel {
    fn new() -> Self {
        let wanted = Subscription::Wanted { reason: None, refusal: None };
        Channel { by_key: HashMap::new(), state: watch::Sender::new(wanted), unused_since: None }
    }

    fn is_refused(&self) -> bool {
        matches!(*self.state.borrow(), Subscription::Wanted { refusal: Some(_), .. })
    }

    pub fn is_confirmed(&self) -> bool {
        matches!(*self.state.borrow(), Subscription::Confirmed)
    }
}
