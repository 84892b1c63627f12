//! Sends outcomes to Redis. All calls for one batch of outcomes go in one round trip.
//!
//! What few batches need is boxed: each batch copies its whole future.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;

use super::plan::{plan, Finishing, Moving, Plan};
use super::settled::{accepted, refused, Settled, Settlement};
use crate::clock::now_ms;
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::heartbeat::{Heartbeat, WorkerLoop};
use crate::protocol::Channel;
use crate::scripts::fetch::{Fetched, Hold};
use crate::scripts::finish::{self, FinishReply, FinishedBy, JobError};
use crate::worker::fetch::{self, fetch_plan, FetchRequest, SentFetch};
use crate::worker::lanes::Lane;
use crate::worker::outcome::Outcome;
use crate::worker::state::WorkerState;

/// Pause before outcomes are sent again that the server could not accept.
const AFTER_ERROR: Duration = Duration::from_millis(500);

/// What became of the fetch that went with a finish call.
pub enum NextFetch {
    None,
    Arrived(Fetched, SentFetch),
    /// The reply got lost, or the call stopped half-way: its jobs are found by the token.
    Unknown(SentFetch),
    /// The server did not accept it.
    Refused(Error, SentFetch),
}

/// The result of one round trip.
pub struct RoundTrip {
    pub settled: Vec<Settled>,
    pub fetch: NextFetch,
    /// The reply says that no jobs may be claimed ahead.
    pub forbids_claims: bool,
}

/// Sends the outcomes of the jobs of one queue.
pub struct Finisher {
    pub link: Link,
    pub lane: Arc<Lane>,
    pub state: Arc<WorkerState>,
}

/// The result of a finish call.
struct FinishResult {
    /// The refused jobs by position.
    refused: Vec<(usize, Error)>,
    fetch: NextFetch,
    /// The finish time of the jobs (ms since the epoch).
    now: i64,
    forbids_claims: bool,
    /// The call was repeated after an unknown outcome: a refused job may have been accepted by the first try.
    repeated: bool,
}

impl Finisher {
    /// Settle all outcomes, and fetch in the same call if asked, or else wake another worker for the slots if asked.
    pub async fn settle(&self, outcomes: Vec<Outcome>, fetch: Option<&FetchRequest>, leaves_slots: bool) -> RoundTrip {
        let Plan { finishing, moving, returning } = plan(&self.state.options, outcomes);
        // In this order: a job whose handler has limited the queue runs again before those that were claimed after it.
        let going_back = async {
            if returning.is_empty() && moving.is_empty() {
                return Default::default();
            }
            Box::pin(async { (self.give_back(&returning).await, self.move_jobs(&moving).await) }).await
        };
        // A fetch that goes with a finish call takes the next jobs, whoever they are for.
        let scans = self.state.options.scan(&self.lane).is_some();
        let riding = fetch.filter(|_| !scans);
        let (mut result, (returned, moved)) =
            join(pin!(self.finish(&finishing, riding, leaves_slots)), going_back).await;
        if let Some(request) = fetch.filter(|_| scans || finishing.is_empty() && self.state.lanes.are_several()) {
            result.fetch = Box::pin(self.fetch(request.clone())).await;
        }

        let mut settled: Vec<Settled> = moving.into_iter().zip(moved).map(Moving::settled).collect();
        settled.extend(returning.into_iter().zip(returned).map(|(job, returned)| {
            let settlement = returned.map_or_else(Settlement::Lost, |()| Settlement::GivenBack);
            Settled { job, settlement }
        }));
        let mut errors = result.refused.into_iter().peekable();
        let mut messages = Vec::new();
        for (index, Finishing { job, outcome, wake, .. }) in finishing.into_iter().enumerate() {
            let error = errors.next_if(|(at, _)| *at == index).map(|(_, error)| error);
            let settlement = match error {
                Some(error) if !(result.repeated && Box::pin(self.was_finished(&error, &job)).await) => {
                    refused(error, &job, &outcome)
                }
                _ => accepted(outcome, result.now),
            };
            if wake && matches!(settlement, Settlement::Completed { .. } | Settlement::Failed { .. }) {
                messages.push(format!("{}:{}", job.lane.queue(), job.id()));
            }
            settled.push(Settled { job, settlement });
        }
        if !messages.is_empty() {
            let (link, channel) = (self.link.clone(), Channel::Chainc.of(self.state.keys.prefix()));
            // Nothing waits for it.
            tokio::spawn(async move { link.publish_hints(&channel, messages).await });
        }
        RoundTrip { settled, fetch: result.fetch, forbids_claims: result.forbids_claims }
    }

