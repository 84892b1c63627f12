//! What the engine does with replies: counts settled jobs, tells listeners, takes in fetched jobs.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::admission::Admitted;
use super::Engine;
use crate::error::Error;
use crate::scripts::fetch::{Fetched, Hold};
use crate::scripts::hint::sweep_markers;
use crate::timers::held_locks::Loss;
use crate::worker::fetch::{FetchedBatch, SentFetch, Share};
use crate::worker::finish::{CompletedCall, NextFetch, Settled, Settlement};
use crate::worker::listeners::{Details, Event};
use crate::worker::outcome::Outcome;

impl Engine {
    /// Process a completed finish call.
    pub(super) fn complete(&mut self, CompletedCall { lane: position, leaving, round_trip, fetch }: CompletedCall) {
        let state = &mut self.lanes.states[position];
        state.leaving -= leaving;
        state.coming -= fetch.map_or(0, |fetch| fetch.room.count);
        // The fetch of this call did not see jobs that went back to the queue in the same round trip. And there was no
        // fetch if all outcomes were refused.
        let went_back =
            |settled: &Settled| !matches!(settled.settlement, Settlement::Completed { .. } | Settlement::Failed { .. });
        let look_again = round_trip.settled.iter().any(went_back);
        let is_over = |settled: &&Settled| !matches!(settled.settlement, Settlement::Replaced(..));
        let over = || round_trip.settled.iter().filter(is_over).map(|Settled { job, .. }| (job.id(), &*job.token));
        state.lane.locks.remove(over());
        let in_hand = state.in_hand.saturating_sub(over().count());
        self.count_in_hand(position, in_hand);
        if round_trip.forbids_claims {
            self.forbid_claims(true);
        }
        for settled in round_trip.settled {
            self.note(settled);
        }
        match round_trip.fetch {
            NextFetch::Arrived(fetched, sent) => self.arrive(fetched, sent),
            NextFetch::Unknown(sent) => self.lanes.states[position].lost_replies.push(sent),
            NextFetch::Refused(error, sent) => self.fetch_failed(&error, sent),
            NextFetch::None => {}
        }
        if look_again {
            self.lanes.states[position].hint.look_again();
        }
    }

    /// Take in the jobs of a fetch, and what the reply says about the next one.
    pub(super) fn arrive(&mut self, fetched: Fetched, sent: SentFetch) {
        self.state.stats.answered.note();
        if self.state.fetch_outage.ended() {
            self.state.warning("Redis gives jobs again".to_owned());
        }
        self.forbid_claims(fetched.hold == Hold::Ahead);
        let position = sent.request.lane.position;
        if fetched.jobs.is_empty() && fetched.limit_ttl > 0 {
            self.lanes.turns.take_back(position);
        } else {
            self.lanes.turns.settle(position, fetched.jobs.len());
        }
        if fetched.hold == Hold::Alone {
            self.fetching.isolation.expect();
            self.lanes.alone = Some(position);
        } else {
            self.lanes.alone.take_if(|alone| *alone == position);
        }
        let (limit_ttl, nothing) = (fetched.limit_ttl, fetched.jobs.is_empty());
        let state = &mut self.lanes.states[position];
        if let Some(scan) = self.state.options.scan(&state.lane) {
            if fetched.jobs.is_empty() && fetched.unmatched > 0 {
                state.rest.begin(sent.request.woken);
                let exhausted = u64::from(fetched.unmatched >= scan.depth);
                self.state.stats.scans_exhausted.fetch_add(exhausted, Ordering::Relaxed);
            } else {
                state.rest.reset();
            }
        }
        if state.accept(self.state.options.run_retry_delay) {
            self.state.warning(format!("queue {} is served again", state.lane.queue()));
        }
        state.hint.note_reply(&fetched);
        state.share.note_reply(&fetched, Instant::now());
        if nothing && state.hint.is_idle() && sent.request.fanned_out && limit_ttl == 0 {
            let (link, lane) = (self.link.clone(), state.lane.clone());
            // Best effort: a marker that is left wakes a worker for nothing.
            tokio::spawn(async move { drop(sweep_markers(&link, &lane.keys).await) });
        }
        self.receive(FetchedBatch { jobs: fetched.jobs, scores: fetched.scores, sent, recovered: false });
        if limit_ttl > 0 {
            let state = &mut self.lanes.states[position];
            state.lane.limit_for(limit_ttl + Share::leaves_after(limit_ttl));
            state.hint.look_again(); // as soon as the limit is over
        }
    }

