//! Reconnects a loop of a worker that has stopped making progress, and reports it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::connection::{answers, Link};
use crate::heartbeat::{Heartbeats, WorkerLoop};

const CHECK: Duration = Duration::from_secs(1);
/// A wait for markers has parts of 3 s, and the server 2 s more for its reply. The rest is for a new connection.
const WAIT: Duration = Duration::from_secs(15);
const FETCH: Duration = Duration::from_secs(15);
/// The shortest time for a renewal, for workers with short locks: a half-open connection is noticed within 5 s.
const RENEWAL: Duration = Duration::from_secs(5);
/// How long the server may take to prove that it answers.
const ANSWER: Duration = Duration::from_secs(3);

/// The heartbeats of a worker that renews its locks at half of `renew_time`.
#[must_use]
pub fn heartbeats(renew_time: Duration) -> Heartbeats {
    // The first renewal has failed then, and there is time for another one.
    let renewal = RENEWAL.max(renew_time.mul_f64(0.6));
    Heartbeats::new([WAIT, FETCH, renewal])
}

/// Watches the loops of a worker.
pub struct ProofOfLife {
    /// For its fetches, outcomes and renewals. Waits have a connection of their own.
    pub link: Link,
    pub heartbeats: Arc<Heartbeats>,
}

impl ProofOfLife {
    /// Run until dropped. Renews the link; `revive` is called each time: it reports, and renews the connection of
    /// waits.
    pub async fn run(self, mut revive: impl FnMut(WorkerLoop)) {
        let mut ticks = tokio::time::interval(CHECK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for work in WorkerLoop::ALL {
                if self.heartbeats.is_overdue(work) && self.is_deaf(work).await {
                    if work != WorkerLoop::Wait {
                        self.link.renew("a reply is overdue");
                    }
                    self.heartbeats.of(work).revive();
                    revive(work);
                }
            }
        }
    }

    /// Whether the fault is in a connection of ours. If the server does not answer at all, a new one would not help;
    /// and a call may wait on a sound connection, since the server refuses it for now.
    async fn is_deaf(&self, work: WorkerLoop) -> bool {
        self.link.is_connected()
            && (work == WorkerLoop::Wait || !self.link.answers(ANSWER).await)
            && answers(self.link.endpoint(), ANSWER).await
            && self.heartbeats.is_overdue(work)
    }
}
