//! Cancellations that other processes ask for: a hash of job id to lock token and reason.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use super::shared::Shared;
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// How often a worker with jobs in hand looks.
const PERIOD: Duration = Duration::from_secs(1);

/// Heed them until dropped.
pub async fn heed_cancellations(shared: Arc<Shared>, link: Link, keys: Keys) {
    let key = keys.of("ext:cancel");
    loop {
        tokio::time::sleep(PERIOD).await;
        if shared.stats.in_hand.load(Ordering::Relaxed) > 0 {
            // What went wrong is tried again.
            let _ = heed(&shared, &link, &key).await;
        }
    }
}

async fn heed(shared: &Shared, link: &Link, key: &str) -> Result<()> {
    let asked = link.call(redis::cmd("HGETALL").arg(key), Retry::Safe).await?;
    for pair in reply::texts(asked)?.chunks_exact(2) {
        let (id, entry) = (&pair[0], &pair[1]);
        let Some((token, reason)) = entry.split_once(' ') else { continue };
        if shared.cancel(id, Some(token), reason) {
            link.call(redis::cmd("HDEL").arg(key).arg(id), Retry::Safe).await?;
        }
    }
    Ok(())
}
