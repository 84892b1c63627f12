//! Who listens to a feed, who waits for the end of a job, and where the feed is in the stream.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::{mpsc, oneshot, Semaphore};

use super::reader::Entry;
use super::recent::{JobEnd, Recent};
use crate::error::Error;

/// What a listener gets.
#[derive(Clone, Debug)]
pub enum Message {
    Entries(Arc<Vec<Entry>>),
    /// Reading goes on by itself. An error that lasts is reported once.
    Error(Error),
}

impl Message {
    pub(super) fn size(&self) -> u32 {
        match self {
            Message::Entries(entries) => entries.len() as u32,
            Message::Error(_) => 1,
        }
    }
}

pub(super) struct Listener {
    pub number: u64,
    /// Where it began to listen; unknown before the first connection.
    pub from: Option<String>,
    pub sender: Sender,
}

/// The channel to one listener, with room for a limited number of events.
#[derive(Clone)]
pub(super) struct Sender {
    pub messages: mpsc::UnboundedSender<Message>,
    pub room: Arc<Semaphore>,
}

impl Sender {
    /// Waits for room, unless the listener leaves.
    async fn send(&self, message: Message) {
        if let Ok(taken) = self.room.acquire_many(message.size()).await {
            taken.forget();
            let _ = self.messages.send(message);
        }
    }
}

/// Sends a message to listeners; waits for those that are too far behind.
pub(super) async fn send_to_all(listeners: Vec<Sender>, message: Message) {
    join_all(listeners.iter().map(|listener| listener.send(message.clone()))).await;
}

/// Somebody who waits for the end of a job.
pub(super) struct Waiter {
    pub number: u64,
    pub sender: oneshot::Sender<JobEnd>,
}

#[derive(Default)]
pub(super) struct State {
    /// The last entry that was delivered. Until the first connection `None` stands for the end of the stream.
    pub after: Option<String>,
    /// Changes when the position is set back.
    pub epoch: u64,
    numbers: u64,
    pub listeners: Vec<Listener>,
    pub waiters: HashMap<String, Vec<Waiter>>,
    pub recent: Recent,
}

impl State {
    pub fn at(after: Option<String>) -> Self {
        State { after, ..State::default() }
    }

    /// A number that no other listener or waiter has.
    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub fn senders(&self) -> Vec<Sender> {
        self.listeners.iter().map(|listener| listener.sender.clone()).collect()
    }

    pub fn nobody_is_there(&self) -> bool {
        self.listeners.is_empty() && self.waiters.is_empty()
    }
}
