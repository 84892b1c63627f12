//! Cancels jobs when other processes ask for it, in a hash of job id to lock token and reason.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::reply;
use crate::worker::lanes::Lane;
use crate::worker::state::WorkerState;

/// How often a worker with jobs in hand checks.
const PERIOD: Duration = Duration::from_secs(1);

/// Check until dropped.
pub async fn watch_cancellations(state: Arc<WorkerState>, link: Link) {
    loop {
        tokio::time::sleep(PERIOD).await;
        if state.stats.in_hand.load(Ordering::Relaxed) > 0 {
            for lane in state.lanes.all().into_iter().filter(|lane| !lane.locks.is_empty()) {
                // After an error the next check tries again.
                let _ = check(&state, &link, &lane).await;
            }
        }
    }
}

async fn check(state: &WorkerState, link: &Link, lane: &Lane) -> Result<()> {
    let key = lane.keys.of("ext:cancel");
    let asked = link.call(redis::cmd("HGETALL").arg(&key), Retry::Safe).await?;
    for pair in reply::texts(asked)?.chunks_exact(2) {
        let (id, entry) = (&pair[0], &pair[1]);
        let Some((token, reason)) = entry.split_once(' ') else { continue };
        if state.cancel_in(lane, id, Some(token), reason) {
            link.call(redis::cmd("HDEL").arg(&key).arg(id), Retry::Safe).await?;
        }
    }
    Ok(())
}
