//! Jobs that have a parent, children or a deduplication id.

use std::collections::BTreeSet;

use redis::Value;

use super::super::hint::{eval_and_wake, Wake};
use super::super::oom_wait::OomWait;
use super::super::{flag, lua, Call};
use super::count_as;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::keys::hash_tag;
use crate::protocol::{due, reply, Keys};

/// Where the ids of a run come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    Counter,
    /// Given by the caller; also stored in `opts.jobId`.
    Custom,
    /// Made by the client, such as the UUIDs of a flow.
    Made,
}

/// The parent of a job: its key, and the job's `parent` field (JSON).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent<'a> {
    pub key: &'a str,
    pub json: &'a str,
}

/// The deduplication of a job. `ttl` in ms, 0 = none; `flags`: e = extend, r = replace, k = keep the last one if
/// active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deduplication<'a> {
    pub id: &'a str,
    pub ttl: i64,
    pub flags: &'a str,
}

/// The values that consecutive jobs share. `queue` is `<prefix>:<name>:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkedRun<'a> {
    pub queue: &'a str,
    pub name: &'a str,
    pub opts: &'a [u8],
    pub timestamp: i64,
    pub delay: i64,
    pub priority: i64,
    pub lifo: bool,
    pub ids: Ids,
    /// It waits for children.
    pub is_parent: bool,
    pub parent: Option<Parent<'a>>,
    pub deduplication: Option<Deduplication<'a>>,
}

impl LinkedRun<'_> {
    fn is_ready_in(&self, queue: &str) -> bool {
        self.queue == queue && self.delay <= 0 && !self.is_parent
    }
}

/// One job to add. `id` is unused when the counter gives it.
#[derive(Clone, Copy, Debug)]
pub struct LinkedJob<'a> {
    pub run: LinkedRun<'a>,
    pub id: &'a str,
    pub data: &'a [u8],
}

/// A call and what is needed to read its reply. It is sent again only if the jobs in Redis can prove that it was
/// executed.
pub struct LinkedCall {
    call: Call,
    retry: Retry,
    ids: Vec<String>,
    parents: Vec<String>,
    queues: BTreeSet<String>,
    /// How many jobs of the first job's queue may run now.
    ready: usize,
    /// The error if a job of it would be due too late.
    due: Result<()>,
}

/// The result for the jobs of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedLinkedJobs {
    /// Per job its id, or the id of the job that replaces it.
    pub ids: Vec<String>,
    /// Positions of the jobs that were not stored: the id existed, or another job replaces it.
    pub left_out: Vec<usize>,
    /// The positions among them of the jobs that their parent does not wait for: they have another parent, or are
    /// deduplicated.
    pub unattached: Vec<usize>,
}

