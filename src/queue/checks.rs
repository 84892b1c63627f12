//! Checks before the first write: keys of another program must not be damaged.

use serde::Deserialize;

use super::legacy::{BullFound, Signpost, Traces, Users};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::Keys;
use crate::reads::command;

/// The version that is written to `meta` of a queue that nobody has used.
pub const VERSION: &str = "bullmq:5.62.0";

/// Checks that the keys are those of a BullMQ queue, and on a cluster in one slot.
///
/// # Errors
/// [`Error::QueueName`] when a cluster would scatter the queue's keys; [`Error::LegacyQueue`] when the keys are not
/// BullMQ's.
pub(super) async fn check(link: &Link, keys: &Keys, allow_legacy: bool) -> Result<()> {
    if link.ready().await?.cluster && !keys.has_hash_tag() {
        let (prefix, name) = (keys.prefix(), keys.name());
        return Err(Error::QueueName(format!(
            "Redis runs as a cluster, so all keys of queue {name} must share a hash tag: use prefix \"{{{prefix}}}\" \
             or queue name \"{{{name}}}\""
        )));
    }
    let traces = Traces::read(link, keys).await?;
    if let Some((suffix, found, expected)) = traces.strange() {
        return Err(refused(
            keys,
            &format!(
                "key {} is a {found} where BullMQ has a {expected}, so these keys do not belong to a BullMQ queue",
                keys.of(suffix)
            ),
            ", or delete them when they are not needed",
        ));
    }
    if allow_legacy {
        return Ok(());
    }
    if let Some(signpost) = &traces.signpost {
        return Err(moved(keys, signpost));
    }
    let Users { bull: Some(BullFound { flavour, shown_by }), bullmq } = Users::of_bullmq(link, keys, &traces).await?
    else {
        return Ok(());
    };
    let (whose, how) = match bullmq {
        true => ("Bull and BullMQ use this queue both", ""),
        false => (
            "this queue belongs to Bull, BullMQ's predecessor",
            " and move the jobs there with \"bullrush migrate\" (with --bridge if its producers cannot change)",
        ),
    };
    Err(refused(
        keys,
        &format!("{whose}: {shown_by} ({}). Its jobs would be lost or run again and again", flavour.name()),
        &format!(
            "{how}, or stop Bull's programs and delete the old keys when they are not needed; allow_legacy=True uses the \
             queue nevertheless"
        ),
    ))
}

/// Jobs that are added here would wait for workers that have gone, or be taken by one of Bull.
fn moved(keys: &Keys, to: &Signpost) -> Error {
    let Signpost { prefix, name, place } = to;
    let here = keys.name();
    let mut advice = format!("use prefix \"{prefix}\"");
    if name != here {
        advice += &format!(" and queue name \"{name}\"");
    }
    if !place.is_empty() {
        advice += &format!(" on the Redis at {place}");
    }
    Error::LegacyQueue(format!(
        "the jobs of this queue of Bull have moved to {prefix}:{name}: {advice}. allow_legacy=True uses the queue \
         nevertheless; when no program with Bull is left, \"bullrush migrate {here} --forget\" frees its name"
    ))
}

fn refused(keys: &Keys, why: &str, what_else: &str) -> Error {
    let (prefix, name) = (keys.prefix(), keys.name());
    Error::LegacyQueue(format!(
        "{why}. Use another prefix than \"{prefix}\" or another queue name than \"{name}\"{what_else}"
    ))
}

/// The field of `meta` with the major version that a program has set. It comes before the hint in `version`.
const COMPAT: &str = "ext:compat";

/// Which major version of BullMQ a queue is to follow, where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Compat {
    #[serde(rename = "5")]
    Five,
    #[serde(rename = "6")]
    Six,
    /// The one whose `Queue` was constructed last.
    #[serde(rename = "auto")]
    Auto,
}

/// Writes what every `Queue` of BullMQ writes when it is constructed, but leaves the version of one that was there
/// first: others tell by it which rules a queue follows. Calls that only read or remove do not write this.
pub(super) async fn write_meta(link: &Link, keys: &Keys, max_len_events: i64) -> Result<()> {
    let (mut settings, mut version) = (redis::cmd("HSET"), redis::cmd("HSETNX"));
    settings.arg(keys.meta()).arg("opts.maxLenEvents").arg(max_len_events);
    version.arg(keys.meta()).arg("version").arg(VERSION);
    link.pipeline(&[settings, version], Retry::Safe).await?.into_iter().collect::<Result<Vec<_>>>().map(drop)
}

/// Writes which version all programs are to follow on this queue.
pub(super) async fn write_compat(link: &Link, keys: &Keys, compat: Compat) -> Result<()> {
    let write = match compat {
        Compat::Five => command("HSET", &[keys.meta(), COMPAT, "5"]),
        Compat::Six => command("HSET", &[keys.meta(), COMPAT, "6"]),
        Compat::Auto => command("HDEL", &[keys.meta(), COMPAT]),
    };
    link.pipeline(&[write], Retry::Safe).await?.into_iter().collect::<Result<Vec<_>>>().map(drop)
}
