//! Waiting for the end of one job.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::feed::Feed;
use super::recent::JobEnd;
use super::state::Waiter;
use crate::error::{Error, Result};

impl Feed {
    /// Waits for the end of a job, from this call on. `late`: an end that was read before counts, too. `None` after
    /// `timeout`.
    pub fn wait_until_finished(
        self: &Arc<Self>,
        job_id: String,
        timeout: Duration,
        late: bool,
    ) -> impl Future<Output = Result<Option<JobEnd>>> + Send + 'static {
        let (sender, end) = oneshot::channel();
        let mut state = self.state.lock();
        let number = state.number();
        let ended = *self.stopped.borrow() || self.refusal.get().is_some();
        if let (true, Some(end)) = (late, state.recent.get(&job_id)) {
            let _ = sender.send(end.clone());
        } else if !ended {
            state.waiters.entry(job_id.clone()).or_default().push(Waiter { number, sender });
        }
        drop(state);
        self.changed.notify_one();
        let feed = self.clone();
        let guard = WaiterGuard { feed: self.clone(), job_id, number };
        async move {
            let end = tokio::time::timeout(timeout, end).await;
            drop(guard);
            match end {
                Ok(end) => end.map(Some).map_err(|_| feed.refusal.get().cloned().unwrap_or(Error::Closed)),
                Err(_) => Ok(None),
            }
        }
    }
}

/// Removes a waiter when its wait is over, or dropped.
struct WaiterGuard {
    feed: Arc<Feed>,
    job_id: String,
    number: u64,
}

impl Drop for WaiterGuard {
    fn drop(&mut self) {
        let mut state = self.feed.state.lock();
        if let Some(waiters) = state.waiters.get_mut(&self.job_id) {
            waiters.retain(|waiter| waiter.number != self.number);
            if waiters.is_empty() {
                state.waiters.remove(&self.job_id);
            }
        }
    }
}
