//! What a queue's keys are, and where a signpost leads.

use redis::{Cmd, Value};

use super::flavour::Flavour;
use super::listeners::{self, Listeners};
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::key_table::{Evidence, Key, KEYS};
use crate::protocol::{reply, Keys};
use crate::reads::command;

/// The fields of a signpost: where the jobs of a queue of Bull have gone.
const SIGNPOST: [&str; 3] = ["prefix", "name", "place"];

/// The keys whose types are read.
fn known() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.evidence != Evidence::Ignored)
}

/// Whether the key may be the job with that id in a queue of Bull, and of another type.
fn may_be_a_job(key: &Key) -> bool {
    matches!(key.evidence, Evidence::Use | Evidence::BullMqOrJob)
}

fn is_set_of_bull(key: &Key, found: &str) -> bool {
    found == "set" && (key.name == "completed" || key.name == "failed")
}

/// Where the jobs of a queue of Bull have gone, as a migration has written it.
pub struct Signpost {
    pub prefix: String,
    pub name: String,
    /// The server and the database; "" for those of the queue.
    pub place: String,
}

/// What the keys of a queue are, and who listens to it.
pub struct Traces {
    /// The types, in the order of `known()`.
    found: Vec<String>,
    has_meta_of_bullmq: bool,
    pub signpost: Option<Signpost>,
    pub(super) listeners: Listeners,
}

impl Traces {
    /// Reads them in one round trip; in more only where Bull is met, and in a cluster where no key is BullMQ's.
    pub async fn read(link: &Link, keys: &Keys) -> Result<Self> {
        link.look(|| Self::read_once(link, keys)).await
    }

    async fn read_once(link: &Link, keys: &Keys) -> Result<Self> {
        let mut commands: Vec<Cmd> = known().map(|key| command("TYPE", &[&keys.of(key.name)])).collect();
        commands.push(command("HMGET", &[keys.meta(), "version", "opts.maxLenEvents"]));
        let mut signpost = command("HMGET", &[&keys.of("ext:moved")]);
        signpost.arg(&SIGNPOST);
        commands.push(signpost);
        commands.push(listeners::question(keys));
        let mut replies = link.pipeline(&commands, Retry::Look).await?;
        // A user without this right sees less.
        let heard = replies.pop().and_then(std::result::Result::ok);
        // An error means that the key is no hash, which is told elsewhere if it matters.
        let mut hash = || {
            let read = replies.pop().and_then(std::result::Result::ok).map(reply::array).transpose();
            read.map(Option::unwrap_or_default)
        };
        let signpost = hash()?.into_iter().map(reply::text).collect::<Result<Vec<_>>>().unwrap_or_default();
        let meta = hash()?;
        let found = replies.into_iter().map(|reply| reply::text(reply?)).collect::<Result<Vec<_>>>();
        let found = found.map_err(|error| unknown_type(link, error))?;
        let signpost = <[String; 3]>::try_from(signpost).ok();
        let mut traces = Traces {
            found,
            has_meta_of_bullmq: meta.iter().any(|value| *value != Value::Nil),
            signpost: signpost.map(|[prefix, name, place]| Signpost { prefix, name, place }),
            listeners: Listeners::None,
        };
        traces.listeners = listeners::find(link, keys, heard, traces.is_of_bullmq()).await?;
        Ok(traces)
    }

    fn all(&self) -> impl Iterator<Item = (&'static Key, &str)> {
        known().zip(self.found.iter().map(String::as_str))
    }

    /// The keys that exist and have a type that they have with BullMQ or Bull.
    pub(super) fn present(&self) -> impl Iterator<Item = (&'static Key, &str)> {
        self.all().filter(|(key, found)| *found == key.kind || is_set_of_bull(key, found))
    }

    pub(super) fn has(&self, suffix: &str) -> bool {
        self.present().any(|(key, _)| key.name == suffix)
    }

    /// The first key whose type neither BullMQ nor Bull gives it, the type, and the type with BullMQ.
    pub fn strange(&self) -> Option<(&'static str, &str, &'static str)> {
        let fits = |key: &Key, found: &str| found == "none" || found == key.kind || is_set_of_bull(key, found);
        let mut never_jobs = self.all().filter(|(key, _)| !may_be_a_job(key));
        let (key, found) = never_jobs.find(|(key, found)| !fits(key, found))?;
        Some((key.name, found, key.kind))
    }

    pub(super) fn set_of_bull(&self) -> Option<&'static str> {
        self.present().find(|(_, found)| *found == "set").map(|(key, _)| key.name)
    }

    /// Whether there are jobs, or were.
    pub(super) fn are_used(&self) -> bool {
        self.present().any(|(key, _)| matches!(key.evidence, Evidence::Jobs | Evidence::Use))
    }

    pub(super) fn is_of_bullmq(&self) -> bool {
        self.has_meta_of_bullmq
            || self.present().any(|(key, _)| matches!(key.evidence, Evidence::BullMq | Evidence::BullMqOrJob))
    }

    /// Which version of Bull these keys are of, if they are of Bull.
    pub(super) fn flavour(&self) -> Flavour {
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
