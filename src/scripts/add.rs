//! Adding jobs: `lua/add`.

mod linked;

use redis::Value;

pub use linked::{
    add_linked_jobs, add_linked_jobs_call, AddedLinkedJobs, Deduplication, Ids, LinkedCall, LinkedJob, LinkedRun,
    Parent,
};

use super::hint::{eval_and_wake, Wake};
use super::{eval, flag, lua, Call};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::batch::Run;
use crate::protocol::{reply, Keys};

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddedRun {
    /// Ids from the counter: this one and the following.
    From(i64),
    /// Custom ids: the positions in the run of the ids that existed before.
    Duplicates(Vec<usize>),
}

/// Adds runs of jobs in one call; one result per run. If the reply gets lost it is sent again only if all ids are
/// custom.
///
/// # Errors
/// [`Error::OutcomeUnknown`] when the reply got lost and some ids are automatic.
pub async fn add_jobs(link: &Link, keys: &Keys, runs: &[Run<'_>], wake: Wake) -> Result<Vec<AddedRun>> {
    let (call, retry) = add_jobs_call(keys, runs, None, wake.fan_out);
    let hint = wake.hint(keys, ready_jobs(runs));
    let custom_ids: Vec<bool> = runs.iter().map(|run| run.custom_ids).collect();
    eval_and_wake(link, &call, retry, hint.as_ref(), None, |reply| read_added(reply, &custom_ids)).await
}

/// How many of these jobs may run now.
pub(crate) fn ready_jobs(runs: &[Run<'_>]) -> usize {
    runs.iter().filter(|run| run.delay <= 0).map(Run::len).sum()
}

/// Builds the call of [`add_jobs`], so that it can outlive the runs. Redis counts the jobs that it adds under the batch
/// id.
pub(crate) fn add_jobs_call(keys: &Keys, runs: &[Run<'_>], batch_id: Option<&str>, fan_out: bool) -> (Call, Retry) {
    let args: usize = runs.iter().map(|run| 8 + run.len() * (1 + usize::from(run.custom_ids))).sum();
    let bytes = runs.iter().map(|run| run.size() + run.name.len() + run.opts.len() + 64).sum();
    let mut call = Call::with_capacity(&lua::add::ADD_JOBS, keys, args + 3, bytes);
    count_as(&mut call, batch_id);
    for run in runs {
        call.arg(run.len()).arg(run.name).arg(run.opts).arg(run.timestamp);
        call.arg(run.delay).arg(run.priority).arg(flag(run.lifo)).arg(flag(run.custom_ids));
        for (id, data) in run.jobs() {
            if run.custom_ids {
                call.arg(id);
            }
            call.arg(data);
        }
    }
    call.fan_out(fan_out);
    call.number();
    let retry = if runs.iter().all(|run| run.custom_ids) { Retry::Safe } else { Retry::Never };
    (call, retry)
}

/// Begins the arguments of a call whose added jobs are counted.
fn count_as(call: &mut Call, batch_id: Option<&str>) {
    if let Some(batch_id) = batch_id {
        call.arg("batch").arg(batch_id);
    }
}

/// Reads the reply of [`add_jobs_call`]; `custom_ids` says of each run whether its ids are custom.
pub(crate) fn read_added(reply: Value, custom_ids: &[bool]) -> Result<Vec<AddedRun>> {
    let position = |value| Ok(usize::try_from(reply::integer(value)?).unwrap_or(usize::MAX));
    let read = |(value, &custom): (Value, &bool)| {
        Ok(if custom {
            AddedRun::Duplicates(reply::array(value)?.into_iter().map(position).collect::<Result<_>>()?)
        } else {
            AddedRun::From(reply::integer(value)?)
        })
    };
    let results = reply::array(reply)?;
    if results.len() != custom_ids.len() {
        return Err(Error::wrong_shape(&format!("{} answers of add_jobs, got {}", custom_ids.len(), results.len())));
    }
    results.into_iter().zip(custom_ids).map(read).collect()
}

/// The iteration that follows the scheduler's latest job.
#[derive(Clone, Copy, Debug)]
pub struct NextIteration<'a> {
    pub scheduler_id: &'a str,
    /// The id of the latest job.
    pub producer_id: &'a str,
    /// When the cron pattern fires (ms); `None` for `every`, whose slot the script computes.
    pub cron_next: Option<i64>,
    /// Milliseconds between iterations, as the latest job has it.
    pub every: Option<i64>,
    pub name: &'a str,
    pub data: &'a [u8],
    pub opts: &'a str,
    pub priority: i64,
    pub lifo: bool,
    pub deduplication_id: Option<&'a str>,
}

/// Adds the next job of a scheduler, once per latest job. Returns its id; `None` if no job follows.
///
/// # Errors
/// What [`eval`] returns.
pub async fn add_scheduler_iteration(
    link: &Link,
    keys: &Keys,
    now: i64,
    next: &NextIteration<'_>,
) -> Result<Option<String>> {
    let mut call = Call::new(&lua::add::ADD_SCHEDULER_ITERATION, keys);
    call.arg(now).arg(next.scheduler_id).arg(next.producer_id);
    call.optional(next.cron_next).optional(next.every).arg(next.name).arg(next.data);
    call.arg(next.opts).arg(next.priority).arg(flag(next.lifo)).optional(next.deduplication_id);
    let read = |reply| match reply {
        Value::Nil => Ok(None),
        id => reply::text(id).map(Some),
    };
    eval(link, &call, Retry::Safe, read).await
}

/// A scheduler and its first job.
#[derive(Clone, Copy, Debug)]
pub struct NewScheduler<'a> {
    pub id: &'a str,
    /// When the cron pattern fires (ms); `None` for `every`, whose slot the script computes.
    pub cron_next: Option<i64>,
    pub every: Option<i64>,
    pub start_date: Option<i64>,
    pub name: &'a str,
    pub data: &'a [u8],
    /// The first job's options, without what depends on its slot.
    pub opts: &'a str,
    pub priority: i64,
    pub lifo: bool,
    pub deduplication_id: Option<&'a str>,
    /// The fields of the scheduler's hash.
    pub fields: &'a [(&'a str, String)],
}

/// Creates or updates a scheduler. Returns its next job's id and delay in ms.
///
/// # Errors
/// [`Error::Code`] -10, -11.
pub async fn add_job_scheduler(
    link: &Link,
    keys: &Keys,
    now: i64,
    scheduler: &NewScheduler<'_>,
) -> Result<(String, i64)> {
    let mut call = Call::new(&lua::add::ADD_JOB_SCHEDULER, keys);
    call.arg(now).arg(scheduler.id).optional(scheduler.cron_next).optional(scheduler.every);
    call.optional(scheduler.start_date).arg(scheduler.name).arg(scheduler.data).arg(scheduler.opts);
    call.arg(scheduler.priority).arg(flag(scheduler.lifo)).optional(scheduler.deduplication_id);
    for (field, value) in scheduler.fields {
        call.arg(field).arg(value);
    }
    let read = |reply| match reply {
        Value::Int(code) => Err(Error::code(code, scheduler.id, "addJobScheduler", "")),
        reply => {
            let mut parts = reply::exactly(2, reply)?.into_iter();
            let mut next = || parts.next().unwrap_or(Value::Nil);
            Ok((reply::text(next())?, reply::integer(next())?))
        }
    };
    eval(link, &call, Retry::InOrder, read).await
}
