//! Finishes a job, and takes the next one in the same call.

use std::future::Future;
use std::sync::Arc;

use super::{Manual, MOST_TRIES};
use crate::clock::now_ms;
use crate::error::{Error, Result};
use crate::protocol::{Channel, JobOptions};
use crate::scripts::finish::{self, EndedAttempt, Finished};
use crate::worker::fetch::SentFetch;
use crate::worker::finish::{has_left, is_finished, is_retried, EndedJob, Ending, Failed};
use crate::worker::held::{Claim, HeldJob};
use crate::worker::outcome::Failure;
use crate::worker::retry::Verdict;

/// What the caller knows of the job that it finishes.
pub struct Attempt {
    pub id: String,
    pub token: Arc<str>,
    pub options: JobOptions,
    /// Attempts that ended before this one.
    pub made: i64,
    pub stacktrace: Option<Vec<u8>>,
}

impl Attempt {
    fn ended(&self) -> EndedJob<'_> {
        EndedJob { options: &self.options, made: self.made, stacktrace: self.stacktrace.as_deref() }
    }
}

/// When a failed attempt is followed by another one.
#[derive(Clone, Copy)]
pub struct NextAttempt {
    /// After that many ms, 0 = at once.
    pub delay: i64,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// What happened to a failed attempt.
pub struct FailedAttempt {
    /// `None`: the job has failed and is not retried.
    pub retry: Option<NextAttempt>,
    /// The reason as it was stored.
    pub reason: String,
    /// The job's `stacktrace` field as it is now.
    pub stacktrace: String,
    pub next: Option<Arc<HeldJob>>,
}

/// Makes a move again whose outcome is not known. If it is refused then, the first try was accepted, or the lock is
/// lost, as `was_accepted` says.
async fn until_known<F, A>(mut call: impl FnMut() -> F, was_accepted: impl FnOnce() -> A) -> Result<()>
where
    F: Future<Output = Result<()>>,
    A: Future<Output = bool>,
{
    let mut tries = 0;
    loop {
        match call().await {
            Err(Error::OutcomeUnknown(_)) if tries < MOST_TRIES => tries += 1,
            Err(error @ Error::Code { .. }) if tries > 0 => {
                return if was_accepted().await { Ok(()) } else { Err(error) }
            }
            Err(error) if tries > 0 => return Err(error.after_a_lost_reply()),
            result => return result,
        }
    }
}

impl Manual {
    /// Complete a job and, if asked, take the next one under the same token.
    ///
    /// # Errors
    /// [`Error::Code`](crate::error::Error::Code) -1, -2, -3, -4, -6, -9, and nothing was fetched;
    /// [`Error::OutcomeUnknown`](crate::error::Error::OutcomeUnknown).
    pub async fn move_to_completed(
        self: &Arc<Self>,
        attempt: Attempt,
        value: Vec<u8>,
        fetch_next: bool,
    ) -> Result<Option<Arc<HeldJob>>> {
        let ending = attempt.ended().completed(&self.options, value);
        self.finish(attempt, ending, fetch_next).await
    }

    /// End a failed attempt: retry it now or later, or fail the job, as its options say.
    ///
    /// # Errors
    /// [`Error::Code`](crate::error::Error::Code) -1, -2, -3, -6;
    /// [`Error::OutcomeUnknown`](crate::error::Error::OutcomeUnknown).
    pub async fn move_to_failed(
        self: &Arc<Self>,
        attempt: Attempt,
        failure: Failure,
        fetch_next: bool,
    ) -> Result<FailedAttempt> {
        self.queue.ready().await?;
        let (link, keys, now) = (self.link(), self.keys(), now_ms());
        let Failed { reason, stack: stacktrace, verdict } = attempt.ended().failed(&self.options, failure);
        let delay = match verdict {
            Verdict::RetryNow => 0,
            Verdict::RetryIn(delay) => delay,
            Verdict::Fail | Verdict::NeedsStrategy(_) => {
                let ending = attempt.ended().failed_for_good(&self.options, reason.clone(), stacktrace.clone());
                let next = self.finish(attempt, ending, fetch_next).await?;
                return Ok(FailedAttempt { retry: None, reason, stacktrace, next });
            }
        };
        let (id, token) = (&attempt.id, &attempt.token);
        let failed = finish::Failure { reason: &reason, stack: stacktrace.as_bytes() };
        let ended = EndedAttempt { id, token, failure: Some(failed) };
        let (lifo, fan_out) = (attempt.options.lifo, self.options.fan_out);
        let was_accepted = || is_retried(link, keys, id, attempt.made, &stacktrace);
        if delay == 0 {
            until_known(|| finish::retry_job(link, keys, now, ended, lifo, fan_out), was_accepted).await?;
        } else {
            until_known(|| finish::move_to_delayed(link, keys, now, ended, delay, false), was_accepted).await?;
        }
        self.lane.locks.remove([(&**id, &**token)]);
        let retry = Some(NextAttempt { delay, at: now.saturating_add(delay) });
        Ok(FailedAttempt { retry, reason, stacktrace, next: None })
    }

    async fn finish(
        self: &Arc<Self>,
        attempt: Attempt,
        Ending { result, keep }: Ending,
        fetch_next: bool,
    ) -> Result<Option<Arc<HeldJob>>> {
        self.queue.ready().await?;
        let Attempt { id, token, options, .. } = attempt;
        let sent = SentFetch::now(self.single(&token));
        let finished = Finished { id: &id, token: &token, keep, start: None, plain_fields: None, outcome: &result };
        // A fetch that goes with a finish call takes the next job, whoever it is for.
        let fetch_next = fetch_next && self.options.scan(&self.lane).is_none();
        let fetch = fetch_next.then(|| self.plan(&sent.request));
        let (jobs, by) = ([finished], self.options.finished_by());
        let mut tries = 0;
        let mut reply = loop {
            // A job that the first try has fetched is found by its token.
            let fetch = fetch.as_ref().filter(|_| tries == 0);
            match finish::move_to_finished(self.link(), self.keys(), sent.now, by, fetch, &jobs).await {
                Err(Error::OutcomeUnknown(_)) if tries < MOST_TRIES => tries += 1,
                Err(refused) if tries > 0 => return Err(refused.after_a_lost_reply()),
                reply => break reply?,
            }
        };
        if let Some(error) = reply.failures.first().map(|(_, refusal)| refusal.error(&id)) {
            let is_known = tries > 0 && has_left(&error);
            let run = self.options.run.as_deref();
            if !(is_known && is_finished(self.link(), self.keys(), run, &id, &token).await) {
                return Err(error);
            }
        }
        self.lane.locks.remove([(&*id, &*token)]);
        if options.wake {
            let (link, keys) = (self.link().clone(), self.keys().clone());
            let message = format!("{}:{id}", keys.name());
            tokio::spawn(async move { link.publish_hints(&Channel::Chainc.of(keys.prefix()), [message]).await });
        }
        if tries > 0 && fetch_next {
            return self.fetch_or_recover(sent).await;
        }
        let record = reply.fetched.jobs.pop();
        if self.drops(record.as_ref()) {
            // This job has its outcome, so an error of the fetch after it is none of this call.
            return Ok(self.fetch(&token).await.map_or(None, |(.., job)| job));
        }
        self.hold(record, &sent, Claim::Stamped(sent.now)).await
    }
}
