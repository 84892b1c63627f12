//! Decides when to fetch and sleeps when there is nothing to fetch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::held::{Claim, HeldJob};
use super::marker_waiter::{MarkerWaiter, Woken};
use super::options::WorkerOptions;
use crate::clock::now_ms;
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{JobRecord, Keys};
use crate::scripts::fetch::{move_to_active, recover_active, start_jobs, FetchPlan, Fetched, Hold, Started};

/// Longest sleep while rate limited: the limiter may be lifted by hand.
const LONGEST_LIMIT: Duration = Duration::from_secs(30);

/// What a fetch asks for.
#[derive(Clone)]
pub struct Order {
    pub token: Arc<str>,
    pub count: usize,
    /// So many start now, the others are claimed ahead.
    pub slots: usize,
    /// Nothing else is in hand.
    pub alone: bool,
}

/// A fetch as it was sent.
#[derive(Clone)]
pub struct Sent {
    pub order: Order,
    /// The locks are at most this old.
    pub at: Instant,
    /// Milliseconds since the epoch: what it stamps jobs with.
    pub now: i64,
}

impl Sent {
    pub fn now(order: Order) -> Self {
        Self { order, at: Instant::now(), now: now_ms() }
    }
}

/// Jobs of one fetch, with what is needed to hold them.
pub struct Batch {
    pub jobs: Vec<JobRecord>,
    /// Of the last ones.
    pub scores: Vec<String>,
    pub sent: Sent,
    pub recovered: bool,
}

impl Batch {
    /// How the job at a position was claimed.
    pub fn claim(&self, position: usize) -> Claim {
        let Sent { order, now, .. } = &self.sent;
        let job = &self.jobs[position];
        match self.recovered {
            // A fetch that stopped half-way has not stamped all.
            true if job.number("processedOn") == *now => Claim::Recovered,
            false if position < order.slots || job.is_missing() => Claim::Stamped(*now),
            _ => Claim::Ahead,
        }
    }

    /// What the job at a position had among the prioritized.
    pub fn score(&self, position: usize) -> Option<Box<str>> {
        let first = self.jobs.len().saturating_sub(self.scores.len());
        self.scores.get(position.checked_sub(first)?).map(|score| score.as_str().into())
    }
}

pub struct Fetcher {
    link: Link,
    keys: Keys,
    waiter: MarkerWaiter,
    /// The marker popped last, until the next look.
    popped: Option<(String, f64)>,
    worker_id: String,
    next_token: u64,
    /// The last look found nothing; only a marker or a timer makes another look worthwhile.
    idle: bool,
    due_at: Option<i64>,
}

impl Fetcher {
    pub fn new(link: Link, keys: Keys, waiter: MarkerWaiter, worker_id: String) -> Self {
        Self { link, keys, waiter, popped: None, worker_id, next_token: 0, idle: false, due_at: None }
    }

    /// A token of its own for each fetch call, so that a lost reply can be recovered by it.
    pub fn token(&mut self) -> Arc<str> {
        let token = format!("{}:{}", self.worker_id, self.next_token);
        self.next_token += 1;
        self.popped = None;
        token.into()
    }

    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// Look again at the next occasion.
    pub fn look_again(&mut self) {
        self.idle = false;
    }

    pub async fn fetch(&mut self, options: &WorkerOptions, sent: &Sent) -> Result<Fetched> {
        move_to_active(&self.link, &self.keys, sent.now, &fetch_plan(options, &sent.order)).await
    }

    /// Keep what a reply says about the time of the next look.
    pub fn note(&mut self, fetched: Fetched, sent: Sent) -> Batch {
        self.idle = fetched.jobs.is_empty() && fetched.hold != Hold::Alone;
        self.due_at = (fetched.next_delayed > 0).then_some(fetched.next_delayed);
        Batch { jobs: fetched.jobs, scores: fetched.scores, sent, recovered: false }
    }

    /// Find the jobs of a fetch whose reply got lost: they carry its token.
    pub async fn recover(&mut self, sent: Sent) -> Result<Batch> {
        let jobs = recover_active(&self.link, &self.keys, &sent.order.token, []).await?;
        self.idle = false;
        Ok(Batch { jobs, scores: Vec::new(), sent, recovered: true })
    }

    /// Sleep until something may be there to fetch; `may_fetch` false only waits out the time. Safe to cancel.
    pub async fn rest(&mut self, drain_delay: Duration, limited_until: i64, may_fetch: bool) {
        let now = now_ms();
        if limited_until > now {
            tokio::time::sleep(millis(limited_until - now).min(LONGEST_LIMIT)).await;
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
            woken = self.waiter.wait(drain_delay) => self.heed(woken),
            () = due => {
                self.due_at = None;
                self.idle = false;
            }
        }
    }

    /// Look at a marker that was popped while the engine was busy.
    ///
    /// A popped marker is either followed by a look or put back: other workers may be waiting for it.
    pub async fn heed_popped(&mut self, can_fetch: bool) {
        if let Some(woken) = self.waiter.poll() {
            self.heed(woken);
        }
        if !can_fetch {
            self.put_back().await;
        }
    }

    /// Wait for jobs no more.
    pub async fn stop(&mut self) {
        if let Some(woken) = self.waiter.stop() {
            self.heed(woken);
        }
        self.put_back().await;
    }

    async fn put_back(&mut self) {
        if let Some((member, score)) = self.popped.take() {
            let mut put_back = redis::cmd("ZADD");
            put_back.arg(self.keys.marker()).arg(score).arg(member);
            // Best effort: without it others wake at their next drain delay.
            let _ = self.link.call(&put_back, Retry::Safe).await;
        }
    }

    fn heed(&mut self, woken: Woken) {
        let Ok(Some((member, score))) = woken else {
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

/// Put starts on record that their fetch left out.
///
/// # Errors
/// What the server or the connection says; a stamp that may not have arrived goes along with the job's outcome.
pub async fn stamp_jobs(link: &Link, keys: &Keys, worker: &WorkerOptions, jobs: &[Arc<HeldJob>]) -> Result<()> {
    let starts: Vec<Started<'_>> = jobs.iter().filter_map(|job| job.unstamped()).collect();
    if starts.is_empty() {
        return Ok(());
    }
    jobs.iter().for_each(|job| job.mark_stamping());
    start_jobs(link, keys, worker.worker_name.as_deref(), &starts).await?;
    jobs.iter().for_each(|job| job.mark_stamped());
    Ok(())
}

/// The fetch part of a call.
pub fn fetch_plan<'a>(worker: &'a WorkerOptions, order: &'a Order) -> FetchPlan<'a> {
    FetchPlan {
        count: order.count,
        slots: order.slots,
        stalled_limit: Some(worker.max_stalled_count),
        alone: order.alone,
        token: &order.token,
        lock_duration: i64::try_from(worker.lock_duration.as_millis()).unwrap_or(i64::MAX),
        limiter: worker.limiter.map(|limiter| (limiter.max, limiter.duration_ms)),
        worker_name: worker.worker_name.as_deref(),
    }
}

pub fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
