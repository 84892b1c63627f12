//! The calls for jobs that are not finished: given back, retried, delayed, returned.

use std::sync::Arc;

use futures_util::future::join_all;

use super::confirm::is_retried;
use super::finisher::Finisher;
use super::plan::{Moving, Step};
use crate::clock::now_ms;
use crate::error::{Error, Result};
use crate::scripts::finish::{self, EndedAttempt, GivenBack};
use crate::worker::fetch::stamp_jobs;
use crate::worker::held::HeldJob;
use crate::worker::limits;

impl Finisher {
    /// Give back jobs that no handler has started; the one to run first comes last.
    pub(super) async fn give_back(&self, jobs: &[Arc<HeldJob>]) -> Vec<Result<()>> {
        let mut results = Vec::with_capacity(jobs.len());
        for part in jobs.chunks(limits::JOBS) {
            let calls: Vec<_> = part.iter().map(|job| job.given_back()).collect();
            results.extend(self.give_back_call(&calls).await);
        }
        results
    }

    async fn give_back_call(&self, jobs: &[GivenBack<'_>]) -> Vec<Result<()>> {
        let mut repeated = false;
        loop {
            match finish::give_back(&self.link, &self.lane.keys, jobs).await {
                Ok(results) => {
                    // As in `move_job`: the first try was accepted, or the lock is lost.
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

    /// Move jobs. The starts of those that were claimed ahead are recorded first: after the move this worker has no
    /// lock.
    pub(super) async fn move_jobs(&self, moving: &[Moving]) -> Vec<Result<i64>> {
        let is_moved_here = |moving: &&Moving| !matches!(moving.step, Step::Release);
        let starting: Vec<_> = moving.iter().filter(is_moved_here).map(|moving| moving.job.clone()).collect();
        while let Err(error) = stamp_jobs(&self.link, &self.state.options, &starting).await {
            if error.is_passing() {
                self.wait_out(&error).await;
            } else if !matches!(error, Error::OutcomeUnknown(_)) {
                break; // a job that cannot be stamped is moved nevertheless
            }
        }
        join_all(moving.iter().map(|moving| self.move_job(moving))).await
    }

    /// Returns when a job that is tried again runs next; for one that was returned, the limiter's remaining ms.
    async fn move_job(&self, moving: &Moving) -> Result<i64> {
        let (link, keys, id, token) = (&self.link, &self.lane.keys, moving.job.id(), &*moving.job.token);
        let (mut repeated, mut next_run_at) = (false, 0);
        loop {
            let now = now_ms();
            let moved = match &moving.step {
                Step::Retry { reason, stack, lifo } => {
                    let failure = Some(finish::Failure { reason, stack: stack.as_bytes() });
                    let attempt = EndedAttempt { id, token, failure };
                    next_run_at = now;
                    let moved = finish::retry_job(link, keys, now, attempt, *lifo, self.state.options.fan_out);
                    moved.await.map(|()| next_run_at)
                }
                Step::Delay { reason, stack, delay } => {
                    let failure = Some(finish::Failure { reason, stack: stack.as_bytes() });
                    let attempt = EndedAttempt { id, token, failure };
                    let moved = finish::move_to_delayed(link, keys, now, attempt, *delay, false);
                    next_run_at = now.saturating_add(*delay);
                    moved.await.map(|()| next_run_at)
                }
                Step::Defer { delay } => {
                    let attempt = EndedAttempt { id, token, failure: None };
                    let moved = finish::move_to_delayed(link, keys, now, attempt, *delay, true);
                    moved.await.map(|()| 0)
                }
                Step::Return => finish::move_to_wait(link, keys, self.lane.shared_limit.as_ref(), id, token).await,
                Step::Release => Ok(0),
            };
            match moved {
                Err(Error::OutcomeUnknown(_)) => repeated = true,
                // The first try was accepted, or the lock is lost: in both cases the job has left this worker.
                Err(error @ Error::Code { .. }) if repeated => {
                    return match &moving.step {
                        Step::Retry { stack, .. } | Step::Delay { stack, .. }
                            if !is_retried(link, keys, id, moving.job.record.atm(), stack).await =>
                        {
                            Err(error)
                        }
                        _ => Ok(next_run_at),
                    }
                }
                Err(error) if error.is_passing() => {
                    repeated = true; // the script may have stopped half-way
                    self.wait_out(&error).await;
                }
                result => return result,
            }
        }
    }
}
