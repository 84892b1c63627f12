//! Learns at once when a job of this worker was taken away from it, and not only when its lock is renewed next.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use redis::Cmd;

use crate::connection::{First, Inbox, Link, Notice, Retry, Subscriber};
use crate::error::Result;
use crate::protocol::{reply, Channel};
use crate::timers::held_locks::Loss;
use crate::worker::lanes::Lane;
use crate::worker::state::WorkerState;

/// Locks per round trip.
const CHUNK: usize = 1_000;
/// How long the subscription may take until it is reported that there is none.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The jobs to check, by id and token.
type Held = Vec<(Arc<str>, Arc<str>)>;

/// Listen until dropped. Without messages the renewal of locks finds out, later.
pub async fn watch_ownership(state: Arc<WorkerState>, link: Link, lane: Arc<Lane>, subscriber: Subscriber) {
    let inbox = Inbox::new();
    let beginning = format!("{}:", lane.queue());
    let listening = subscriber.listen(&Channel::Owls.of(lane.keys.prefix()), &beginning, &inbox, First::Notice);
    let report = async {
        let confirmed = listening.confirmed(TIMEOUT).await;
        // Once per worker, not per queue.
        if let (Err(error), false) = (&confirmed, state.deaf.swap(true, Ordering::Relaxed)) {
            state.error(format!("no messages arrive here, so that lost locks are noticed later: {error}"));
        }
        std::future::pending::<()>().await;
    };
    let watch = async {
        loop {
            let notices = inbox.next().await;
            let held: Held = if notices.iter().any(|(_, notice)| *notice == Notice::Missed) {
                lane.locks.all()
            } else {
                let ids = notices.iter().filter_map(|(_, notice)| match notice {
                    Notice::Message(text) => text.strip_prefix(&*beginning),
                    Notice::Missed => None,
                });
                ids.filter_map(|id| lane.locks.get(id)).collect()
            };
            for chunk in held.chunks(CHUNK) {
                // After an error the renewal of locks finds out.
                let _ = check(&state, &link, &lane, chunk).await;
            }
        }
    };
    tokio::join!(report, watch);
}

/// Mark the locks as lost that are not ours any more. A message may be late: the job may have been fetched here again.
async fn check(state: &WorkerState, link: &Link, lane: &Lane, held: &[(Arc<str>, Arc<str>)]) -> Result<()> {
    let read = |(id, _): &(Arc<str>, Arc<str>)| {
        let mut read = redis::cmd("GET");
        read.arg(lane.keys.of(&format!("{id}:lock")));
        read
    };
    let reads: Vec<Cmd> = held.iter().map(read).collect();
    let owners = link.pipeline(&reads, Retry::Look).await?;
    for ((id, token), owner) in held.iter().zip(owners) {
        let is_ours = match owner? {
            redis::Value::Nil => false,
            owner => reply::text(owner)? == **token,
        };
        if !is_ours && lane.locks.lose_unsettled(id, token) {
            state.lock_lost(id, token, Loss::Message);
        }
    }
    Ok(())
}
