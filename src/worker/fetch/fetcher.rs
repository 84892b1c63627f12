//! Fetches jobs.

use std::sync::Arc;

use redis::{Cmd, Value};

use super::marker_waiter::Marker;
use super::request::{fetch_plan, FetchRequest, FetchedBatch, Room, SentFetch};
use crate::clock::now_ms;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::due::last_score;
use crate::scripts::fetch::{active_ids, move_to_active, recover_active, FetchPlan, Fetched};
use crate::scripts::route::scan_jobs;
use crate::worker::lanes::Lane;
use crate::worker::options::WorkerOptions;

/// So often a reply with the same jobs breaks the connection before they are taken for the cause.
pub const MAX_BREAKS: u32 = 2;

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

    /// Find the jobs of a fetch whose reply got lost, by its token. One try: if the reply breaks the connection, it
    /// would do so again.
    pub async fn recover(&self, sent: SentFetch) -> Result<FetchedBatch> {
        let FetchRequest { lane, token, .. } = &sent.request;
        let jobs = recover_active(&self.link, &lane.keys, token, [], Retry::Never).await?;
        Ok(FetchedBatch { jobs, scores: Vec::new(), sent, recovered: true })
    }

    /// Find the jobs of a fetch one by one, when the reply with all of them broke the connection again and again.
    /// Returns also the ids of the jobs that did so alone.
    pub async fn recover_apart(&self, sent: SentFetch) -> Result<(FetchedBatch, Vec<Arc<str>>)> {
        let FetchRequest { lane, token, .. } = &sent.request;
        let ids = active_ids(&self.link, &lane.keys, token).await?;
        let (mut jobs, mut breaking) = (Vec::new(), Vec::new());
        for id in &ids {
            let mut breaks = 0;
            while breaks < MAX_BREAKS {
                let others = ids.iter().filter(|other| *other != id).map(|other| &**other);
                match recover_active(&self.link, &lane.keys, token, others, Retry::Never).await {
                    Ok(found) => {
                        jobs.extend(found.into_iter().filter(|job| job.id == *id));
                        break;
                    }
                    Err(Error::OutcomeUnknown(_)) => breaks += 1,
                    Err(error) => return Err(error),
                }
                // What does not come now either is no fault of that job.
                active_ids(&self.link, &lane.keys, token).await?;
            }
            if breaks == MAX_BREAKS {
                breaking.push(id.clone());
            }
        }
        Ok((FetchedBatch { jobs, scores: Vec::new(), sent, recovered: true }, breaking))
    }

    /// Take the plain markers of these lanes, as a wait would. If the reply gets lost, markers may be, too: look for
    /// jobs.
    pub async fn take_markers(&self, lanes: &[Arc<Lane>]) -> Result<Vec<Marker>> {
        let commands: Vec<_> = lanes.iter().map(|lane| Cmd::zrem(lane.keys.marker(), Marker::PLAIN)).collect();
        let taken = lanes.iter().zip(self.link.pipeline(&commands, Retry::Never).await?);
        // What Redis refuses is reported by the next fetch.
        let taken = taken.filter(|(_, taken)| *taken == Ok(Value::Int(1)));
        Ok(taken.map(|(lane, _)| Marker::plain(lane.position)).collect())
    }

    /// Why Redis refuses the marker of each of these lanes, if it does. Asked by a command that needs the rights of a
    /// wait and changes nothing.
    pub async fn refused_markers(&self, lanes: &[Arc<Lane>]) -> Result<Vec<Option<Error>>> {
        let commands: Vec<_> = lanes.iter().map(|lane| Cmd::zrem(lane.keys.marker(), "")).collect();
        let replies = self.link.pipeline(&commands, Retry::Look).await?;
        Ok(replies.into_iter().map(|reply| reply.err().filter(Error::is_about_keys)).collect())
    }

    /// Those of the lanes that have jobs that may run, and if `marked` also a marker. A marker alone may be left from
    /// jobs that another look has found.
    pub async fn with_jobs(&self, mut lanes: Vec<Arc<Lane>>, marked: bool) -> Result<Vec<Arc<Lane>>> {
        let now = now_ms();
        if marked {
            lanes = self.those(lanes, |lane| [Cmd::zcount(lane.keys.marker(), "-inf", now)]).await?;
        }
        let jobs = |lane: &Lane| {
            let due = Cmd::zcount(lane.keys.of("delayed"), "-inf", last_score(now));
            [Cmd::llen(lane.keys.of("wait")), Cmd::zcard(lane.keys.of("prioritized")), due]
        };
        self.those(lanes, jobs).await
    }

    /// Those of the lanes for which one of the commands counts anything, or is refused: a fetch says what is wrong.
    async fn those<const N: usize>(
        &self,
        lanes: Vec<Arc<Lane>>,
        counts: impl Fn(&Lane) -> [Cmd; N],
    ) -> Result<Vec<Arc<Lane>>> {
        if lanes.is_empty() {
            return Ok(lanes);
        }
        let commands: Vec<_> = lanes.iter().flat_map(|lane| counts(lane)).collect();
        let found = self.link.pipeline(&commands, Retry::Look).await?;
        let found = lanes.into_iter().zip(found.chunks(N));
        Ok(found
            .filter(|(_, counts)| counts.iter().any(|count| *count != Ok(Value::Int(0))))
            .map(|(lane, _)| lane)
            .collect())
    }

    pub async fn put_back(&self, markers: Vec<(Arc<Lane>, Marker)>) {
        if markers.is_empty() {
            return;
        }
        let commands = markers.into_iter().map(|(lane, marker)| {
            let mut put_back = redis::cmd("ZADD");
            // An earlier job may have come since the marker was popped.
            put_back.arg(lane.keys.marker()).arg("LT").arg(marker.score).arg(marker.member);
            put_back
        });
        let commands: Vec<_> = commands.collect();
        // Best effort: without it other workers wake at their next drain delay.
        let _ = self.link.pipeline(&commands, Retry::Safe).await;
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
