//! What listeners have not read yet.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::mutex::Mutex;

/// More messages than these are not kept: their listeners look for themselves.
const MOST: usize = 1_000;

/// What a listener gets to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// This message was published.
    Message(Arc<str>),
    /// Messages may have been missed: the subscription is new, as after a reconnect, or there were too many messages.
    Missed,
}

#[derive(Default)]
struct Unread {
    messages: Vec<(u64, Arc<str>)>,
    missed: BTreeSet<u64>,
}

/// The unread notices of one or more listeners, which one task reads.
#[derive(Default)]
pub struct Inbox {
    unread: Mutex<Unread>,
    arrived: Notify,
}

impl Inbox {
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Waits for notices, and takes all of them with the numbers of their listeners. Safe to cancel.
    pub async fn next(&self) -> Vec<(u64, Notice)> {
        loop {
            let taken = self.take();
            if !taken.is_empty() {
                return taken;
            }
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Vec<(u64, Notice)> {
        let Unread { messages, missed } = std::mem::take(&mut *self.unread.lock());
        let messages = messages.into_iter().map(|(number, text)| (number, Notice::Message(text)));
        messages.chain(missed.into_iter().map(|number| (number, Notice::Missed))).collect()
    }

    pub(super) fn put(&self, number: u64, text: Arc<str>) {
        let mut unread = self.unread.lock();
        if unread.messages.len() >= MOST {
            let dropped = std::mem::take(&mut unread.messages);
            unread.missed.extend(dropped.into_iter().map(|(number, _)| number));
        }
        // Whoever has missed something looks at everything anyway.
        if !unread.missed.contains(&number) {
            unread.messages.push((number, text));
        }
        drop(unread);
        self.arrived.notify_one();
    }

    pub(super) fn miss(&self, number: u64) {
        self.unread.lock().missed.insert(number);
        self.arrived.notify_one();
    }

    /// Drops the notices of a listener that has left.
    pub(super) fn forget(&self, number: u64) {
        let mut unread = self.unread.lock();
        unread.messages.retain(|(other, _)| *other != number);
        unread.missed.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn too_many_messages_become_one_notice_per_listener() {
        let inbox = Inbox::new();
        for count in 0..=MOST as u64 {
            inbox.put(count % 2, "text".into());
        }
        assert_eq!(inbox.next().await, [(0, Notice::Missed), (1, Notice::Missed)]);
        inbox.put(1, "text".into());
        assert_eq!(inbox.next().await, [(1, Notice::Message("text".into()))]);
    }
}
