//! The end of a job, read from Redis.

use super::{ask_each, command};
use crate::connection::Link;
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// What is known of the end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    Gone,
    Unfinished,
    /// With the JSON of its result.
    Completed(Vec<u8>),
    /// With the reason.
    Failed(Vec<u8>),
}

/// Looks in one round trip how a job ended.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn job_end(link: &Link, keys: &Keys, id: &str) -> Result<JobState> {
    let job = keys.job(id);
    let [completed, failed, fields, exists] = ask_each(
        link,
        [
            command("ZSCORE", &[&keys.of("completed"), id]),
            command("ZSCORE", &[&keys.of("failed"), id]),
            command("HMGET", &[&job, "returnvalue", "failedReason"]),
            // The last command, so that it sees a job that was removed between the commands.
            command("EXISTS", &[&job]),
        ],
    )
    .await?;
    let mut fields = reply::per_member(2, fields)?.into_iter();
    let mut next = || fields.next().flatten().unwrap_or_else(|| b"null".to_vec());
    let (result, reason) = (next(), next());
    let (completed, failed) = (reply::optional(completed)?, reply::optional(failed)?);
    Ok(match (reply::yes(exists)?, completed, failed) {
        (false, ..) => JobState::Gone,
        (true, Some(_), _) => JobState::Completed(result),
        (true, None, Some(_)) => JobState::Failed(reason),
        (true, None, None) => JobState::Unfinished,
    })
}
