//! What keys and job hashes tell about who wrote a queue: BullMQ, or Bull, its predecessor.
//!
//! Both use the same prefix, and many of the same keys, with other meanings: a worker or a producer of the one damages
//! jobs of the other.

use redis::{Cmd, Value};
use serde_json::Value as Json;

use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::key_table::{Evidence, Key, KEYS};
use crate::protocol::{reply, Keys};

/// The keys whose types are read.
fn known() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.evidence != Evidence::Ignored)
}

/// Whether the key may be the job with that id in a queue of Bull, and of another type.
fn may_be_a_job(key: &Key) -> bool {
    matches!(key.evidence, Evidence::Use | Evidence::BullMqOrJob)
}

/// The fields of a job's hash that tell who wrote it.
const FIELDS: [&str; 9] = ["name", "data", "opts", "attempts", "failedReason", "lockAcquired", "atm", "ats", "stc"];
/// So many hashes are read.
const SAMPLE: usize = 3;

/// The versions of Bull that may have written a queue, as far as it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    Two,
    OneOrTwo,
    ThreeOrFour,
    Any,
}

impl Flavour {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flavour::Two => "Bull 2.x",
            Flavour::OneOrTwo => "Bull 1.x or 2.x",
            Flavour::ThreeOrFour => "Bull 3.x or 4.x",
            Flavour::Any => "Bull",
        }
    }
}

/// What the types of a queue's keys are.
pub(super) struct Types {
    /// In the order of `known()`.
    found: Vec<String>,
    has_meta_of_bullmq: bool,
}

impl Types {
    /// Reads them in one round trip.
    pub async fn read(link: &Link, keys: &Keys) -> Result<Self> {
        let mut commands: Vec<Cmd> = known().map(|key| command(&["TYPE", &keys.of(key.name)])).collect();
        commands.push(command(&["HMGET", keys.meta(), "version", "opts.maxLenEvents"]));
        let mut replies = link.pipeline(&commands, Retry::Look).await?;
        // An error means that `meta` is no hash, which its type tells.
        let meta = replies.pop().and_then(std::result::Result::ok).map(reply::array).transpose();
        let meta = link.believe(Retry::Look, meta)?.unwrap_or_default();
        let found = replies.into_iter().map(|reply| reply::text(reply?)).collect::<Result<Vec<_>>>();
        let found = link.believe(Retry::Look, found).map_err(|error| unknown_type(link, error))?;
        Ok(Types { found, has_meta_of_bullmq: meta.iter().any(|value| *value != Value::Nil) })
    }

    fn all(&self) -> impl Iterator<Item = (&'static Key, &str)> {
        known().zip(self.found.iter().map(String::as_str))
    }

    /// The keys that exist and have a type that they have with BullMQ or Bull.
    fn present(&self) -> impl Iterator<Item = (&'static Key, &str)> {
        self.all().filter(|(key, found)| *found == key.kind || is_set_of_bull(key, found))
    }

    fn has(&self, suffix: &str) -> bool {
        self.present().any(|(key, _)| key.name == suffix)
    }

    /// The first key whose type neither BullMQ nor Bull gives it, the type, and the type with BullMQ.
    pub fn strange(&self) -> Option<(&'static str, &str, &'static str)> {
        let fits = |key: &Key, found: &str| found == "none" || found == key.kind || is_set_of_bull(key, found);
        let mut never_jobs = self.all().filter(|(key, _)| !may_be_a_job(key));
        let (key, found) = never_jobs.find(|(key, found)| !fits(key, found))?;
        Some((key.name, found, key.kind))
    }

    fn set_of_bull(&self) -> Option<&'static str> {
        self.present().find(|(_, found)| *found == "set").map(|(key, _)| key.name)
    }

    fn is_of_bullmq(&self) -> bool {
        self.has_meta_of_bullmq
            || self.present().any(|(key, _)| matches!(key.evidence, Evidence::BullMq | Evidence::BullMqOrJob))
    }

    /// Which version of Bull these keys are of, if they are of Bull.
    fn flavour(&self) -> Flavour {
        match self.set_of_bull() {
            Some(_) if self.has("priority") => Flavour::Two,
            Some(_) => Flavour::OneOrTwo,
            None if ["completed", "failed", "repeat", "meta"].iter().any(|suffix| self.has(suffix)) => {
                Flavour::ThreeOrFour
            }
            None => Flavour::Any,
        }
    }
}

/// The error of a server that does not know `TYPE`: it is a Sentinel that does not say so, since its user may not ask
/// `INFO`.
fn unknown_type(link: &Link, error: Error) -> Error {
    match error {
        Error::Server { message, .. } if message.starts_with("unknown command") => {
            let server = link.endpoint();
            Error::InvalidOption(format!(
                "the server at {server} does not know the command TYPE. If it is a Sentinel, the URL is \
                 redis+sentinel://{server}/NAME, with the name by which the Sentinels know the master"
            ))
        }
        error => error,
    }
}

fn is_set_of_bull(key: &Key, found: &str) -> bool {
    found == "set" && (key.name == "completed" || key.name == "failed")
}

/// What shows that Bull uses a queue.
pub struct BullFound {
    pub flavour: Flavour,
    /// What shows it.
    pub shown_by: String,
}

/// Who uses a queue; both of them if somebody made a mistake.
pub struct Users {
    pub bull: Option<BullFound>,
    pub bullmq: bool,
}

