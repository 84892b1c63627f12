//! Records the starts of jobs that were claimed ahead.

use std::sync::Arc;

use crate::connection::Link;
use crate::error::Result;
use crate::scripts::fetch::{start_jobs, Started};
use crate::worker::held::HeldJob;
use crate::worker::options::WorkerOptions;

/// Stamp jobs of one queue that their fetch did not stamp.
///
/// # Errors
/// Errors of the server and of the connection. A stamp that may not have arrived is sent again with the job's outcome.
pub async fn stamp_jobs(link: &Link, worker: &WorkerOptions, jobs: &[Arc<HeldJob>]) -> Result<()> {
    let starts: Vec<Started<'_>> = jobs.iter().filter_map(|job| job.unstamped()).collect();
    let Some(first) = jobs.first().filter(|_| !starts.is_empty()) else { return Ok(()) };
    jobs.iter().for_each(|job| job.mark_stamping());
    start_jobs(link, &first.lane.keys, worker.worker_name.as_deref(), &starts).await?;
    jobs.iter().for_each(|job| job.mark_stamped());
    Ok(())
}
