//! A worker's fetch and finish, one call at a time, for programs that run jobs themselves.

mod finish;
mod lost;
mod next_job;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::fetch::{fetch_plan, FetchRequest, LateFetches, Room};
use super::lanes::Lane;
use super::options::WorkerOptions;
use super::results::Results;
use crate::connection::{BlockingLink, Link};
use crate::error::Result;
use crate::mutex::Mutex;
use crate::protocol::Keys;
use crate::queue::QueueHandle;
use crate::scripts::fetch::FetchPlan;
use crate::scripts::hint::wake_another;
use crate::scripts::lock::extend_locks;
use crate::timers::stalled_checker;

/// How long a call that was ended, or a worker that closes, takes at most to wake another worker.
const LEAVING: Duration = Duration::from_secs(1);
/// How often a call is made again whose outcome is not known, each time on another connection.
const MOST_TRIES: usize = 5;

pub use self::finish::{Attempt, FailedAttempt, NextAttempt};

/// Fetches that Redis may get late, and whether somebody looks for their jobs.
#[derive(Default)]
struct Lost {
    late: LateFetches,
    is_watched: bool,
}

pub struct Manual {
    queue: QueueHandle,
    options: WorkerOptions,
    lane: Arc<Lane>,
    blocking: tokio::sync::Mutex<BlockingLink>,
    /// The blocking connection was asked for: other programs list workers by its name.
    connected: AtomicBool,
    closed: watch::Sender<bool>,
    results: Option<Results>,
    lost: Mutex<Lost>,
    /// For the log of the caller.
    warnings: Mutex<Vec<String>>,
}

impl Manual {
    #[must_use]
    pub fn new(queue: QueueHandle, blocking: BlockingLink, options: WorkerOptions) -> Self {
        let closed = watch::Sender::new(false);
        let (blocking, connected) = (tokio::sync::Mutex::new(blocking), AtomicBool::new(false));
        let lane = Arc::new(Lane::single(queue.keys().clone()));
        // Python has checked the name.
        let results = Results::new(queue.link(), queue.keys(), &options).ok().flatten();
        Self {
            queue,
            options,
            lane,
            blocking,
            connected,
            closed,
            results,
            lost: Mutex::default(),
            warnings: Mutex::default(),
        }
    }

    /// What has happened since the last call and belongs in a log.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock())
    }

    fn link(&self) -> &Link {
        self.queue.link()
    }

    fn keys(&self) -> &Keys {
        self.queue.keys()
    }

    /// A request for one job, to start now.
    fn single(&self, token: &Arc<str>) -> FetchRequest {
        let room = Room { count: 1, slots: 1, alone: false, decided: Instant::now() };
        FetchRequest { lane: self.lane.clone(), token: token.clone(), room, fanned_out: false, woken: false }
    }

    /// The fetch part of a call. Which jobs may run beside which others is left to the caller.
    fn plan<'a>(&'a self, request: &'a FetchRequest) -> FetchPlan<'a> {
        FetchPlan { stalled_limit: None, ..fetch_plan(&self.options, request) }
    }

    /// Connect, under the name by which other programs list workers.
    ///
    /// # Errors
    /// What the server or the queue refuses, and what [`BlockingLink::connect`] returns.
    pub async fn connect(&self) -> Result<()> {
        self.queue.ready().await?;
        self.connected.store(true, Ordering::Relaxed);
        self.blocking.lock().await.connect().await
    }

    /// Close the blocking connection until it is needed again: a running worker has one of its own.
    pub async fn disconnect(&self) {
        self.blocking.lock().await.disconnect();
        self.connected.store(false, Ordering::Relaxed);
    }

    /// End pending waits and close the blocking connection. Unless it hurries, the worker gives back the jobs of late
    /// fetches, and wakes another one: a job that ended by hand may have left the place of a global concurrency.
    pub async fn close(&self, hurries: bool) {
        self.closed.send_replace(true);
        self.blocking.lock().await.close();
        if !hurries {
            // A server that does not answer must not keep the caller.
            let leave = async {
                self.return_late().await;
                wake_another(self.link(), [self.keys()]).await
            };
            let _ = tokio::time::timeout(LEAVING, leave).await;
        }
    }

    /// Put jobs back to wait whose worker stopped renewing their locks, unless another worker did so within the
    /// interval. Returns their ids.
    ///
    /// # Errors
    /// Errors of the connection and of the server.
    pub async fn move_stalled_jobs_to_wait(&self) -> Result<Vec<String>> {
        self.queue.ready().await?;
        let mut stalled = Vec::new();
        let rule = self.options.stalled_rule();
        stalled_checker::pass(self.link(), self.keys(), rule, |ids| stalled.extend(ids)).await?;
        Ok(stalled)
    }

    /// Renew the locks of all jobs that were taken here and are not finished. Returns the ids whose lock is lost.
    ///
    /// # Errors
    /// What [`extend_locks`] returns.
    pub async fn extend_job_locks(&self) -> Result<Vec<String>> {
        let held = self.lane.locks.all();
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let sent = Instant::now();
        let lasting = self.options.lock_duration;
        let duration = i64::try_from(lasting.as_millis()).unwrap_or(i64::MAX);
        let locks = held.iter().map(|(id, token)| (&**id, &**token));
        let refused = extend_locks(self.link(), self.keys(), duration, locks).await?;
        self.lane.locks.renewed(&held, &refused, sent, lasting);
        Ok(refused)
    }
}
