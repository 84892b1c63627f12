//! A worker's fetch and finish, one call at a time, for whoever runs jobs by hand.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{watch, Mutex};

use super::fetcher::{fetch_plan, millis, Order};
use super::held::{Claim, HeldJob};
use super::options::WorkerOptions;
use super::outcome::{stacktrace, verdict, Failure, Verdict};
use super::scheduler;
use crate::clock::now_ms;
use crate::connection::{BlockingLink, Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{JobOptions, JobRecord, Keep, Keys};
use crate::queue::QueueHandle;
use crate::scripts::fetch::{move_to_active, recover_active, FetchPlan, Fetched};
use crate::scripts::finish::{self, Finished, JobResult};
use crate::scripts::lock::extend_locks;
use crate::timers::lock_extender::HeldLocks;
use crate::timers::stalled_checker;

/// A job as whoever finishes it knows it.
pub struct Attempt {
    pub id: String,
    pub token: Arc<str>,
    pub options: JobOptions,
    /// Attempts that ended before this one.
    pub made: i64,
    pub stacktrace: Option<Vec<u8>>,
}

/// What became of a failed attempt.
pub struct FailedAttempt {
    /// After so many ms; None: it has failed for good.
    pub retry_in: Option<i64>,
    /// The job's `stacktrace` field as it is now.
    pub stacktrace: String,
    pub next: Option<Arc<HeldJob>>,
}

pub struct Manual {
    queue: QueueHandle,
    options: WorkerOptions,
    locks: HeldLocks,
    blocking: Mutex<BlockingLink>,
    /// The blocking connection was asked for: by its name others find this worker.
    seen: AtomicBool,
    closed: watch::Sender<bool>,
}

/// One job, to start now.
fn single(token: &Arc<str>) -> Order {
    Order { token: token.clone(), count: 1, slots: 1, alone: false }
}

impl Manual {
    #[must_use]
    pub fn new(queue: QueueHandle, blocking: BlockingLink, options: WorkerOptions) -> Self {
        let closed = watch::Sender::new(false);
        let (blocking, seen) = (Mutex::new(blocking), AtomicBool::new(false));
        Self { queue, options, locks: HeldLocks::default(), blocking, seen, closed }
    }

    fn link(&self) -> &Link {
        self.queue.link()
    }

    fn keys(&self) -> &Keys {
        self.queue.keys()
    }

    /// Connect, under the name by which others find a worker.
    ///
    /// # Errors
    /// What the server or the queue refuses, and what [`BlockingLink::connect`] returns.
    pub async fn appear(&self) -> Result<()> {
        self.queue.ready().await?;
        self.seen.store(true, Ordering::Relaxed);
        self.blocking.lock().await.connect().await
    }

    /// Close the blocking connection until it is needed again: a running worker has one of its own.
    pub async fn withdraw(&self) {
        self.blocking.lock().await.disconnect();
        self.seen.store(false, Ordering::Relaxed);
    }

    /// End pending waits and the blocking connection.
    pub async fn close(&self) {
        self.closed.send_replace(true);
        self.blocking.lock().await.close();
    }

    /// Take the next job under `token`; with `block` wait for one up to the drain delay, or until `given_up` turns true.
    ///
    /// # Errors
    /// What the connection and the server refuse; a job whose successor in its series could not be made is delayed.
    pub async fn get_next_job(
        self: &Arc<Self>,
        token: Arc<str>,
        block: bool,
        given_up: watch::Receiver<bool>,
    ) -> Result<Option<Arc<HeldJob>>> {
        self.queue.ready().await?;
        if !self.seen.swap(true, Ordering::Relaxed) {
            let worker = self.clone();
            // The job does not wait for it; a wait for one tells what is wrong.
            tokio::spawn(async move { worker.blocking.lock().await.connect().await });
        }
        let deadline = Instant::now() + self.options.drain_delay;
        // A popped marker of a delayed job: whoever popped it answers for it.
        let mut popped = None;
        loop {
            let (limit_ttl, next_delayed, job) = self.fetch(&token).await?;
            let left = deadline.saturating_duration_since(Instant::now());
            if job.is_some() || !block || left.is_zero() || *self.closed.borrow() || *given_up.borrow() {
                self.put_back(popped).await;
                return Ok(job);
            }
            let due = if next_delayed > 0 { millis(next_delayed - now_ms()) } else { Duration::MAX };
            if limit_ttl > 0 {
                self.sleep(left.min(millis(limit_ttl)), given_up.clone()).await;
            } else if let Some(marker) = self.wait_for_marker(left.min(due), given_up.clone()).await? {
                popped = Some(marker).filter(|(_, score)| *score >= 1.0).or(popped);
            } else if *given_up.borrow() {
                self.put_back(popped).await;
                return Ok(None);
            }
        }
    }

    async fn ended(&self, mut given_up: watch::Receiver<bool>) {
        let mut closed = self.closed.subscribe();
        tokio::select! {
            _ = closed.wait_for(|closed| *closed) => {}
            Ok(_) = given_up.wait_for(|given_up| *given_up) => {}
        }
    }

    async fn sleep(&self, time: Duration, given_up: watch::Receiver<bool>) {
        let _ = tokio::time::timeout(time, self.ended(given_up)).await;
    }

    async fn wait_for_marker(&self, time: Duration, given_up: watch::Receiver<bool>) -> Result<Option<(String, f64)>> {
        tokio::select! {
            biased;
            // Given up, the socket closes and pops nothing any more.
            () = self.ended(given_up) => Ok(None),
            woken = async { self.blocking.lock().await.wait_marker(self.keys().marker(), time).await } => woken,
        }
    }

    /// Return a job to the front of the queue whose taker has gone.
    ///
    /// # Errors
    /// [`Error::Code`] -1, -2, -6; [`Error::OutcomeUnknown`].
    pub async fn give_back(&self, job: &HeldJob) -> Result<()> {
        self.locks.remove([(job.id(), &*job.token)]);
        finish::move_to_wait(self.link(), self.keys(), job.id(), &job.token).await.map(drop)
    }

    async fn put_back(&self, popped: Option<(String, f64)>) {
        if let Some((member, score)) = popped {
            let mut put_back = redis::cmd("ZADD");
            put_back.arg(self.keys().marker()).arg(score).arg(member);
            // Best effort: without it others wake at their next drain delay.
            let _ = self.link().call(&put_back, Retry::Safe).await;
        }
    }

    /// Whoever takes jobs by hand has his own ideas of what may run beside what.
    fn plan<'a>(&'a self, order: &'a Order) -> FetchPlan<'a> {
        FetchPlan { stalled_limit: None, ..fetch_plan(&self.options, order) }
    }

    async fn fetch(&self, token: &Arc<str>) -> Result<(i64, i64, Option<Arc<HeldJob>>)> {
        let (sent, now) = (Instant::now(), now_ms());
        let order = single(token);
        let mut claim = Claim::Stamped(now);
        let mut fetched = match move_to_active(self.link(), self.keys(), now, &self.plan(&order)).await {
            Err(Error::OutcomeUnknown(_)) => {
                claim = Claim::Recovered;
                self.recover(token).await?
            }
            fetched => fetched?,
        };
        let job = self.take(fetched.jobs.pop(), token, sent, claim).await?;
        Ok((fetched.limit_ttl, fetched.next_delayed, job))
    }

    /// Find the job of a fetch whose reply got lost: it carries the token and is not in hand.
    async fn recover(&self, token: &Arc<str>) -> Result<Fetched> {
        let known = self.locks.held_under(token);
        let jobs = recover_active(self.link(), self.keys(), token, known.iter().map(|id| &**id)).await?;
        Ok(Fetched { jobs, ..Fetched::default() })
    }

    /// Hold a fetched job. A scheduler's job leaves its successor behind; without one it is delayed, not run.
    async fn take(
        &self,
        record: Option<JobRecord>,
        token: &Arc<str>,
        sent: Instant,
        claim: Claim,
    ) -> Result<Option<Arc<HeldJob>>> {
        let Some(record) = record.filter(|record| !record.is_foreign()) else { return Ok(None) };
        let job = HeldJob::new(record, token.clone(), sent, claim);
        let job = Arc::new(job.by(self.options.worker_name.clone()));
        self.locks.insert([job.lock()]);
        if let Err(error) = scheduler::produce(self.link(), self.keys(), &job).await {
            let delay = scheduler::delay_instead(&job);
            self.locks.remove([(job.id(), &**token)]);
            finish::move_to_delayed(self.link(), self.keys(), now_ms(), job.id(), token, delay, true, None).await?;
            return Err(error);
        }
        Ok(Some(job))
    }

    /// Complete a job and, if asked, take the next one under the same token.
    ///
    /// # Errors
    /// [`Error::Code`] -1, -2, -3, -4, -6, -9: nothing was fetched then; [`Error::OutcomeUnknown`].
    pub async fn move_to_completed(
        &self,
        attempt: Attempt,
        value: Vec<u8>,
        fetch_next: bool,
    ) -> Result<Option<Arc<HeldJob>>> {
        let keep = attempt.options.remove_on_complete.or(self.options.remove_on_complete);
        self.finish(attempt, keep, JobResult::Completed { value }, fetch_next).await
    }

    /// End a failed attempt: retry it now or later, or fail the job, as its options say.
    ///
    /// # Errors
    /// [`Error::Code`] -1, -2, -3, -6; [`Error::OutcomeUnknown`].
    pub async fn move_to_failed(&self, attempt: Attempt, failure: Failure, fetch_next: bool) -> Result<FailedAttempt> {
        self.queue.ready().await?;
        let (link, keys, now) = (self.link(), self.keys(), now_ms());
        let options = &attempt.options;
        let stack = stacktrace(attempt.stacktrace.as_deref(), options, &failure.stack);
        let verdict = verdict(attempt.made, options, &failure, self.options.max_backoff_ms);
        let failed = finish::Failure { reason: &failure.reason, stack: stack.as_bytes() };
        let (id, token) = (&attempt.id, &attempt.token);
        let retry_in = match verdict {
            Verdict::RetryNow => {
                finish::retry_job(link, keys, now, id, token, options.lifo, Some(failed)).await?;
                0
            }
            Verdict::RetryIn(delay) => {
                finish::move_to_delayed(link, keys, now, id, token, delay, false, Some(failed)).await?;
                delay
            }
            Verdict::Fail => {
                let keep = options.remove_on_fail.or(self.options.remove_on_fail);
                let (attempts, stacktrace) = (options.attempts, stack.clone().into_bytes());
                let outcome = JobResult::Failed { reason: failure.reason, stack: stacktrace, attempts };
                let next = self.finish(attempt, keep, outcome, fetch_next).await?;
                return Ok(FailedAttempt { retry_in: None, stacktrace: stack, next });
            }
        };
        self.locks.remove([(&**id, &**token)]);
        Ok(FailedAttempt { retry_in: Some(retry_in), stacktrace: stack, next: None })
    }

    async fn finish(
        &self,
        attempt: Attempt,
        keep: Option<Keep>,
        outcome: JobResult,
        fetch_next: bool,
    ) -> Result<Option<Arc<HeldJob>>> {
        self.queue.ready().await?;
        let (sent, now) = (Instant::now(), now_ms());
        let Attempt { id, token, .. } = attempt;
        let keep = keep.unwrap_or(Keep::ALL);
        let finished = Finished { id: &id, token: &token, keep, start: None, plain_fields: None, outcome: &outcome };
        let order = single(&token);
        let fetch = fetch_next.then(|| self.plan(&order));
        let points = self.options.metrics_max_points.unwrap_or(0);
        let (jobs, name) = ([finished], self.options.worker_name.as_deref());
        let mut reply =
            finish::move_to_finished(self.link(), self.keys(), now, points, name, fetch.as_ref(), &jobs).await?;
        if let Some((_, refusal)) = reply.failures.first() {
            return Err(refusal.error(&id));
        }
        self.locks.remove([(&*id, &*token)]);
        self.take(reply.fetched.jobs.pop(), &token, sent, Claim::Stamped(now)).await
    }

    /// Put jobs of workers that went silent back to wait, if no other worker did so within the interval. Returns their ids.
    ///
    /// # Errors
    /// What the connection and the server refuse.
    pub async fn move_stalled_jobs_to_wait(&self) -> Result<Vec<String>> {
        self.queue.ready().await?;
        let mut stalled = Vec::new();
        let (max, interval) = (self.options.max_stalled_count, self.options.stalled_interval);
        stalled_checker::pass(self.link(), self.keys(), max, interval, |ids| stalled.extend(ids)).await?;
        Ok(stalled)
    }

    /// Renew the locks of all jobs taken here and not finished. Returns the ids that are no longer held.
    ///
    /// # Errors
    /// What [`extend_locks`] returns.
    pub async fn extend_job_locks(&self) -> Result<Vec<String>> {
        let held = self.locks.older_than(Duration::ZERO);
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let sent = Instant::now();
        let duration = i64::try_from(self.options.lock_duration.as_millis()).unwrap_or(i64::MAX);
        let locks = held.iter().map(|(id, token)| (&**id, &**token));
        let refused = extend_locks(self.link(), self.keys(), duration, locks).await?;
        self.locks.renewed(&held, &refused, sent);
        Ok(refused)
    }
}
