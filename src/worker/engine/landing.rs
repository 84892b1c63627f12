//! What comes back from Redis: settled outcomes and fetched jobs.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Engine;
use crate::scripts::fetch::{Fetched, Hold};
use crate::worker::event::Event;
use crate::worker::fetcher::{Batch, Sent};
use crate::worker::finisher::Fetching;
use crate::worker::flights::Landed;
use crate::worker::intake::Accepted;
use crate::worker::outcome::Outcome;
use crate::worker::settlement::{Settled, Went};
use crate::worker::witness::Witness;

impl Engine {
    pub(super) fn land(&mut self, Landed { round, .. }: Landed) {
        // The ride did not see a job that went back to the queue in the same round trip, and there is none when all
        // outcomes were refused.
        let went_back = |settled: &Settled| !matches!(settled.went, Went::Completed { .. } | Went::Failed { .. });
        let look_again = round.settled.iter().any(went_back);
        let is_over = |settled: &&Settled| !matches!(settled.went, Went::Instead(..));
        let over = || round.settled.iter().filter(is_over).map(|Settled { job, .. }| (job.id(), &*job.token));
        self.locks.remove(over());
        self.count_in_hand(self.in_hand.saturating_sub(over().count()));
        if round.holds {
            self.hold_claims(true);
        }
        for settled in round.settled {
            self.note(settled);
        }
        match round.fetching {
            Fetching::Brought(fetched, sent) => self.arrive(fetched, sent),
            Fetching::Unknown(sent) => self.strays.push(sent),
            Fetching::None => {}
        }
        if look_again {
            self.fetcher.look_again();
        }
    }

    /// Take in what a fetch brought, and what it says about the next ones.
    pub(super) fn arrive(&mut self, fetched: Fetched, sent: Sent) {
        self.hold_claims(fetched.hold == Hold::Ahead);
        if fetched.hold == Hold::Alone {
            self.alone_since.get_or_insert_with(Instant::now);
        }
        let limit_ttl = fetched.limit_ttl;
        let batch = self.fetcher.note(fetched, sent);
        self.receive(batch);
        self.limit_for(limit_ttl);
    }

    /// Count a settled job and tell the listeners.
    pub(super) fn note(&mut self, Settled { job, went }: Settled) {
        let stats = &self.shared.stats;
        let limited = job.limiting.swap(false, Ordering::AcqRel);
        if limited {
            stats.limiting.fetch_sub(1, Ordering::Relaxed);
        }
        match went {
            Went::Instead(outcome, class) => {
                if let Outcome::Failed { failure, .. } = &outcome {
                    self.shared.error(failure.reason.clone());
                }
                self.shared.witnesses.note(&job, Witness::of_core(class));
                return self.shared.resubmit(outcome);
            }
            Went::Completed { value, finished_on } => {
                stats.completed.fetch_add(1, Ordering::Relaxed);
                self.shared.report(job, |job, witness| Event::Completed { job, value, finished_on, witness });
            }
            Went::Failed { reason, stacktrace, finished_on } => {
                stats.failed.fetch_add(1, Ordering::Relaxed);
                let failed = |job, witness| Event::Failed { job, reason, stacktrace, finished_on, witness };
                self.shared.report(job, failed);
            }
            Went::Retried { reason, stacktrace, delay } => {
                stats.retried.fetch_add(1, Ordering::Relaxed);
                let retried = |job, witness| Event::Retried { job, reason, stacktrace, delay, witness };
                self.shared.report(job, retried);
            }
            // As if it had never come: a run of so many jobs takes another one for it.
            Went::GivenBack => self.fetched = self.fetched.saturating_sub(1),
            Went::Returned { limit_ttl } => self.limit_for(if limited { limit_ttl } else { 0 }),
            Went::Released => {}
            Went::Lost(error) => {
                self.shared.witnesses.take(&job);
                self.shared.error(error.to_string());
            }
        }
        self.worked = true;
    }

    pub(super) fn receive(&mut self, batch: Batch) {
        let nothing = batch.jobs.is_empty();
        self.appetite.observe(&batch.jobs);
        if nothing && self.fetcher.is_idle() && std::mem::take(&mut self.worked) && self.in_hand == 0 {
            self.shared.emit(Event::Drained);
        }
        let Accepted { count, alone } = self.intake.accept(batch, &mut self.tasks);
        self.fetched += count as u64;
        self.shared.stats.fetched.fetch_add(count as u64, Ordering::Relaxed);
        self.count_in_hand(self.in_hand + count);
        if alone {
            self.alone_since = Some(Instant::now());
        }
    }

    pub(super) fn count_in_hand(&mut self, count: usize) {
        self.in_hand = count;
        if count == 0 {
            self.alone_since = None;
        }
        self.shared.stats.in_hand.store(count, Ordering::Relaxed);
    }
}