/// Builds a call of [`add_linked_jobs`]; `keys` are those of the first job's queue, where jobs are counted under the
/// batch id.
#[must_use]
pub fn add_linked_jobs_call(keys: &Keys, jobs: &[LinkedJob<'_>], batch_id: Option<&str>, fan_out: bool) -> LinkedCall {
    let bytes = jobs.iter().map(|job| job.id.len() + job.data.len() + 32).sum();
    let mut call = Call::with_capacity(&lua::add::ADD_LINKED_JOBS, keys, 2 * jobs.len() + 16, bytes);
    // An id that was made for this call exists in Redis only if the call was executed: that proves it. A call whose
    // reply also had ids from the counter or from deduplication cannot be sent again, since those would be lost.
    let made = jobs.iter().find(|job| job.run.ids == Ids::Made);
    let known = jobs.iter().all(|job| job.run.ids != Ids::Counter && job.run.deduplication.is_none());
    let proof_key = made.filter(|_| known).map(|job| format!("{}{}", job.run.queue, job.id));
    let retry = if proof_key.is_some() { Retry::Safe } else { Retry::Never };
    count_as(&mut call, batch_id);
    call.optional(proof_key);
    for run in jobs.chunk_by(|left, right| left.run == right.run) {
        let LinkedRun { queue, name, opts, timestamp, delay, priority, lifo, ids, is_parent, parent, deduplication } =
            run[0].run;
        call.arg(run.len()).arg(queue).arg(name).arg(opts).arg(timestamp).arg(delay).arg(priority).arg(flag(lifo));
        call.arg(match ids {
            Ids::Counter => "0",
            Ids::Custom => "1",
            Ids::Made => "2",
        });
        call.arg(flag(is_parent));
        call.optional(parent.map(|parent| parent.key)).optional(parent.map(|parent| parent.json));
        call.optional(deduplication.map(|rule| rule.id)).arg(deduplication.map_or(0, |rule| rule.ttl));
        call.optional(deduplication.map(|rule| rule.flags));
        for job in run {
            if ids != Ids::Counter {
                call.arg(job.id);
            }
            call.arg(job.data);
        }
    }
    call.fan_out(fan_out);
    LinkedCall {
        call,
        retry,
        ids: jobs.iter().map(|job| job.id.to_owned()).collect(),
        parents: jobs.iter().map(|job| job.run.parent.map_or("", |parent| parent.key).to_owned()).collect(),
        ready: jobs.iter().filter(|job| job.run.is_ready_in(keys.base())).count(),
        queues: jobs.iter().map(|job| job.run.queue.to_owned()).collect(),
        due: jobs.iter().try_for_each(|job| due::check_delay(job.run.timestamp, job.run.delay)),
    }
}

/// Adds all jobs of a call, whose first job has these keys, or none if a parent outside of it does not allow it. If the
/// reply gets lost it is sent again only if Redis can prove whether it was executed.
///
/// # Errors
/// [`Error::Code`] -5 (a parent does not exist) or -7 (a job has another parent), with nothing added;
/// [`Error::OutcomeUnknown`] when the reply got lost and nothing proves whether it was executed.
pub async fn add_linked_jobs(
    link: &Link,
    keys: &Keys,
    jobs: &LinkedCall,
    wake: Wake,
    oom_wait: Option<&OomWait>,
) -> Result<AddedLinkedJobs> {
    let hint = wake.hint(keys, jobs.ready);
    eval_and_wake(link, &jobs.call, jobs.retry, hint.as_ref(), oom_wait, |reply| read_added(jobs, reply)).await
}

fn read_added(jobs: &LinkedCall, reply: Value) -> Result<AddedLinkedJobs> {
    let Value::Array(parts) = reply else {
        return Ok(AddedLinkedJobs { ids: jobs.ids.clone(), ..AddedLinkedJobs::default() });
    };
    let position = |value| Ok(usize::try_from(reply::integer(value)?).unwrap_or(usize::MAX));
    let positions = |list: Option<Value>| -> Result<Vec<usize>> {
        reply::array(list.unwrap_or(Value::Nil))?.into_iter().map(position).collect()
    };
    let mut parts = parts.into_iter();
    match (parts.next(), parts.next()) {
        (Some(Value::Int(code)), Some(at)) => {
            let parent = jobs.parents.get(position(at)?).map_or("", String::as_str);
            Err(Error::code(code, parent, "addJob", ""))
        }
        (ids, left_out) => Ok(AddedLinkedJobs {
            ids: reply::texts(ids.unwrap_or(Value::Nil))?,
            left_out: positions(left_out)?,
            unattached: positions(parts.next())?,
        }),
    }
}

impl LinkedCall {
    /// The number of jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Checks that no job of it would be due too late.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] when one would be.
    pub fn check_due(&self) -> Result<()> {
        self.due.clone()
    }

    /// Checks that all its keys are in one slot of a cluster: otherwise the cluster would stop the script half-way.
    ///
    /// # Errors
    /// [`Error::QueueName`] when they are not.
    pub fn check_slot(&self) -> Result<()> {
        let keys = self.queues.iter().chain(self.parents.iter().filter(|key| !key.is_empty()));
        let tags: BTreeSet<Option<&str>> = keys.map(|key| hash_tag(key)).collect();
        if tags.len() == 1 && !tags.contains(&None) {
            return Ok(());
        }
        let queues: Vec<&str> = self.queues.iter().map(|queue| queue.trim_end_matches(':')).collect();
        Err(Error::QueueName(format!(
            "Redis runs as a cluster, so parents and children must share a hash tag: use one prefix such as \
             \"{{bull}}\" for {}",
            queues.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: LinkedRun<'_> = LinkedRun {
        queue: "bull:a:",
        name: "n",
        opts: b"{}",
        timestamp: 1,
        delay: 0,
        priority: 0,
        lifo: false,
        ids: Ids::Made,
        is_parent: false,
        parent: None,
        deduplication: None,
    };

    fn call(runs: &[LinkedRun<'_>]) -> LinkedCall {
        let jobs: Vec<LinkedJob<'_>> = runs.iter().map(|&run| LinkedJob { run, id: "x", data: b"1" }).collect();
        add_linked_jobs_call(&Keys::new("bull", "q").unwrap(), &jobs, None, false)
    }

    fn at<'a>(queue: &'a str, parent: Option<&'a str>) -> LinkedRun<'a> {
        LinkedRun { queue, parent: parent.map(|key| Parent { key, json: "{}" }), ..RUN }
    }

    #[test]
    fn jobs_of_one_hash_tag_may_be_added_to_a_cluster() {
        assert!(call(&[at("{bull}:a:", None), at("{bull}:b:", Some("{bull}:c:1"))]).check_slot().is_ok());
    }

    #[test]
    fn jobs_of_several_slots_are_refused_by_a_cluster() {
        let scattered =
            [&[at("bull:a:", None)][..], &[at("{a}:a:", None), at("{b}:a:", None)], &[at("{a}:a:", Some("{b}:a:1"))]];
        for runs in scattered {
            let error = call(runs).check_slot().unwrap_err().to_string();
            assert!(error.contains("must share a hash tag"), "{error}");
        }
    }

    #[test]
    fn only_a_call_with_a_proof_key_is_sent_again() {
        let deduplication = Some(Deduplication { id: "d", ttl: 0, flags: "" });
        assert_eq!(call(&[RUN]).retry, Retry::Safe);
        assert_eq!(call(&[RUN, LinkedRun { ids: Ids::Custom, ..RUN }]).retry, Retry::Safe);
        assert_eq!(call(&[LinkedRun { ids: Ids::Custom, ..RUN }]).retry, Retry::Never);
        assert_eq!(call(&[RUN, LinkedRun { ids: Ids::Counter, ..RUN }]).retry, Retry::Never);
        assert_eq!(call(&[RUN, LinkedRun { deduplication, ..RUN }]).retry, Retry::Never);
    }
}
