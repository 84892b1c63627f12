//! What keys and job hashes tell about who wrote a queue: BullMQ, or Bull, its predecessor.
//!
//! Both use the same prefix, and many of the same keys, with other meanings: a worker or a producer of the one damages jobs of the
//! other.

use redis::{Cmd, Value};
use serde_json::Value as Json;

use crate::connection::{Link, Retry};
use crate::error::Result;
use crate::protocol::{reply, Keys};

/// The keys of a queue whose types are read, and the types that they have with BullMQ.
pub(super) const KEYS: [(&str, &str); 15] = [
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
    // Of another type they may be jobs with such an id.
    ("pc", "string"),
    ("id", "string"),
    ("repeat", "zset"),
    // Bull's only.
    ("priority", "zset"),
    ("meta-paused", "string"),
];
/// How many of them are never jobs.
const FIXED: usize = 10;
/// Only BullMQ has these.
const OF_BULLMQ: [&str; 4] = ["events", "marker", "pc", "prioritized"];
/// Both have these, or only Bull.
const OF_BOTH: [&str; 10] =
    ["id", "wait", "paused", "active", "delayed", "completed", "failed", "repeat", "priority", "meta-paused"];
/// Where job ids are, and which command reads them.
const IDS: [(&str, &str); 6] = [
    ("wait", "LRANGE"),
    ("paused", "LRANGE"),
    ("delayed", "ZRANGE"),
    ("active", "LRANGE"),
    ("completed", "ZRANGE"),
    ("failed", "ZRANGE"),
];
/// The fields of a job's hash that tell who wrote it.
const FIELDS: [&str; 9] = ["name", "data", "opts", "attempts", "failedReason", "lockAcquired", "atm", "ats", "stc"];
/// So many hashes are read.
const SAMPLE: usize = 3;

/// What the types of a queue's keys are.
pub(super) struct Types(Vec<String>);

impl Types {
    /// Reads them in one round trip, and whether BullMQ uses the queue.
    pub async fn read(link: &Link, keys: &Keys) -> Result<(Self, bool)> {
        let mut commands: Vec<Cmd> = KEYS.iter().map(|(suffix, _)| command(&["TYPE", &keys.of(suffix)])).collect();
        commands.push(command(&["HMGET", keys.meta(), "version", "opts.maxLenEvents"]));
        let mut replies = link.pipeline(&commands, Retry::Look).await?;
        // An error means that `meta` is no hash, which its type tells.
        let meta = replies.pop().and_then(std::result::Result::ok).map(reply::array).transpose()?.unwrap_or_default();
        let types = replies.into_iter().map(|reply| reply::text(reply?)).collect::<Result<Vec<_>>>()?;
        let types = Types(types);
        let is_of_bullmq =
            meta.iter().any(|value| *value != Value::Nil) || OF_BULLMQ.iter().any(|suffix| types.has(suffix));
        Ok((types, is_of_bullmq))
    }

    fn of(&self, suffix: &str) -> &str {
        KEYS.iter().position(|(known, _)| *known == suffix).map_or("none", |at| &self.0[at])
    }

    fn has(&self, suffix: &str) -> bool {
        KEYS.contains(&(suffix, self.of(suffix))) || is_set_of_bull(suffix, self.of(suffix))
    }

    /// The first key whose type neither BullMQ nor Bull gives it, the type, and the type with BullMQ.
    pub fn strange(&self) -> Option<(&'static str, &str, &'static str)> {
        let mut found =
            KEYS[..FIXED].iter().zip(&self.0).map(|((suffix, wanted), found)| (*suffix, found.as_str(), *wanted));
        found.find(|&(suffix, found, wanted)| found != "none" && found != wanted && !is_set_of_bull(suffix, found))
    }
}

fn is_set_of_bull(suffix: &str, found: &str) -> bool {
    found == "set" && (suffix == "completed" || suffix == "failed")
}

/// Evidence that Bull uses a queue.
pub struct Evidence {
    /// `Bull 3.x or 4.x`.
    pub flavour: &'static str,
    /// What shows it.
    pub shown_by: String,
    /// BullMQ uses the queue as well.
    pub mixed: bool,
}

/// Who uses a queue: evidence of Bull, and whether BullMQ uses it.
///
/// # Errors
/// What [`Link::call`] returns.
pub async fn users(link: &Link, keys: &Keys) -> Result<(Option<Evidence>, bool)> {
    let (types, is_of_bullmq) = Types::read(link, keys).await?;
    Ok((evidence(link, keys, &types, is_of_bullmq).await?, is_of_bullmq))
}

