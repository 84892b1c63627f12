//! Checks before the first write: keys of another program must not be damaged.

use redis::Cmd;

use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Keys};

/// The version that is written to `meta`; other clients only display it.
pub const VERSION: &str = "bullmq:5.62.0";

/// The types that these keys have in a BullMQ queue.
const TYPES: [(&str, &str); 10] = [
    ("meta", "hash"),
    ("wait", "list"),
    ("paused", "list"),
    ("active", "list"),
    ("completed", "zset"),
    ("failed", "zset"),
    ("delayed", "zset"),
    ("prioritized", "zset"),
    ("marker", "zset"),
    ("events", "stream"),
];

/// Checks that the keys are those of a BullMQ queue, and on a cluster in one slot.
///
/// # Errors
/// [`Error::QueueName`] when a cluster would scatter the queue's keys; [`Error::LegacyQueue`] when the keys are not BullMQ's.
pub(super) async fn check(link: &Link, keys: &Keys) -> Result<()> {
    if link.ready().await?.cluster && !keys.has_hash_tag() {
        let (prefix, name) = (keys.prefix(), keys.name());
        return Err(Error::QueueName(format!(
            "Redis runs as a cluster, so all keys of queue {name} must share a hash tag: use prefix \"{{{prefix}}}\" or queue \
             name \"{{{name}}}\""
        )));
    }
    let ask = |(suffix, _): &(&str, &str)| {
        let mut cmd = Cmd::new();
        cmd.arg("TYPE").arg(keys.of(suffix));
        cmd
    };
    let commands: Vec<Cmd> = TYPES.iter().map(ask).collect();
    let replies = link.pipeline(&commands, Retry::Look).await?;
    for ((suffix, expected), reply) in TYPES.iter().zip(replies) {
        let found = reply::text(reply?)?;
        if found != "none" && found != *expected {
            return Err(foreign(keys, suffix, expected, &found));
        }
    }
    Ok(())
}

fn foreign(keys: &Keys, suffix: &str, expected: &str, found: &str) -> Error {
    let (key, prefix, name) = (keys.of(suffix), keys.prefix(), keys.name());
    let what = if found == "set" && (suffix == "completed" || suffix == "failed") {
        "it belongs to Bull 1.x or 2.x, and its jobs would be lost"
    } else {
        "these keys do not belong to a BullMQ queue"
    };
    Error::LegacyQueue(format!(
        "key {key} is a {found} where BullMQ has a {expected}: {what}. Use another prefix than \"{prefix}\" or another queue name \
         than \"{name}\" and move the jobs over, or delete the old keys when they are not needed"
    ))
}

/// Writes what every `Queue` of BullMQ writes when it is constructed. Calls that only read or remove do not write it.
pub(super) async fn write_meta(link: &Link, keys: &Keys, max_len_events: i64) -> Result<()> {
    let mut write = redis::cmd("HSET");
    write.arg(keys.meta()).arg("opts.maxLenEvents").arg(max_len_events).arg("version").arg(VERSION);
    link.call(&write, Retry::Safe).await.map(drop)
}