    /// Count a settled job and tell listeners.
    fn note(&mut self, Settled { job, settlement }: Settled) {
        let stats = &self.state.stats;
        let limited = job.limiting.swap(false, Ordering::AcqRel);
        if limited {
            self.state.release(&job.lane);
        }
        match settlement {
            Settlement::Replaced(outcome, class) => {
                if let Outcome::Failed { failure, .. } = &outcome {
                    self.state.error(failure.reason.clone());
                }
                self.state.details.note(&job, Details::from_core(class));
                return self.state.resubmit(outcome);
            }
            Settlement::Completed { value, finished_on } => {
                stats.completed.fetch_add(1, Ordering::Relaxed);
                self.state.report(job, |job, details| Event::Completed { job, value, finished_on, details });
            }
            Settlement::Failed { reason, stacktrace, finished_on } => {
                stats.failed.fetch_add(1, Ordering::Relaxed);
                let failed = |job, details| Event::Failed { job, reason, stacktrace, finished_on, details };
                self.state.report_failure(job, failed);
            }
            Settlement::Retried { reason, stacktrace, delay, next_run_at } => {
                stats.retried.fetch_add(1, Ordering::Relaxed);
                let retried = |job, details| Event::Retried { job, reason, stacktrace, delay, next_run_at, details };
                self.state.report_failure(job, retried);
            }
            // It does not count: a run with a maximum of jobs fetches another one instead.
            Settlement::GivenBack => self.fetching.count = self.fetching.count.saturating_sub(1),
            Settlement::Returned { limit_ttl } => job.lane.limit_for(if limited { limit_ttl } else { 0 }),
            Settlement::Released => {}
            Settlement::Lost(error) => {
                self.state.details.take(&job);
                if matches!(error, Error::Code { code: -2 | -6, .. }) && !job.lease.is_lost() {
                    self.state.stats.lost(Loss::Finish);
                }
                self.state.error(error.to_string());
            }
        }
        self.finishing.has_settled = true;
    }

    pub(super) fn receive(&mut self, batch: FetchedBatch) {
        let (position, nothing) = (batch.sent.request.lane.position, batch.jobs.is_empty());
        if !nothing {
            self.state.stats.claimed.note();
            if self.lanes.states[position].lane.register() {
                self.start_timers(position);
            }
        }
        self.fetching.prefetch.observe(&batch.jobs);
        let is_idle = || self.lanes.states.iter().all(|state| state.hint.is_idle() || !state.lane.is_served());
        if nothing && is_idle() && std::mem::take(&mut self.finishing.has_settled) && self.lanes.in_hand == 0 {
            self.state.emit(Event::Drained);
        }
        // Before handlers get the jobs, so that `is_running` of a paused worker is true from the start.
        self.state.stats.in_hand.store(self.lanes.in_hand + batch.jobs.len(), Ordering::Relaxed);
        let decided = batch.sent.request.room.decided;
        let Admitted { count, alone } = self.fetching.admission.admit(batch, &mut self.tasks);
        self.fetching.count += count as u64;
        self.state.stats.fetched.fetch_add(count as u64, Ordering::Relaxed);
        self.count_in_hand(position, self.lanes.states[position].in_hand + count);
        if alone {
            self.fetching.isolation.begin();
        } else if count > 0 {
            self.fetching.isolation.end_row(decided);
        }
    }
}
