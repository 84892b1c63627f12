//! Reads that need no script: one round trip of plain commands each, and what they found as values with types. A file
//! per subject.

pub mod batches;
pub mod children;
pub mod counts;
pub mod due_work;
pub mod finished;
pub mod job_end;
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

use redis::{Cmd, ToRedisArgs, Value};

use crate::connection::{Link, Retry};
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
    let read = |id: &String| {
        let mut read = command("HMGET", &[&keys.job(id)]);
        read.arg(fields);
        read
    };
    let reads: Vec<Cmd> = ids.iter().map(read).collect();
    ask(link, &reads).await?.into_iter().map(|values| reply::per_member(fields.len(), values)).collect()
}

/// The fields of these hashes, by their whole keys; none for a key that does not exist.
///
/// # Errors
/// What [`Link::pipeline`] returns.
pub async fn hashes(link: &Link, keys: &[String]) -> Result<Vec<Fields>> {
    let reads: Vec<Cmd> = keys.iter().map(|key| command("HGETALL", &[key])).collect();
    ask(link, &reads).await?.into_iter().map(reply::pairs).collect()
}