/// Looks for evidence of Bull. If keys of BullMQ's exist, only keys that nobody but Bull writes count. If not, some jobs are read:
/// in two more round trips, since a queue without a trace of BullMQ that is not empty is rare.
pub(super) async fn evidence(link: &Link, keys: &Keys, types: &Types, is_of_bullmq: bool) -> Result<Option<Evidence>> {
    let set = ["completed", "failed"].into_iter().find(|suffix| is_set_of_bull(suffix, types.of(suffix)));
    let of_keys = if set.is_some() { "Bull 1.x or 2.x" } else { "Bull" };
    let shown_by_key = set
        .map(|suffix| format!("{} is a set", keys.of(suffix)))
        .or_else(|| types.has("meta-paused").then(|| format!("{} exists", keys.of("meta-paused"))));
    if is_of_bullmq {
        return Ok(shown_by_key.map(|shown_by| Evidence { flavour: of_keys, shown_by, mixed: true }));
    }
    if !OF_BOTH.iter().any(|suffix| types.has(suffix)) {
        return Ok(None);
    }
    let (flavour, shown_by_job) = match find_job(link, keys, types).await? {
        Some((flavour, shown_by)) => (flavour, Some(shown_by)),
        None => (of_keys, None),
    };
    Ok(shown_by_key.or(shown_by_job).map(|shown_by| Evidence { flavour, shown_by, mixed: false }))
}

/// Reads up to three jobs; returns the flavour of the first one that Bull wrote, and what shows it.
async fn find_job(link: &Link, keys: &Keys, types: &Types) -> Result<Option<(&'static str, String)>> {
    let places = IDS.iter().filter(|(suffix, _)| matches!(types.of(suffix), "list" | "zset"));
    let last = (SAMPLE - 1).to_string();
    let commands: Vec<Cmd> = places.map(|(suffix, read)| command(&[read, &keys.of(suffix), "0", &last])).collect();
    let mut ids = Vec::new();
    for found in link.pipeline(&commands, Retry::Look).await? {
        ids.extend(found.map(reply::texts).unwrap_or_else(|_| Ok(Vec::new()))?);
    }
    ids.truncate(SAMPLE);
    let read = |id: &String| {
        let mut read = command(&["HMGET", &keys.job(id)]);
        read.arg(&FIELDS[..]);
        read
    };
    let commands: Vec<Cmd> = ids.iter().map(read).collect();
    let hashes = link.pipeline(&commands, Retry::Look).await?;
    for (id, hash) in ids.iter().zip(hashes) {
        // A key that is no hash tells nothing.
        let Ok(values) = hash else { continue };
        if let Some((flavour, field)) = writer(&reply::exactly(FIELDS.len(), values)?) {
            return Ok(Some((flavour, format!("job {} {field}", keys.job(id)))));
        }
    }
    Ok(None)
}

/// The flavour of Bull that wrote a hash with these `FIELDS`, and what shows it; `None` for BullMQ, or if there is no hash.
fn writer(values: &[Value]) -> Option<(&'static str, &'static str)> {
    let value = |field: &str| {
        let at = FIELDS.iter().position(|known| *known == field)?;
        match &values[at] {
            Value::BulkString(bytes) => Some(bytes.as_slice()),
            _ => None,
        }
    };
    let has = |field: &str| value(field).is_some();
    if ["atm", "ats", "stc"].into_iter().any(has) {
        return None; // a worker of BullMQ had it
    }
    let old = if has("failedReason") || has("lockAcquired") { "Bull 2.x" } else { "Bull 1.x or 2.x" };
    if has("attempts") {
        return Some((old, "has a field attempts"));
    }
    if !has("name") {
        return (has("data") || has("opts")).then_some((old, "has no name"));
    }
    let options: Json = serde_json::from_slice(value("opts")?).ok()?;
    options.get("timestamp").map(|_| ("Bull 3.x or 4.x", "has the time of its addition among its options"))
}

fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    command.arg(words);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(fields: &[(&str, &str)]) -> Vec<Value> {
        let find = |name: &&str| fields.iter().find(|(field, _)| field == name);
        let value = |found: Option<&(&str, &str)>| {
            found.map_or(Value::Nil, |(_, value)| Value::BulkString(value.as_bytes().to_vec()))
        };
        FIELDS.iter().map(|name| value(find(name))).collect()
    }

    #[test]
    fn a_hash_tells_who_wrote_it() {
        let name = ("name", "welcome");
        let flavour = |fields: &[(&str, &str)]| writer(&hash(fields)).map(|(flavour, _)| flavour);
        assert_eq!(flavour(&[("data", "{}"), ("opts", "{}"), ("attempts", "1")]), Some("Bull 1.x or 2.x"));
        assert_eq!(flavour(&[("data", "{}"), ("failedReason", "")]), Some("Bull 2.x"));
        assert_eq!(
            flavour(&[name, ("data", "{}"), ("opts", r#"{"attempts":1,"timestamp":5}"#)]),
            Some("Bull 3.x or 4.x")
        );
        assert_eq!(flavour(&[name, ("data", "{}"), ("opts", r#"{"attempts":0}"#)]), None);
        assert_eq!(flavour(&[name, ("opts", r#"{"timestamp":5}"#), ("atm", "1")]), None, "a worker of BullMQ had it");
        assert_eq!(flavour(&[name, ("opts", "no JSON")]), None);
        assert_eq!(flavour(&[]), None, "no hash");
    }
}
