//! Fetches jobs, and waits when there are none.

use std::sync::Arc;
use std::time::Duration;

use super::marker_waiter::{MarkerWaiter, Popped};
use super::request::{fetch_plan, FetchRequest, FetchedBatch, Room, SentFetch};
use crate::clock::{self, now_ms};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::scripts::fetch::{move_to_active, recover_active, Fetched, Hold};
use crate::scripts::hint::{is_fanned_out, sweep_markers};
use crate::worker::lanes::Lane;
use crate::worker::options::WorkerOptions;
use crate::worker::sleep::millis;

/// Longest sleep while rate limited: the limit may be removed by hand.
const LONGEST_LIMIT: Duration = Duration::from_secs(30);

pub struct Fetcher {
    link: Link,
    lane: Arc<Lane>,
    waiter: MarkerWaiter,
    /// The last marker that was popped (member, score), until the next fetch.
    popped: Option<(String, f64)>,
    worker_id: String,
    next_token: u64,
    /// The last fetch found nothing. The next one is only worthwhile after a marker or a timer.
    idle: bool,
    /// When the next delayed job is due (ms since the epoch).
    due_at: Option<i64>,
}

impl Fetcher {
    pub fn new(link: Link, lane: Arc<Lane>, waiter: MarkerWaiter, worker_id: String) -> Self {
        Self { link, lane, waiter, popped: None, worker_id, next_token: 0, idle: false, due_at: None }
    }

    /// A request with a token of its own, by which its jobs are found if the reply gets lost.
    pub fn request(&mut self, room: Room) -> FetchRequest {
        let token = format!("{}:{}", self.worker_id, self.next_token);
        self.next_token += 1;
        let fanned_out = self.popped.take().is_some_and(|(member, _)| is_fanned_out(&member));
        FetchRequest { lane: self.lane.clone(), token: token.into(), room, fanned_out }
    }

    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// There may be jobs again.
    pub fn look_again(&mut self) {
        self.idle = false;
    }

    pub async fn fetch(&mut self, options: &WorkerOptions, sent: &SentFetch) -> Result<Fetched> {
        move_to_active(&self.link, &self.lane.keys, sent.now, &fetch_plan(options, &sent.request)).await
    }

    /// Note what a reply says about the next fetch.
    pub fn note(&mut self, fetched: Fetched, sent: SentFetch) -> FetchedBatch {
        self.idle = fetched.jobs.is_empty() && fetched.hold != Hold::Alone;
        if self.idle && sent.request.fanned_out && fetched.limit_ttl == 0 {
            let (link, lane) = (self.link.clone(), self.lane.clone());
            // Best effort: a marker that is left wakes a worker for nothing.
            tokio::spawn(async move { drop(sweep_markers(&link, &lane.keys).await) });
        }
        self.due_at = (fetched.next_delayed > 0).then_some(fetched.next_delayed);
        FetchedBatch { jobs: fetched.jobs, scores: fetched.scores, sent, recovered: false }
    }

    /// Find the jobs of a fetch whose reply got lost, by its token.
    pub async fn recover(&mut self, sent: SentFetch) -> Result<FetchedBatch> {
        let jobs = recover_active(&self.link, &self.lane.keys, &sent.request.token, []).await?;
        self.idle = false;
        Ok(FetchedBatch { jobs, scores: Vec::new(), sent, recovered: true })
    }

    /// Wait until there may be jobs; if `may_fetch` is false, only until the rate limit ends. Safe to cancel.
    pub async fn wait_for_jobs(&mut self, drain_delay: Duration, limited_until: i64, may_fetch: bool) {
        let (moves, now) = (clock::moves(), now_ms());
        if limited_until > now {
            tokio::select! {
                () = tokio::time::sleep(millis(limited_until - now).min(LONGEST_LIMIT)) => {}
                () = clock::moved(moves) => {}
            }
            self.idle = false;
            return;
        }
        if !may_fetch {
            return std::future::pending().await;
        }
        let due = async {
            match self.due_at {
                Some(at) => tokio::time::sleep(millis(at - now)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            popped = self.waiter.wait(drain_delay) => self.note_marker(popped),
            () = due => {
                self.due_at = None;
                self.idle = false;
            }
            () = clock::moved(moves) => self.idle = false,
        }
    }

    /// Check for a marker that was popped while the engine was busy.
    ///
    /// After a popped marker the worker either fetches or puts the marker back: other workers may wait for it.
    pub async fn check_marker(&mut self, can_fetch: bool) {
        if let Some(popped) = self.waiter.poll() {
            self.note_marker(popped);
        }
        if !can_fetch {
            self.put_back().await;
        }
    }

    /// Stop waiting for jobs.
    pub async fn stop(&mut self) {
        if let Some(popped) = self.waiter.stop() {
            self.note_marker(popped);
        }
        self.put_back().await;
    }

    async fn put_back(&mut self) {
        if let Some((member, score)) = self.popped.take() {
            let mut put_back = redis::cmd("ZADD");
            put_back.arg(self.lane.keys.marker()).arg(score).arg(member);
            // Best effort: without it other workers wake at their next drain delay.
            let _ = self.link.call(&put_back, Retry::Safe).await;
        }
    }

    fn note_marker(&mut self, popped: Popped) {
        let Ok(Some((member, score))) = popped else {
            self.idle = false;
            return;
        };
        if score >= 1.0 {
            let due = score as i64;
            self.due_at = Some(self.due_at.map_or(due, |known| known.min(due)));
            if due <= now_ms() {
                self.idle = false;
            }
        } else {
            self.idle = false;
        }
        self.popped = Some((member, score));
    }
}
