//! Fetches whose reply got lost, and those that Redis gets late: their jobs would be held by this worker, and run by
//! nobody.

use std::sync::Arc;
use std::time::Instant;

use super::Manual;
use crate::connection::Retry;
use crate::error::Result;
use crate::protocol::JobRecord;
use crate::scripts::fetch::recover_active;
use crate::scripts::finish;
use crate::worker::fetch::SentFetch;
use crate::worker::held::{Claim, HeldJob};
use crate::worker::sleep::sleep_until;

impl Manual {
    /// Take the job of a fetch whose reply got lost. If it is not there, it goes back to the queue as soon as it is.
    pub(super) async fn recover(self: &Arc<Self>, sent: SentFetch) -> Result<Option<Arc<HeldJob>>> {
        let found = self.find(&sent).await;
        if let Ok(Some(record)) = found {
            return self.hold(Some(record), &sent, Claim::Recovered).await;
        }
        self.expect(sent);
        found.map(|_| None)
    }

    /// Give back the jobs of fetches that Redis has got by now, and forget the others.
    pub(super) async fn return_late(&self) {
        let late = self.lost.lock().late.take();
        for sent in late {
            let _ = self.return_job_of(&sent).await;
        }
    }

    /// Find the job of a fetch: it has the token, was started with this fetch, and is not in hand. Callers may use a
    /// token more than once.
    async fn find(&self, sent: &SentFetch) -> Result<Option<JobRecord>> {
        let token = &sent.request.token;
        let known = self.lane.locks.held_under(token);
        let jobs = recover_active(self.link(), self.keys(), token, known.iter().map(|id| &**id), Retry::Safe).await?;
        Ok(jobs.into_iter().find(|job| job.number("processedOn") == sent.now))
    }

    /// Look for the job of a fetch later, again and again.
    fn expect(self: &Arc<Self>, sent: SentFetch) {
        let mut lost = self.lost.lock();
        lost.late.expect(sent, Instant::now());
        if !std::mem::replace(&mut lost.is_watched, true) {
            tokio::spawn(self.clone().watch());
        }
    }

    /// Give back the jobs of late fetches until none is expected any more.
    async fn watch(self: Arc<Self>) {
        loop {
            let next = {
                let mut lost = self.lost.lock();
                let next = lost.late.next();
                lost.is_watched = next.is_some();
                next
            };
            if next.is_none() {
                return;
            }
            sleep_until(next).await;
            let due = self.lost.lock().late.take_due(Instant::now());
            for sent in due {
                if !matches!(self.return_job_of(&sent).await, Ok(true)) {
                    self.lost.lock().late.expect(sent, Instant::now());
                }
            }
        }
    }

    /// Give back the job of a fetch. False if it is not there.
    async fn return_job_of(&self, sent: &SentFetch) -> Result<bool> {
        let Some(job) = self.find(sent).await? else { return Ok(false) };
        finish::move_to_wait(self.link(), self.keys(), None, &job.id, &sent.request.token).await?;
        Ok(true)
    }
}
