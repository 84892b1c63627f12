//! Fetches jobs.

use std::sync::Arc;

use super::marker_waiter::Marker;
use super::request::{fetch_plan, FetchRequest, FetchedBatch, Room, SentFetch};
use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::scripts::fetch::{move_to_active, recover_active, FetchPlan, Fetched};
use crate::scripts::route::scan_jobs;
use crate::worker::lanes::Lane;
use crate::worker::options::WorkerOptions;

pub struct Fetcher {
    link: Link,
    worker_id: String,
    next_token: u64,
}

impl Fetcher {
    pub fn new(link: Link, worker_id: String) -> Self {
        Self { link, worker_id, next_token: 0 }
    }

    /// A request with a token of its own, by which its jobs are found if the reply gets lost.
    pub fn request(&mut self, lane: &Arc<Lane>, room: Room, fanned_out: bool, woken: bool) -> FetchRequest {
        let token = format!("{}:{}", self.worker_id, self.next_token);
        self.next_token += 1;
        FetchRequest { lane: lane.clone(), token: token.into(), room, fanned_out, woken }
    }

    pub async fn fetch(&self, options: &WorkerOptions, sent: &SentFetch) -> Result<Fetched> {
        fetch(&self.link, options, sent).await
    }

    /// Find the jobs of a fetch whose reply got lost, by its token.
    pub async fn recover(&self, sent: SentFetch) -> Result<FetchedBatch> {
        let FetchRequest { lane, token, .. } = &sent.request;
        let jobs = recover_active(&self.link, &lane.keys, token, []).await?;
        Ok(FetchedBatch { jobs, scores: Vec::new(), sent, recovered: true })
    }

    pub async fn put_back(&self, lane: &Lane, marker: Marker) {
        let mut put_back = redis::cmd("ZADD");
        // An earlier job may have come since the marker was popped.
        put_back.arg(lane.keys.marker()).arg("LT").arg(marker.score).arg(marker.member);
        // Best effort: without it other workers wake at their next drain delay.
        let _ = self.link.call(&put_back, Retry::Safe).await;
    }
}

/// Send a fetch.
pub async fn fetch(link: &Link, options: &WorkerOptions, sent: &SentFetch) -> Result<Fetched> {
    let request = &sent.request;
    fetch_by(link, options, &request.lane, sent.now, &fetch_plan(options, request)).await
}

/// Fetch the next jobs of a queue, or those among them that a worker with a profile may take.
pub async fn fetch_by(
    link: &Link,
    options: &WorkerOptions,
    lane: &Lane,
    now: i64,
    plan: &FetchPlan<'_>,
) -> Result<Fetched> {
    match options.scan(lane) {
        Some(scan) => scan_jobs(link, &lane.keys, now, plan, scan).await,
        None => move_to_active(link, &lane.keys, now, plan).await,
    }
}
