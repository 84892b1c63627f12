//! Keeps a job scheduler's chain going: its next iteration exists before this one runs.

use std::sync::Arc;
use std::time::Duration;

use super::held::HeldJob;
use super::outcome::Outcome;
use super::shared::Shared;
use crate::clock::now_ms;
use crate::connection::Link;
use crate::error::{Error, Result};
use crate::protocol::Keys;
use crate::queue::schedulers::{add_scheduler_iteration, LatestJob};

const TRIES: usize = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(2500);
/// The longest a job waits whose successor could not be made.
const LONGEST_DELAY: i64 = 300_000;

/// Make the job's successor, then hand the job out. A job whose successor cannot be made is delayed, not run: running
/// it would end the chain.
pub async fn produce_next(shared: Arc<Shared>, link: Link, keys: Keys, job: Arc<HeldJob>) {
    let mut tries = 1;
    let error = loop {
        match produce(&link, &keys, &job).await {
            Ok(()) => return shared.hand_out(vec![job]),
            Err(Error::Closed) => return,
            Err(error) if tries < TRIES && !matches!(error, Error::InvalidOption(_)) => {
                tries += 1;
                shared.error(error.to_string());
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            Err(error) => break error,
        }
    };
    shared.error(format!("Failed to add repeatable job for next iteration: {error}"));
    let delay = delay_instead(&job);
    shared.submit(Outcome::Deferred { job, delay });
}

/// How long a job is put off whose successor could not be made: twice as long each time.
pub fn delay_instead(job: &HeldJob) -> i64 {
    1000_i64.saturating_mul(1 << job.record.ats().clamp(0, 20)).min(LONGEST_DELAY)
}

/// Make the job's successor, if it is a scheduler's job and the series goes on.
pub async fn produce(link: &Link, keys: &Keys, job: &HeldJob) -> Result<()> {
    let record = &job.record;
    let Some(scheduler_id) = record.text("rjk") else { return Ok(()) };
    let Ok(opts) = serde_json::from_slice(record.opts()) else { return Ok(()) };
    let latest = LatestJob { scheduler_id, job_id: &record.id, name: &record.name(), data: record.data(), opts };
    add_scheduler_iteration(link, keys, now_ms(), latest).await.map(drop)
}