    /// Fetch without an outcome to send: the turn of this lane came with outcomes of others.
    async fn fetch(&self, request: FetchRequest) -> NextFetch {
        let sent = SentFetch::now(request);
        match self.heartbeat().take(fetch::fetch(&self.link, &self.state.options, &sent)).await {
            Ok(fetched) => NextFetch::Arrived(fetched, sent),
            Err(Error::OutcomeUnknown(_)) => NextFetch::Unknown(sent),
            Err(error) => NextFetch::Refused(error, sent),
        }
    }

    async fn finish(&self, jobs: &[Finishing], fetch: Option<&FetchRequest>, leaves_slots: bool) -> FinishResult {
        let mut result = FinishResult {
            refused: Vec::new(),
            fetch: NextFetch::None,
            now: 0,
            forbids_claims: false,
            repeated: false,
        };
        if jobs.is_empty() {
            // The fetch follows: the engine's own in its next turn, or that of a worker of several queues.
            return result;
        }
        let mut fetch = fetch.map(|request| SentFetch::now(request.clone()));
        loop {
            result.now = fetch.as_ref().map_or_else(now_ms, |sent| sent.now);
            let error = match self.finish_call(jobs, fetch.as_ref(), leaves_slots, result.now).await {
                Ok(FinishReply { failures, fetched, failed_updates }) => {
                    if self.state.finish_outage.ended() {
                        self.state.warning("outcomes are stored again".to_owned());
                    }
                    let error = |(at, refusal): (usize, JobError)| Some((at, refusal.error(jobs.get(at)?.job.id())));
                    result.refused = failures.into_iter().filter_map(error).collect();
                    result.forbids_claims = fetched.hold == Hold::Ahead;
                    if let Some(sent) = fetch {
                        result.fetch = NextFetch::Arrived(fetched, sent);
                    }
                    self.report_failed_updates(failed_updates);
                    return result;
                }
                Err(error) => error,
            };
            // It is safe to repeat the call: jobs that were accepted are refused now, and `was_finished` recognizes
            // them.
            result.repeated = true;
            if let Some(sent) = fetch.take() {
                result.fetch = NextFetch::Unknown(sent);
            }
            if matches!(error, Error::OutcomeUnknown(_)) {
            } else if error.is_passing() {
                self.wait_out(&error).await;
            } else {
                result.refused = Box::pin(self.finish_singly(jobs, result.now, error)).await;
                return result;
            }
        }
    }

    /// Finish jobs one by one, so that a damaged job does not hold up the others. The call that failed may have
    /// finished some of them.
    async fn finish_singly(&self, jobs: &[Finishing], now: i64, error: Error) -> Vec<(usize, Error)> {
        let mut refused = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            if self.is_finished(&job.job).await {
                continue;
            }
            let mut reply = match jobs.len() {
                1 => Err(error.clone()),
                _ => self.finish_call(std::slice::from_ref(job), None, false, now).await,
            };
            while let Err(error) = &reply {
                if !matches!(error, Error::OutcomeUnknown(_)) && !error.is_passing() {
                    break;
                }
                self.wait_out(error).await;
                reply = self.finish_call(std::slice::from_ref(job), None, false, now).await;
            }
            match reply {
                Ok(FinishReply { failures, failed_updates, .. }) => {
                    refused.extend(failures.first().map(|(_, refusal)| (index, refusal.error(job.job.id()))));
                    self.report_failed_updates(failed_updates);
                }
                Err(error) => refused.push((index, error)),
            }
        }
        refused
    }

    /// Report the parents and jobs whose keys could not be updated, each once.
    fn report_failed_updates(&self, failed_updates: Vec<(String, String)>) {
        let mut reported: Vec<String> = Vec::new();
        for (key, error) in failed_updates {
            if !reported.contains(&key) {
                self.state.error(format!("{key} could not be updated after the end of a child or a job: {error}"));
                reported.push(key);
            }
        }
    }

    /// Pause before outcomes are sent again. Hundreds may wait at the same time for the same reason: it is reported
    /// once.
    pub(super) async fn wait_out(&self, error: &Error) {
        if self.state.finish_outage.begins(error) {
            self.state.error(format!("outcomes wait: {error}"));
        }
        tokio::time::sleep(AFTER_ERROR).await;
    }

    async fn finish_call(
        &self,
        jobs: &[Finishing],
        fetch: Option<&SentFetch>,
        leaves_slots: bool,
        now: i64,
    ) -> Result<FinishReply> {
        let options = &self.state.options;
        let plan = fetch.map(|sent| fetch_plan(options, &sent.request));
        let jobs: Vec<_> = jobs.iter().map(Finishing::finished).collect();
        let by = FinishedBy { leaves_slots, ..options.finished_by() };
        let finish = pin!(finish::move_to_finished(&self.link, &self.lane.keys, now, by, plan.as_ref(), &jobs));
        self.heartbeat().take(finish).await
    }

    fn heartbeat(&self) -> &Heartbeat {
        self.state.heartbeats.of(WorkerLoop::Fetch)
    }
}
