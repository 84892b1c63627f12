//! Adds the next job of a job scheduler before its current job runs.

use std::sync::Arc;
use std::time::Duration;

use super::held::HeldJob;
use super::outcome::Outcome;
use super::state::WorkerState;
use crate::clock::now_ms;
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::queue::schedulers::{add_scheduler_iteration, LatestJob};

const TRIES: usize = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(2500);
/// The longest delay (ms) of a job whose successor could not be added.
const LONGEST_DELAY: i64 = 300_000;

/// Add the job's successor, then pass the job to the handlers. If the successor cannot be added, the job is delayed,
/// not run: without a successor the scheduler would stop.
pub async fn produce_next(state: Arc<WorkerState>, link: Link, job: Arc<HeldJob>) {
    let mut tries = 1;
    let error = loop {
        match produce(&link, &job).await {
            Ok(()) => return state.hand_out(vec![job]),
            Err(Error::Closed) => return,
            Err(error) if tries < TRIES && !matches!(error, Error::InvalidOption(_)) => {
                tries += 1;
                state.error(error.to_string());
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            Err(error) => break error,
        }
    };
    state.error(format!("Failed to add repeatable job for next iteration: {error}"));
    let delay = delay_instead(&job);
    state.submit(Outcome::Deferred { job, delay });
}

/// The delay of a job whose successor could not be added: twice as long each time.
pub fn delay_instead(job: &HeldJob) -> i64 {
    1000_i64.saturating_mul(1 << job.record.ats().clamp(0, 20)).min(LONGEST_DELAY)
}

/// Add the job's successor, if it is a scheduler's job and the series is not over.
pub async fn produce(link: &Link, job: &HeldJob) -> Result<()> {
    let record = &job.record;
    let Some(scheduler_id) = record.text("rjk") else { return Ok(()) };
    let Ok(opts) = serde_json::from_slice(record.opts()) else { return Ok(()) };
    let latest = LatestJob { scheduler_id, job_id: &record.id, name: &record.name(), data: record.data(), opts };
    add_scheduler_iteration(link, &job.lane.keys, now_ms(), latest).await.map(drop)
}
