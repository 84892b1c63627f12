//! Turns outcomes into finish, retry and delay calls; everything queued goes in one round trip.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join_all};
use redis::Value;

use super::appetite::BATCH;
use super::fetcher::{fetch_plan, stamp_jobs, Order, Sent};
use super::held::HeldJob;
use super::outcome::{Failure, Outcome};
use super::settlement::{plan, Finishing, Moving, Plan, Settled, Step, Went};
use super::shared::Shared;
use crate::clock::now_ms;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::Keys;
use crate::scripts::fetch::{Fetched, Hold};
use crate::scripts::finish::{self, FinishReply, GivenBack, Refusal};
use crate::scripts::lock::release_lock;
use crate::spell::Spell;

/// Pause before outcomes are handed in again that the server could not take.
const AFTER_ERROR: Duration = Duration::from_millis(500);

/// What became of the fetch that rode on a finish call.
pub enum Fetching {
    None,
    Brought(Fetched, Sent),
    /// The reply got lost, or the call stopped half-way: ask by the token.
    Unknown(Sent),
}

/// What a round trip brought.
pub struct Round {
    pub settled: Vec<Settled>,
    pub fetching: Fetching,
    /// The finish call told that nothing may be claimed ahead.
    pub holds: bool,
}

pub struct Finisher {
    pub link: Link,
    pub keys: Keys,
    pub shared: Arc<Shared>,
    pub trouble: Spell,
}

/// What a finish call said: the refused jobs by position, and what became of its fetch.
struct Reply {
    refused: Vec<(usize, Error)>,
    fetching: Fetching,
    /// When the call said that the jobs finished.
    now: i64,
    holds: bool,
    /// The call was repeated after an outcome that nobody knows: a refusal may mean that the first try was accepted.
    repeated: bool,
}

impl Finisher {
    /// Settle all outcomes, and fetch in the same round trip when there is a ride.
    pub async fn settle(&self, outcomes: Vec<Outcome>, ride: Option<&Order>) -> Round {
        let Plan { finishing, moving, returning } = plan(&self.shared.options, outcomes);
        // A job whose handler has limited the queue runs again before those that were claimed behind it.
        let going_back = async { (self.give_back(&returning).await, self.move_jobs(&moving).await) };
        let (reply, (returned, moved)) = join(self.finish(&finishing, ride), going_back).await;

        let mut settled: Vec<Settled> = moving.into_iter().zip(moved).map(Moving::settled).collect();
        settled.extend(returning.into_iter().zip(returned).map(|(job, returned)| {
            let went = returned.map_or_else(Went::Lost, |()| Went::GivenBack);
            Settled { job, went }
        }));
        let mut refused = reply.refused.into_iter().peekable();
        for (index, Finishing { job, outcome, .. }) in finishing.into_iter().enumerate() {
            let error = refused.next_if(|(at, _)| *at == index).map(|(_, error)| error);
            let went = match error {
                Some(error) if !(reply.repeated && self.was_finished(&error, &job).await) => {
                    refusal(error, &job, &outcome)
                }
                _ => accepted(outcome, reply.now),
            };
            settled.push(Settled { job, went });
        }
        Round { settled, fetching: reply.fetching, holds: reply.holds }
    }

    async fn finish(&self, jobs: &[Finishing], ride: Option<&Order>) -> Reply {
        let mut reply = Reply { refused: Vec::new(), fetching: Fetching::None, now: 0, holds: false, repeated: false };
        if jobs.is_empty() {
            // The engine fetches by itself in its next turn.
            return reply;
        }
        let mut fetch = ride.map(|order| Sent::now(order.clone()));
        loop {
            reply.now = fetch.as_ref().map_or_else(now_ms, |sent| sent.now);
            let error = match self.finish_call(jobs, fetch.as_ref(), reply.now).await {
                Ok(FinishReply { failures, fetched, untold }) => {
                    self.trouble.ends();
                    let error = |(at, refusal): (usize, Refusal)| Some((at, refusal.error(jobs.get(at)?.job.id())));
                    reply.refused = failures.into_iter().filter_map(error).collect();
                    reply.holds = fetched.hold == Hold::Ahead;
                    if let Some(sent) = fetch {
                        reply.fetching = Fetching::Brought(fetched, sent);
                    }
                    self.report_untold(untold);
                    return reply;
                }
                Err(error) => error,
            };
            // Safe to repeat: what was accepted is refused now, and `was_finished` tells it apart.
            reply.repeated = true;
            if let Some(sent) = fetch.take() {
                reply.fetching = Fetching::Unknown(sent);
            }
            if matches!(error, Error::OutcomeUnknown(_)) {
            } else if error.is_passing() {
                self.wait_out(&error).await;
            } else {
                reply.refused = self.finish_singly(jobs, reply.now, error).await;
                return reply;
            }
        }
    }

