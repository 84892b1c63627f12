//! Renews the locks of all held jobs, with one call per tick.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use super::held_locks::{quarter, HeldLocks, Loss};
use crate::connection::Link;
use crate::error::Error;
use crate::error_once::ErrorOnce;
use crate::heartbeat::{Heartbeats, WorkerLoop};
use crate::protocol::Keys;
use crate::scripts;

/// Locks per `extend_locks` call.
const CHUNK: usize = 1000;

/// Counts renewals, each lock for itself.
#[derive(Default)]
pub struct Renewals {
    pub done: AtomicU64,
    /// Without an answer in time, or refused as a whole: they are tried again.
    pub failed: AtomicU64,
}

/// Renews every held lock that is older than half the renew time, at each tick.
pub struct LockExtender {
    pub link: Link,
    pub keys: Keys,
    pub locks: Arc<HeldLocks>,
    pub lock_duration: Duration,
    /// The shortest duration of other locks.
    pub shortest: Option<Duration>,
    pub renew_time: Duration,
    /// The time between two ticks; less if the shortest of other locks needs it.
    pub interval: Duration,
    pub heartbeats: Arc<Heartbeats>,
    pub renewals: Arc<Renewals>,
}

impl LockExtender {
    /// Run until dropped. `lost` gets the id and the token of every lost lock and how that was noticed, `failed` the
    /// text of every other error.
    pub async fn run(self, mut lost: impl FnMut(&str, &Arc<str>, Loss), mut failed: impl FnMut(String)) {
        let age = (self.renew_time / 2).max(Duration::from_millis(1));
        let period = self.shortest.map_or(self.interval, |shortest| self.interval.min(quarter(shortest)));
        let mut ticks = tokio::time::interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let errors = ErrorOnce::default();
        let heartbeat = self.heartbeats.of(WorkerLoop::Renewal);
        // From the first renewal without a reply to the next reply.
        let mut pending = None;
        loop {
            ticks.tick().await;
            let due = self.locks.to_renew(age);
            if due.is_empty() {
                pending = None;
            }
            let chunks = due.iter().flat_map(|(own, locks)| locks.chunks(CHUNK).map(|chunk| (*own, chunk)));
            let chunks: Vec<_> = chunks.collect();
            for (own, chunk) in chunks {
                let duration = own.unwrap_or(self.lock_duration);
                let sent = Instant::now();
                pending.get_or_insert_with(|| heartbeat.guard());
                if own.is_some() {
                    self.locks.renewing(chunk, sent, duration);
                }
                let locks = chunk.iter().map(|(id, token)| (&**id, &**token));
                let lasting = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
                let renewal = scripts::lock::extend_locks(&self.link, &self.keys, lasting, locks);
                let late = |_| Err(Error::ConnectionLost("no answer in time for another try".to_owned()));
                // A call that hangs must not delay the next tick.
                let renewed = tokio::time::timeout(period.min(age), renewal).await.unwrap_or_else(late);
                if !matches!(renewed, Err(Error::ConnectionLost(_) | Error::OutcomeUnknown(_))) {
                    pending = None;
                }
                let (count, locks) = match &renewed {
                    Ok(refused) => (&self.renewals.done, chunk.len().saturating_sub(refused.len())),
                    Err(_) => (&self.renewals.failed, chunk.len()),
                };
                count.fetch_add(locks as u64, Ordering::Relaxed);
                match renewed {
                    Ok(refused) => {
                        errors.ends();
                        for (id, token) in self.locks.renewed(chunk, &refused, sent, duration) {
                            lost(id, token, Loss::Renewal);
                        }
                    }
                    // The locks stay due and are tried again at the next tick.
                    Err(error) if errors.begins(&error) => failed(format!("could not renew locks: {error}")),
                    Err(_) => {}
                }
            }
            for (id, token) in self.locks.expired() {
                if self.locks.lose(&id, &token) {
                    lost(&id, &token, Loss::Expired);
                }
            }
        }
    }
}
