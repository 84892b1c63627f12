//! Reads that need no script: one round trip of plain commands each, and what they found as values with types. A file
//! per subject.

pub mod batches;
pub mod children;
pub mod counts;
pub mod due_work;
pub mod finished;
pub mod job_end;
pub mod limits;
pub mod listing;
pub mod locks;
pub mod metrics;
pub mod orphans;
pub mod overview;
pub mod place;
pub mod profiles;
pub mod runs;
pub mod schedulers;
pub mod servers;
pub mod workers;

use std::time::Duration;

use redis::{Cmd, ToRedisArgs, Value};

use crate::connection::{Link, Numbers, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Keys};

/// The fields of a hash.
pub type Fields = Vec<(String, Vec<u8>)>;

/// A command with these arguments.
pub fn command(name: &str, args: &[impl ToRedisArgs]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(args);
    command
}

/// Sends reads in one write. Any error reply is the error of all.
async fn ask(link: &Link, commands: &[Cmd]) -> Result<Vec<Value>> {
    link.pipeline(commands, Retry::Look).await?.into_iter().collect()
}

/// As [`ask`], for a fixed number of reads.
async fn ask_each<const N: usize>(link: &Link, commands: [Cmd; N]) -> Result<[Value; N]> {
    ask(link, &commands).await?.try_into().map_err(|_| Error::Closed)
}

/// As [`ask`]; says for how long Redis was busy with it, too, by its own clock.
async fn ask_timed(link: &Link, commands: Vec<Cmd>, numbers: Numbers) -> Result<(Vec<Value>, Duration)> {
    let time = || std::iter::once(redis::cmd("TIME"));
    let commands: Vec<Cmd> = time().chain(commands).chain(time()).collect();
    let mut replies = link.read_many(&commands, numbers).await?.into_iter().collect::<Result<Vec<_>>>()?;
    let ended = replies.pop().ok_or(Error::Closed)?;
    let busy = reply::micros(ended)?.saturating_sub(reply::micros(replies.remove(0))?);
    Ok((replies, Duration::from_micros(u64::try_from(busy).unwrap_or(0))))
}

/// For each job the values of these fields of its hash; nothing where it has none.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn job_fields(
    link: &Link,
    keys: &Keys,
    ids: &[String],
    fields: &[String],
) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
    let values = ask(link, &reads_of_fields(keys, ids, fields)).await?;
    values.into_iter().map(|values| reply::per_member(fields.len(), values)).collect()
}

/// As [`job_fields`]; says for how long Redis was busy with it, too.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn job_fields_timed(
    link: &Link,
    keys: &Keys,
    ids: &[String],
    fields: &[String],
) -> Result<(Vec<Vec<Option<Vec<u8>>>>, Duration)> {
    let (values, busy) = ask_timed(link, reads_of_fields(keys, ids, fields), Numbers::Between).await?;
    let values = values.into_iter().map(|values| reply::per_member(fields.len(), values));
    Ok((values.collect::<Result<_>>()?, busy))
}

/// Jobs whose fields are read, and jobs of which only the length is asked for.
pub struct FieldsAndLengths<'a> {
    pub ids: &'a [String],
    pub fields: &'a [String],
    pub measured: &'a [String],
    /// How many bytes these fields have together is the length of a job.
    pub measured_fields: &'a [&'a str],
}

/// In one pipeline the fields of some jobs and the lengths of others. Says for how long Redis was busy with it, too.
/// Replies may have changed places: where that matters, the jobs are read again by [`job_fields_timed`].
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn fields_and_lengths_timed(
    link: &Link,
    keys: &Keys,
    asked: &FieldsAndLengths<'_>,
) -> Result<(Vec<Vec<Option<Vec<u8>>>>, Vec<usize>, Duration)> {
    let length = |id: &String, field: &&str| command("HSTRLEN", &[keys.job(id).as_str(), field]);
    let lengths = asked.measured.iter().flat_map(|id| asked.measured_fields.iter().map(move |field| length(id, field)));
    let mut reads = reads_of_fields(keys, asked.ids, asked.fields);
    reads.extend(lengths);
    // A number behind each reply would cost Redis half as much as the replies.
    let (mut values, busy) = ask_timed(link, reads, Numbers::Behind).await?;
    let lengths = values.split_off(asked.ids.len());
    let values = values.into_iter().map(|values| reply::per_member(asked.fields.len(), values));
    let lengths: Vec<i64> = lengths.into_iter().map(reply::integer).collect::<Result<_>>()?;
    let sum = |of_job: &[i64]| usize::try_from(of_job.iter().sum::<i64>()).unwrap_or(0);
    let lengths = lengths.chunks(asked.measured_fields.len().max(1)).map(sum).collect();
    Ok((values.collect::<Result<_>>()?, lengths, busy))
}

fn reads_of_fields(keys: &Keys, ids: &[String], fields: &[String]) -> Vec<Cmd> {
    let read = |id: &String| {
        let mut read = command("HMGET", &[&keys.job(id)]);
        read.arg(fields);
        read
    };
    ids.iter().map(read).collect()
}

/// The fields of these hashes, by their whole keys; none for a key that does not exist.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn hashes(link: &Link, keys: &[String]) -> Result<Vec<Fields>> {
    let reads: Vec<Cmd> = keys.iter().map(|key| command("HGETALL", &[key])).collect();
    ask(link, &reads).await?.into_iter().map(reply::pairs).collect()
}