    /// One poisoned job must not hold up the others: find it by finishing them one by one. The call that met it may have
    /// finished some of them.
    async fn finish_singly(&self, jobs: &[Finishing], now: i64, error: Error) -> Vec<(usize, Error)> {
        let mut refused = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            if self.is_finished(&job.job).await {
                continue;
            }
            let mut went = match jobs.len() {
                1 => Err(error.clone()),
                _ => self.finish_call(std::slice::from_ref(job), None, now).await,
            };
            while let Err(error) = &went {
                if !matches!(error, Error::OutcomeUnknown(_)) && !error.is_passing() {
                    break;
                }
                self.wait_out(error).await;
                went = self.finish_call(std::slice::from_ref(job), None, now).await;
            }
            match went {
                Ok(FinishReply { failures, untold, .. }) => {
                    refused.extend(failures.first().map(|(_, refusal)| (index, refusal.error(job.job.id()))));
                    self.report_untold(untold);
                }
                Err(error) => refused.push((index, error)),
            }
        }
        refused
    }

    /// Say which parents do not know what became of their children.
    fn report_untold(&self, untold: Vec<(String, String)>) {
        let mut told: Vec<String> = Vec::new();
        for (key, error) in untold {
            if !told.contains(&key) {
                self.shared.error(format!("{key} could not be told what became of a child, or of a job: {error}"));
                told.push(key);
            }
        }
    }

    async fn wait_out(&self, error: &Error) {
        // Hundreds may wait at the same time, for the same reason.
        if self.trouble.begins(error) {
            self.shared.error(format!("outcomes wait: {error}"));
        }
        tokio::time::sleep(AFTER_ERROR).await;
    }

    async fn finish_call(&self, jobs: &[Finishing], fetch: Option<&Sent>, now: i64) -> Result<FinishReply> {
        let options = &self.shared.options;
        let points = options.metrics_max_points.unwrap_or(0);
        let plan = fetch.map(|sent| fetch_plan(options, &sent.order));
        let name = options.worker_name.as_deref();
        let jobs: Vec<_> = jobs.iter().map(Finishing::finished).collect();
        finish::move_to_finished(&self.link, &self.keys, now, points, name, plan.as_ref(), &jobs).await
    }

    /// Give jobs back that no handler has started; the one to run first comes last.
    async fn give_back(&self, jobs: &[Arc<HeldJob>]) -> Vec<Result<()>> {
        let mut results = Vec::with_capacity(jobs.len());
        for part in jobs.chunks(BATCH) {
            let calls: Vec<_> = part.iter().map(|job| job.given_back()).collect();
            results.extend(self.give_back_call(&calls).await);
        }
        results
    }

    async fn give_back_call(&self, jobs: &[GivenBack<'_>]) -> Vec<Result<()>> {
        let mut repeated = false;
        loop {
            match finish::give_back(&self.link, &self.keys, jobs).await {
                Ok(results) => {
                    // As in `move_job`.
                    let known = |result: Result<()>| if repeated { Ok(()) } else { result };
                    return results.into_iter().map(known).collect();
                }
                Err(Error::OutcomeUnknown(_)) => repeated = true,
                Err(error) if error.is_passing() => {
                    repeated = true;
                    self.wait_out(&error).await;
                }
                Err(error) => return vec![Err(error); jobs.len()],
            }
        }
    }

    /// The starts of jobs that were claimed ahead go on record first: after the move they are no longer ours.
    async fn move_jobs(&self, moving: &[Moving]) -> Vec<Result<i64>> {
        let is_moved_here = |moving: &&Moving| !matches!(moving.step, Step::Release);
        let starting: Vec<_> = moving.iter().filter(is_moved_here).map(|moving| moving.job.clone()).collect();
        while let Err(error) = stamp_jobs(&self.link, &self.keys, &self.shared.options, &starting).await {
            if error.is_passing() {
                self.wait_out(&error).await;
            } else if !matches!(error, Error::OutcomeUnknown(_)) {
                break; // what cannot be stamped is moved all the same
            }
        }
        join_all(moving.iter().map(|moving| self.move_job(moving))).await
    }

    async fn move_job(&self, moving: &Moving) -> Result<i64> {
        let (link, keys, id, token) = (&self.link, &self.keys, moving.job.id(), &*moving.job.token);
        let mut repeated = false;
        loop {
            let moved = match &moving.step {
                Step::Retry { reason, stack, lifo } => {
                    let failure = finish::Failure { reason, stack: stack.as_bytes() };
                    let moved = finish::retry_job(link, keys, now_ms(), id, token, *lifo, Some(failure));
                    moved.await.map(|()| 0)
                }
                Step::Delay { reason, stack, delay } => {
                    let failure = finish::Failure { reason, stack: stack.as_bytes() };
                    let moved = finish::move_to_delayed(link, keys, now_ms(), id, token, *delay, false, Some(failure));
                    moved.await.map(|()| 0)
                }
                Step::Defer { delay } => {
                    let moved = finish::move_to_delayed(link, keys, now_ms(), id, token, *delay, true, None);
                    moved.await.map(|()| 0)
                }
                Step::Return => finish::move_to_wait(link, keys, id, token).await,
                Step::Release => Ok(0),
            };
            match moved {
                Err(Error::OutcomeUnknown(_)) => repeated = true,
                // The first try was accepted, or the lock is lost: either way the job is on its way again.
                Err(Error::Code { .. }) if repeated => return Ok(0),
                Err(error) if error.is_passing() => {
                    repeated = true; // the script may have stopped half-way
                    self.wait_out(&error).await;
                }
                result => return result,
            }
        }
    }

    /// After an unknown outcome, a refusal may mean that the first try was accepted: ask Redis.
    async fn was_finished(&self, error: &Error, job: &HeldJob) -> bool {
        matches!(error, Error::Code { code: -1 | -2 | -3 | -6, .. }) && self.is_finished(job).await
    }

    /// Whether a job is finished and has left `active`, as far as Redis can be asked. One that was removed by its keep rule as
    /// it finished leaves it here, if the call stopped before it did.
    async fn is_finished(&self, job: &HeldJob) -> bool {
        let (mut fields, mut place) = (redis::cmd("HMGET"), redis::cmd("LPOS"));
        fields.arg(self.keys.job(job.id())).arg("finishedOn").arg("name");
        place.arg(self.keys.of("active")).arg(job.id());
        let Ok(replies) = self.link.pipeline(&[fields, place], Retry::Safe).await else { return false };
        let [Ok(fields), Ok(place)] = &replies[..] else { return false };
        let present =
            |at: usize| !matches!(fields, Value::Array(fields) if matches!(fields.get(at), None | Some(Value::Nil)));
        let is_active = *place != Value::Nil;
        if present(1) {
            return present(0) && !is_active;
        }
        if is_active {
            let mut leave = redis::cmd("LREM");
            leave.arg(self.keys.of("active")).arg(-1).arg(job.id());
            let _ = self.link.call(&leave, Retry::Safe).await;
            let _ = release_lock(&self.link, &self.keys, job.id(), &job.token).await;
        }
        true
    }
}

fn accepted(outcome: finish::JobResult, finished_on: i64) -> Went {
    match outcome {
        finish::JobResult::Completed { value } => Went::Completed { value, finished_on },
        finish::JobResult::Failed { reason, stack, .. } => Went::Failed { reason, stacktrace: stack, finished_on },
    }
}

/// BullMQ runs its failure decision with the error that completing raised; a lost lock cannot be mended so.
fn refusal(error: Error, job: &Arc<HeldJob>, outcome: &finish::JobResult) -> Went {
    let completing = matches!(outcome, finish::JobResult::Completed { .. });
    let (kind, class, retry) = match &error {
        Error::Code { code: -4, .. } if completing => ("Error", "PendingDependenciesError", true),
        Error::TooLarge(_) if completing => ("TooLargeError", "TooLargeError", false),
        Error::Code { code: -9, .. } if completing => ("UnrecoverableError", "FailedChildrenError", false),
        _ => return Went::Lost(error),
    };
    let reason = error.to_string();
    let stack = format!("{kind}: {reason}");
    let failure = Failure { reason, stack, retry, delay: None };
    Went::Instead(Outcome::Failed { job: job.clone(), failure }, class)
}