impl Users {
    /// Looks for keys and jobs of both.
    ///
    /// # Errors
    /// What [`Link::call`] returns.
    pub async fn read(link: &Link, keys: &Keys) -> Result<Self> {
        let types = Types::read(link, keys).await?;
        let job = find_job(link, keys, &types).await?;
        Ok(Self::of(keys, &types, job))
    }

    /// The same for a queue that should be BullMQ's: if keys of BullMQ's exist, only keys that nobody but Bull writes
    /// count. If not, some jobs are read: in two more round trips, since a queue without a trace of BullMQ that is not
    /// empty is rare.
    pub(super) async fn of_bullmq(link: &Link, keys: &Keys, types: &Types) -> Result<Self> {
        let used = types.present().any(|(key, _)| matches!(key.evidence, Evidence::Jobs | Evidence::Use));
        let job = if used && !types.is_of_bullmq() { find_job(link, keys, types).await? } else { None };
        Ok(Self::of(keys, types, job))
    }

    fn of(keys: &Keys, types: &Types, job: Option<(Flavour, String)>) -> Self {
        let shown_by_key = types
            .set_of_bull()
            .map(|suffix| format!("{} is a set", keys.of(suffix)))
            .or_else(|| types.has("meta-paused").then(|| format!("{} exists", keys.of("meta-paused"))));
        let (flavour, shown_by_job) = match job {
            // Bull 1 has no priorities.
            Some((Flavour::OneOrTwo, shown_by)) if types.has("priority") => (Flavour::Two, Some(shown_by)),
            // Neither has its sorted sets: the job is a broken one of Bull 3 or 4.
            Some((Flavour::OneOrTwo | Flavour::Two, shown_by))
                if !types.is_of_bullmq() && types.flavour() == Flavour::ThreeOrFour =>
            {
                (Flavour::ThreeOrFour, Some(shown_by))
            }
            Some((flavour, shown_by)) => (flavour, Some(shown_by)),
            None => (types.flavour(), None),
        };
        let bull = shown_by_key.or(shown_by_job).map(|shown_by| BullFound { flavour, shown_by });
        Users { bull, bullmq: types.is_of_bullmq() }
    }
}

/// Reads up to three jobs; returns the flavour that those of Bull show, and what shows it. A job of Bull 3 or 4 may
/// have lost its name, but no job of Bull 1 or 2 looks like one of Bull 3 or 4. So these win, unless a set says that
/// the queue is older.
async fn find_job(link: &Link, keys: &Keys, types: &Types) -> Result<Option<(Flavour, String)>> {
    let last = (SAMPLE - 1).to_string();
    let read = |(key, found): (&Key, &str)| match found {
        "list" => command(&["LRANGE", &keys.of(key.name), "0", &last]),
        "set" => command(&["SRANDMEMBER", &keys.of(key.name), &SAMPLE.to_string()]),
        _ => command(&["ZRANGE", &keys.of(key.name), "0", &last]),
    };
    let commands: Vec<Cmd> = types.present().filter(|(key, _)| key.evidence == Evidence::Jobs).map(read).collect();
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
    let mut shown = Vec::new();
    for (id, hash) in ids.iter().zip(hashes) {
        // A key that is no hash tells nothing.
        let Ok(values) = hash else { continue };
        if let Some((flavour, field)) = writer(&reply::exactly(FIELDS.len(), values)?) {
            shown.push((flavour, format!("job {} {field}", keys.job(id))));
        }
    }
    let is_old = types.set_of_bull().is_some();
    let best = shown.iter().position(|(flavour, _)| (*flavour != Flavour::ThreeOrFour) == is_old).unwrap_or(0);
    Ok(shown.into_iter().nth(best))
}

/// The flavour of Bull that wrote a hash with these `FIELDS`, and what shows it; `None` for BullMQ, or if there is no
/// hash.
fn writer(values: &[Value]) -> Option<(Flavour, &'static str)> {
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
    let old = if has("failedReason") || has("lockAcquired") { Flavour::Two } else { Flavour::OneOrTwo };
    if has("attempts") {
        return Some((old, "has a field attempts"));
    }
    if !has("name") {
        return (has("data") || has("opts")).then_some((old, "has no name"));
    }
    let options: Json = serde_json::from_slice(value("opts")?).ok()?;
    options.get("timestamp").map(|_| (Flavour::ThreeOrFour, "has the time of its addition among its options"))
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
        assert_eq!(flavour(&[("data", "{}"), ("opts", "{}"), ("attempts", "1")]), Some(Flavour::OneOrTwo));
        assert_eq!(flavour(&[("data", "{}"), ("failedReason", "")]), Some(Flavour::Two));
        assert_eq!(
            flavour(&[name, ("data", "{}"), ("opts", r#"{"attempts":1,"timestamp":5}"#)]),
            Some(Flavour::ThreeOrFour)
        );
        assert_eq!(flavour(&[name, ("data", "{}"), ("opts", r#"{"attempts":0}"#)]), None);
        assert_eq!(flavour(&[name, ("opts", r#"{"timestamp":5}"#), ("atm", "1")]), None, "a worker of BullMQ had it");
        assert_eq!(flavour(&[name, ("opts", "no JSON")]), None);
        assert_eq!(flavour(&[]), None, "no hash");
    }
}
