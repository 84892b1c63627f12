//! Listening to a feed.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{mpsc, Semaphore};

use super::feed::Feed;
use super::reader::Entry;
use super::state::{Listener, Message, Sender};
use crate::mutex::Mutex;

/// How many events a listener may be behind. Those who wait for a job get its end all the same.
const MAX_BEHIND: usize = 1_000;

impl Feed {
    /// Listens from now on: to the entries after the last one that was delivered.
    #[must_use]
    pub fn listen(self: &Arc<Self>) -> Listening {
        let (sender, messages) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(MAX_BEHIND));
        let mut state = self.state.lock();
        let (number, from) = (state.number(), state.after.clone());
        if !*self.stopped.borrow() {
            state.listeners.push(Listener { number, from, sender: Sender { messages: sender, room: room.clone() } });
        }
        drop(state);
        self.changed.notify_one();
        let messages = tokio::sync::Mutex::new(messages);
        Listening { feed: self.clone(), number, messages, room, returned: Mutex::default() }
    }
}

/// One listener's place in the feed.
pub struct Listening {
    feed: Arc<Feed>,
    number: u64,
    messages: tokio::sync::Mutex<mpsc::UnboundedReceiver<Message>>,
    room: Arc<Semaphore>,
    /// Batches whose caller has gone before it took them.
    returned: Mutex<VecDeque<Arc<Vec<Entry>>>>,
}

impl Listening {
    /// Waits for the next message; `None` once the feed has ended.
    pub async fn next(&self) -> Option<Message> {
        if *self.feed.stopped.borrow() {
            return None;
        }
        if let Some(refusal) = self.feed.refusal.get() {
            return Some(Message::Error(refusal.clone()));
        }
        let mut messages = self.messages.lock().await;
        let returned = self.returned.lock().pop_front();
        match returned {
            Some(entries) => Some(Message::Entries(entries)),
            None => {
                let received = messages.recv().await?;
                self.room.add_permits(received.size() as usize);
                Some(received)
            }
        }
    }

    /// Gives back a batch that nobody took: it is the next one.
    pub fn put_back(&self, entries: Arc<Vec<Entry>>) {
        if !entries.is_empty() {
            self.returned.lock().push_back(entries);
        }
    }

    /// Stops listening. If nobody else listens, the feed continues after `seen` for the next listener.
    pub fn leave(&self, seen: Option<String>) {
        let mut state = self.feed.state.lock();
        let Some(index) = state.listeners.iter().position(|listener| listener.number == self.number) else {
            return;
        };
        let left = state.listeners.remove(index);
        self.room.close(); // else a sender would wait forever for room
        if state.listeners.is_empty() {
            if let Some(seen) = seen.or(left.from) {
                state.after = Some(seen);
                state.epoch += 1;
            }
        }
        drop(state);
        self.feed.changed.notify_one();
    }
}
