//! Queues of Bull, BullMQ's predecessor: `lua/legacy`. What a script gets and returns stands at the top of its file.

use redis::Value;

use super::{eval_all, lua, Call, Script};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::keys::hash_tag;
use crate::protocol::Keys;

/// Calls of one script in one pipeline: one per item.
pub struct Batch<'a> {
    pub link: &'a Link,
    pub keys: &'a Keys,
    /// The other queue that the script touches.
    pub other: Option<&'a Keys>,
    /// The arguments of each call.
    pub calls: &'a [Vec<Vec<u8>>],
}

impl Batch<'_> {
    /// Runs the calls; returns their replies in order, or the first error.
    async fn run(&self, script: &'static Script, retry: Retry) -> Result<Vec<Value>> {
        self.check_slot().await?;
        let build = |arguments: &Vec<Vec<u8>>| {
            let mut call = match self.other {
                Some(other) => Call::on_both(script, self.keys, other),
                None => Call::new(script, self.keys),
            };
            for argument in arguments {
                call.arg(argument.as_slice());
            }
            call
        };
        let calls: Vec<Call> = self.calls.iter().map(build).collect();
        eval_all(self.link, &calls, retry).await?.into_iter().collect()
    }

    /// A job with an id of its own is added once, however often the script runs.
    fn retry_of_add(&self) -> Retry {
        const CUSTOM_ID: usize = 8;
        let has_id = |call: &Vec<Vec<u8>>| call.get(CUSTOM_ID).is_some_and(|id| !id.is_empty());
        if self.calls.iter().all(has_id) {
            Retry::InOrder
        } else {
            Retry::Never
        }
    }

    /// A cluster would refuse a script that touches two slots.
    async fn check_slot(&self) -> Result<()> {
        let Some(other) = self.other else { return Ok(()) };
        if !self.link.ready().await?.cluster || in_one_slot(self.keys, other) {
            return Ok(());
        }
        Err(Error::QueueName(format!(
            "Redis runs as a cluster, and {} and {} are not in one slot: give both the same hash tag, as in prefix \
             \"{{bull}}\"",
            self.keys.base().trim_end_matches(':'),
            other.base().trim_end_matches(':'),
        )))
    }
}

/// Whether two queues share a hash tag, and so a slot of a cluster.
#[must_use]
pub fn in_one_slot(keys: &Keys, other: &Keys) -> bool {
    matches!((hash_tag(keys.base()), hash_tag(other.base())), (Some(one), Some(two)) if one == two)
}

/// Adds jobs to a queue of Bull 1.x.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn add_1(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::ADD_1, Retry::Never).await
}

/// Adds jobs to a queue of Bull 2.x.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn add_2(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::ADD_2, batch.retry_of_add()).await
}

/// Adds jobs to a queue of Bull 3.x or 4.x.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn add_3(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::ADD_3, batch.retry_of_add()).await
}

/// Moves failed jobs back to where they wait.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn retry(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::RETRY, Retry::Never).await
}

/// Takes jobs out of their places in a queue of Bull.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn claim_job(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::CLAIM_JOB, Retry::InOrder).await
}

/// Gives claimed jobs back to their places in a queue of Bull.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn return_job(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::RETURN_JOB, Retry::InOrder).await
}

/// Adds jobs of Bull that were claimed elsewhere.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn receive_job(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::RECEIVE_JOB, Retry::InOrder).await
}

/// Ends claims: the jobs leave the queue of Bull.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn acknowledge_job(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::ACKNOWLEDGE_JOB, Retry::InOrder).await
}

/// Writes how jobs ended to the queue of Bull that they came from.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn mirror_job(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::MIRROR_JOB, Retry::InOrder).await
}

/// Ends the mirroring of jobs.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn forget_mirrored(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::FORGET_MIRRORED, Retry::InOrder).await
}

/// Registers a migration at the queue that the jobs go to.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn open_migration(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::OPEN_MIGRATION, Retry::InOrder).await
}

/// Moves jobs of Bull to another queue of the same slot.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn move_job(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::MOVE_JOB, Retry::InOrder).await
}

/// Makes job schedulers of repeatables of Bull, in the same slot.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn move_repeatable(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::MOVE_REPEATABLE, Retry::InOrder).await
}

/// Makes job schedulers of repeatables of Bull that are elsewhere.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn receive_repeatable(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::RECEIVE_REPEATABLE, Retry::InOrder).await
}

/// Removes repeatables of Bull that are job schedulers elsewhere.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn drop_repeatable(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::DROP_REPEATABLE, Retry::InOrder).await
}

/// Deletes the keys of a queue of Bull that has nothing left to run.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn cleanup(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::CLEANUP, Retry::InOrder).await
}

/// Schedules the next jobs of repeatables in a queue of Bull.
///
/// # Errors
/// What [`eval_all`] returns.
pub async fn schedule_repeatable(batch: &Batch<'_>) -> Result<Vec<Value>> {
    batch.run(&lua::legacy::SCHEDULE_REPEATABLE, Retry::InOrder).await
}

/// Runs a script of the family by its name.
///
/// # Errors
/// What the script's function returns.
pub async fn by_name(name: &str, batch: &Batch<'_>) -> Result<Vec<Value>> {
    match name {
        "add_1" => add_1(batch).await,
        "add_2" => add_2(batch).await,
        "add_3" => add_3(batch).await,
        "retry" => retry(batch).await,
        "claim_job" => claim_job(batch).await,
        "return_job" => return_job(batch).await,
        "receive_job" => receive_job(batch).await,
        "acknowledge_job" => acknowledge_job(batch).await,
        "mirror_job" => mirror_job(batch).await,
        "forget_mirrored" => forget_mirrored(batch).await,
        "open_migration" => open_migration(batch).await,
        "move_job" => move_job(batch).await,
        "move_repeatable" => move_repeatable(batch).await,
        "cleanup" => cleanup(batch).await,
        "receive_repeatable" => receive_repeatable(batch).await,
        "drop_repeatable" => drop_repeatable(batch).await,
        "schedule_repeatable" => schedule_repeatable(batch).await,
        _ => Err(Error::InvalidOption(format!("no script legacy/{name}"))),
    }
}
