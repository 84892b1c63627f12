//! What a fetch asks for, and the jobs it brings.

use std::sync::Arc;
use std::time::Instant;

use crate::clock::now_ms;
use crate::protocol::JobRecord;
use crate::scripts::fetch::FetchPlan;
use crate::worker::held::Claim;
use crate::worker::lanes::Lane;
use crate::worker::options::WorkerOptions;

/// How many jobs a worker has room for.
#[derive(Clone, Copy)]
pub struct Room {
    /// How many jobs at most.
    pub count: usize,
    /// How many of them start now; the others are claimed ahead.
    pub slots: usize,
    /// Nothing else is in hand.
    pub alone: bool,
    /// When the engine began to decide: a limit or a pause that came later was not considered.
    pub decided: Instant,
}

/// What a fetch asks for.
#[derive(Clone)]
pub struct FetchRequest {
    pub lane: Arc<Lane>,
    pub token: Arc<str>,
    pub room: Room,
    /// One of several markers that were set at once has led to it.
    pub fanned_out: bool,
    /// A marker has led to it.
    pub woken: bool,
}

/// A fetch as it was sent.
#[derive(Clone)]
pub struct SentFetch {
    pub request: FetchRequest,
    /// When it was sent: the locks are not older.
    pub at: Instant,
    /// The same in milliseconds since the epoch: jobs are stamped with it.
    pub now: i64,
    /// How often the connection broke when its jobs were to come once more.
    pub breaks: u32,
}

impl SentFetch {
    pub fn now(request: FetchRequest) -> Self {
        Self { request, at: Instant::now(), now: now_ms(), breaks: 0 }
    }
}

/// The jobs of one fetch, with what is needed to hold them.
pub struct FetchedBatch {
    pub jobs: Vec<JobRecord>,
    /// The scores of the last jobs: those that were prioritized.
    pub scores: Vec<String>,
    pub sent: SentFetch,
    pub recovered: bool,
}

impl FetchedBatch {
    /// How the job at a position was claimed.
    pub fn claim(&self, position: usize) -> Claim {
        let SentFetch { request, now, .. } = &self.sent;
        let job = &self.jobs[position];
        match self.recovered {
            // A fetch that stopped half-way has not stamped all jobs.
            true if job.number("processedOn") == *now => Claim::Recovered,
            false if position < request.room.slots => Claim::Stamped(*now),
            _ => Claim::Ahead,
        }
    }

    /// The score in `prioritized` of the job at a position.
    pub fn score(&self, position: usize) -> Option<Box<str>> {
        let first = self.jobs.len().saturating_sub(self.scores.len());
        self.scores.get(position.checked_sub(first)?).map(|score| score.as_str().into())
    }
}

/// The fetch part of a fetch or finish call.
pub fn fetch_plan<'a>(worker: &'a WorkerOptions, request: &'a FetchRequest) -> FetchPlan<'a> {
    FetchPlan {
        count: request.room.count,
        slots: request.room.slots,
        stalled_limit: Some(worker.max_stalled_count),
        alone: request.room.alone,
        token: &request.token,
        lock_duration: i64::try_from(worker.lock_duration.as_millis()).unwrap_or(i64::MAX),
        shared_limit: request.lane.shared_limit.as_ref(),
        limiter: worker.limiter.map(|limiter| (limiter.max, limiter.duration_ms)),
        worker_name: worker.worker_name.as_deref(),
        fan_out: worker.fan_out,
    }
}
