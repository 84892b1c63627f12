//! Wakes the engine when a message says that jobs wait, and not enough workers are awake yet.

use std::sync::Arc;

use crate::connection::{First, Inbox, Link, Notice, Subscriber};
use crate::protocol::Channel;
use crate::scripts::hint::consume_wake_hint;
use crate::worker::lanes::Lane;
use crate::worker::state::WorkerState;

/// Listen until dropped. Without messages the marker wakes the engine, or its next look after the drain delay.
pub async fn watch_wake_hints(state: Arc<WorkerState>, link: Link, lane: Arc<Lane>, subscriber: Subscriber) {
    let inbox = Inbox::new();
    let channel = Channel::Sched.of(lane.keys.prefix());
    let _listening = subscriber.listen(&channel, lane.queue(), &inbox, First::Notice);
    loop {
        // All that arrive during a call are answered by the next one.
        let notices = inbox.next().await;
        let want = state.idle_slots();
        if want == 0 || lane.is_limited() {
            continue; // it looks for jobs by itself when it has room
        }
        let missed = notices.iter().any(|(_, notice)| *notice == Notice::Missed);
        if missed || consume_wake_hint(&link, &lane.keys, want as i64).await.is_ok_and(|granted| granted > 0) {
            lane.hint();
            state.wake.notify_one();
        }
    }
}
