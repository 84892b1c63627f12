//! Connects anew where a step of a worker does not come round in its time: a worker must never be deaf without a word.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::connection::{answers, Link};
use crate::round::{Duty, Rounds};

const CHECK: Duration = Duration::from_secs(1);
/// A wait for markers has parts of 3 s, and the server 2 s more for its reply. The rest is for a new connection.
const WAIT: Duration = Duration::from_secs(15);
const FETCH: Duration = Duration::from_secs(15);
/// The shortest time for a renewal, for workers with short locks: a half-open connection is noticed within 5 s.
const RENEWAL: Duration = Duration::from_secs(5);
/// How long the server may take to prove that it answers.
const ANSWER: Duration = Duration::from_secs(3);

/// The rounds of a worker that renews its locks at half of `renew_time`.
#[must_use]
pub fn rounds(renew_time: Duration) -> Rounds {
    // The first renewal has failed then, and there is time for another one.
    let renewal = RENEWAL.max(renew_time.mul_f64(0.6));
    Rounds::new([WAIT, FETCH, renewal])
}

/// Watches the rounds of a worker.
pub struct ProofOfLife {
    /// For its fetches, outcomes and renewals. Waits have a connection of their own.
    pub link: Link,
    pub rounds: Arc<Rounds>,
}

impl ProofOfLife {
    /// Run until dropped. Renews the link; `revive` is told each time, and renews the connection of waits.
    pub async fn run(self, mut revive: impl FnMut(Duty)) {
        let mut ticks = tokio::time::interval(CHECK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for duty in Duty::ALL {
                if self.rounds.is_overdue(duty) && self.is_deaf(duty).await {
                    if duty != Duty::Wait {
                        self.link.renew("a reply is overdue");
                    }
                    self.rounds.of(duty).revive();
                    revive(duty);
                }
            }
        }
    }

    /// Whether the fault is in a connection of ours. If the server does not answer at all, a new one would not help; and a call
    /// may wait on a sound connection, since the server refuses it for now.
    async fn is_deaf(&self, duty: Duty) -> bool {
        self.link.is_connected()
            && (duty == Duty::Wait || !self.link.answers(ANSWER).await)
            && answers(self.link.endpoint(), ANSWER).await
            && self.rounds.is_overdue(duty)
    }
}
