//! Takes the next job, and waits for one.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::{Manual, LEAVING, MOST_TRIES};
use crate::clock::now_ms;
use crate::connection::Retry;
use crate::error::{Error, Result};
use crate::protocol::JobRecord;
use crate::scripts::finish;
use crate::scripts::hint::{is_fanned_out, sweep_markers, wake_another};
use crate::worker::fetch::{dropped_text, fetch_by, SentFetch};
use crate::worker::held::{Claim, HeldJob};
use crate::worker::scheduler;
use crate::worker::sleep::millis;

/// Pause after a wait that ended with its connection.
const AFTER_ERROR: Duration = Duration::from_millis(50);

impl Manual {
    /// Take the next job under `token`. With `block`, wait for one up to the drain delay, or until `given_up` turns
    /// true.
    ///
    /// # Errors
    /// Errors of the connection and of the server. A scheduler's job whose successor could not be added is delayed.
    pub async fn get_next_job(
        self: &Arc<Self>,
        token: Arc<str>,
        block: bool,
        given_up: watch::Receiver<bool>,
    ) -> Result<Option<Arc<HeldJob>>> {
        self.queue.ready().await?;
        if let Some(results) = &self.results {
            results.ready(self.keys()).await?;
        }
        if !self.connected.swap(true, Ordering::Relaxed) {
            let worker = self.clone();
            // The fetch does not wait for it. If it fails, the next wait for a marker connects.
            tokio::spawn(async move { worker.blocking.lock().await.connect().await });
        }
        let deadline = Instant::now() + self.options.drain_delay;
        // Markers that were popped here and must be put back: of a delayed job, and of jobs for other workers.
        let mut popped: Vec<(String, f64)> = Vec::new();
        let (mut fanned_out, mut woken) = (false, false);
        loop {
            let (limit_ttl, next_delayed, unmatched, job) = self.fetch(&token).await?;
            if std::mem::take(&mut fanned_out) && job.is_none() && limit_ttl == 0 {
                // Best effort: a marker that is left wakes a worker for nothing.
                let _ = sweep_markers(self.link(), self.keys()).await;
            }
            if job.is_none() && unmatched > 0 && std::mem::take(&mut woken) {
                popped.push(("0".to_owned(), 0.0));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if job.is_some() || !block || left.is_zero() || *self.closed.borrow() || *given_up.borrow() {
                self.put_back(popped).await;
                return Ok(job);
            }
            let due = if next_delayed > 0 { millis(next_delayed - now_ms()) } else { Duration::MAX };
            if limit_ttl > 0 {
                self.sleep(left.min(millis(limit_ttl)), given_up.clone()).await;
                continue;
            }
            let marker = match self.wait_for_marker(left.min(due), given_up.clone()).await {
                // A marker may have got lost with the connection: the fetch tells whether there is a job.
                Err(error) if error.is_passing() => {
                    self.sleep(AFTER_ERROR, given_up.clone()).await;
                    None
                }
                waited => waited?,
            };
            if *self.closed.borrow() || *given_up.borrow() {
                popped.extend(marker);
                let leave = async {
                    self.put_back(popped).await;
                    // A marker that was popped as the wait ended may have got lost.
                    wake_another(self.link(), [self.keys()]).await
                };
                // A server that does not answer must not keep the caller.
                let _ = tokio::time::timeout(LEAVING, leave).await;
                return Ok(None);
            }
            if let Some(marker) = marker {
                (fanned_out, woken) = (is_fanned_out(&marker.0), marker.1 < 1.0);
                popped.extend(Some(marker).filter(|(_, score)| *score >= 1.0));
            }
        }
    }

    /// Wait until the worker is closed or the caller has given up.
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
        self.blocking.lock().await.wait_marker(self.keys().marker(), time, self.ended(given_up)).await
    }

    /// Return a job to the front of the queue, since its caller has gone.
    ///
    /// # Errors
    /// [`Error::Code`] -1, -2, -6; [`Error::OutcomeUnknown`].
    pub async fn give_back(&self, job: &HeldJob) -> Result<()> {
        self.lane.locks.remove([(job.id(), &*job.token)]);
        finish::move_to_wait(self.link(), self.keys(), None, job.id(), &job.token).await.map(drop)
    }

    async fn put_back(&self, popped: Vec<(String, f64)>) {
        for (member, score) in popped {
            let mut put_back = redis::cmd("ZADD");
            put_back.arg(self.keys().marker()).arg(score).arg(member);
            // Best effort: without it other workers wake at their next drain delay.
            let _ = self.link().call(&put_back, Retry::Safe).await;
        }
    }

    /// Fetch until there is a job, or none.
    pub(super) async fn fetch(self: &Arc<Self>, token: &Arc<str>) -> Result<(i64, i64, usize, Option<Arc<HeldJob>>)> {
        let mut lost = 0;
        loop {
            let sent = SentFetch::now(self.single(token));
            let plan = self.plan(&sent.request);
            let mut fetched = match fetch_by(self.link(), &self.options, &self.lane, sent.now, &plan).await {
                Err(error @ Error::OutcomeUnknown(_)) => match self.recover(sent).await? {
                    None if lost < MOST_TRIES => {
                        lost += 1;
                        continue;
                    }
                    None => return Err(error),
                    job => return Ok((0, 0, 0, job)),
                },
                fetched => fetched?,
            };
            let record = fetched.jobs.pop();
            if !self.drops(record.as_ref()) {
                let job = self.hold(record, &sent, Claim::Stamped(sent.now)).await?;
                return Ok((fetched.limit_ttl, fetched.next_delayed, fetched.unmatched, job));
            }
        }
    }

    /// The job of a fetch whose reply got lost; if it has not arrived, the next job.
    pub(super) async fn fetch_or_recover(self: &Arc<Self>, sent: SentFetch) -> Result<Option<Arc<HeldJob>>> {
        let token = sent.request.token.clone();
        match self.recover(sent).await? {
            None => Ok(self.fetch(&token).await?.3),
            job => Ok(job),
        }
    }

    /// Whether a fetch took an id that is no job. Then there may be others to take.
    pub(super) fn drops(&self, record: Option<&JobRecord>) -> bool {
        let Some(record) = record.filter(|record| record.is_missing()) else { return false };
        self.warnings.lock().push(dropped_text(self.keys(), std::slice::from_ref(record)));
        true
    }

    /// Hold the lock of a fetched job. The successor of a scheduler's job is added; if that fails, the job is delayed,
    /// not run.
    pub(super) async fn hold(
        &self,
        record: Option<JobRecord>,
        sent: &SentFetch,
        claim: Claim,
    ) -> Result<Option<Arc<HeldJob>>> {
        let Some(record) = record else { return Ok(None) };
        let token = &sent.request.token;
        let job = Arc::new(HeldJob::new(record, self.lane.clone(), token.clone(), sent.at, claim, &self.options));
        self.lane.locks.insert([job.lock()]);
        if let Err(error) = scheduler::produce(self.link(), &job).await {
            let delay = scheduler::delay_instead(&job);
            self.lane.locks.remove([(job.id(), &**token)]);
            let ended = finish::EndedAttempt { id: job.id(), token, failure: None };
            finish::move_to_delayed(self.link(), self.keys(), now_ms(), ended, delay, true).await?;
            return Err(error);
        }
        Ok(Some(job))
    }
}
