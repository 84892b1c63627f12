//! Waiting until added jobs are in more than the memory of one server.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::{timeout_at, Instant};

use serde::Deserialize;

use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::protocol::{reply, Keys};

/// Where jobs have to be before an add returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durable {
    /// In a replica; on the disk if the server has no replica.
    #[serde(rename = "any")]
    Anywhere,
    /// In the memory of a replica.
    Replica,
    /// In the append-only file, and on the disk.
    #[serde(rename = "aof")]
    Disk,
}

/// The longest wait in one call. The server answers nothing else on this connection meanwhile, and a connection without
/// an answer for longer counts as lost.
const SLICE: Duration = Duration::from_secs(1);

/// How much later than its time a wait may return.
const GRACE: Duration = Duration::from_secs(2);

/// The connection on which jobs are added and waited for: `WAIT` holds up what comes behind it, so it is not the one of
/// other calls.
pub(super) struct Durability {
    pub link: Link,
    wanted: Durable,
    place: OnceCell<Place>,
    /// How many adds have their reply and want to be confirmed.
    added: AtomicU64,
    /// One waits at a time. Its wait also is for all who had added before it began: waits of their own, one after the
    /// other on this connection, could take longer than each has time.
    confirmed: Mutex<Confirmed>,
}

/// What the last wait confirmed: the first `added` adds, as far as they were made on this connection.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Confirmed {
    added: u64,
    connection: Connection,
}

/// A connection to one node: another node, or one that was restarted, cannot confirm what this one was sent.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Connection {
    generation: Option<u64>,
    redirected: u64,
}

/// Where this server puts what it confirms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Replica,
    Disk,
    /// It writes to the disk before each reply, so there is nothing to wait for.
    DiskAlready,
}

/// The connection at the beginning of an add.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    connection: Connection,
    place: Place,
}

impl Durability {
    pub fn new(link: Link, wanted: Durable) -> Self {
        Durability { link, wanted, place: OnceCell::new(), added: AtomicU64::new(0), confirmed: Mutex::default() }
    }

    /// Call before the first write. The first time, it checks that this server can confirm jobs.
    ///
    /// # Errors
    /// With nothing written: [`Error::NotDurable`] if it has neither a replica nor an append-only file;
    /// [`Error::RedisVersion`] if it is too old; [`Error::Server`] if the user may not wait, or may not ask how the
    /// file is written.
    pub async fn begin(&self) -> Result<Begun> {
        let place = *self.link.once(&self.place, || self.find_place()).await?;
        self.link.ready().await?;
        Ok(Begun { connection: self.connection(), place })
    }

    fn connection(&self) -> Connection {
        Connection { generation: self.link.generation(), redirected: self.link.redirected() }
    }

    /// Waits until what was added since `begun` is confirmed.
    ///
    /// # Errors
    /// [`Error::NotDurable`] with all jobs added.
    pub async fn confirm(&self, keys: &Keys, begun: Begun) -> Result<()> {
        let timeout = self.link.timeout();
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mine = self.added.fetch_add(1, Ordering::AcqRel) + 1;
        let turn = self.confirmed.lock();
        let mut confirmed = match deadline {
            Some(deadline) => timeout_at(deadline, turn).await.map_err(|_| begun.place.too_late(timeout))?,
            None => turn.await,
        };
        if confirmed.added >= mine && confirmed.connection == begun.connection {
            return Ok(());
        }
        let added = self.added.load(Ordering::Acquire);
        self.wait(keys, begun, deadline).await?;
        *confirmed = Confirmed { added, connection: begun.connection };
        Ok(())
    }

    /// Waits until all writes of this connection are confirmed.
    async fn wait(&self, keys: &Keys, begun: Begun, deadline: Option<Instant>) -> Result<()> {
        // A write that changes nothing. The wait is for the last write of its connection: for a job that existed
        // already, which another connection may have added just now, there would be none.
        let mut write = redis::cmd("INCRBY");
        write.arg(keys.of("id")).arg(0);
        let mut commands = vec![write];
        loop {
            let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()).min(SLICE));
            if left.is_zero() {
                return Err(begun.place.too_late(self.link.timeout()));
            }
            commands.push(begun.place.wait(left));
            let link = self.link.with_call_timeout(deadline.map(|_| left + GRACE));
            let replies =
                link.pipeline(&commands, Retry::Never).await.and_then(|replies| replies.into_iter().collect());
            let replies: Vec<Value> = replies.map_err(|error: Error| not_durable(&error.to_string()))?;
            let now = self.connection();
            // On another connection the answer is about another server, or about one that was restarted.
            if now.generation.is_none() || now.generation != begun.connection.generation {
                return Err(not_durable("the connection was lost meanwhile"));
            }
            // The other node has some of what was written, and this one confirms its own.
            if now.redirected != begun.connection.redirected {
                return Err(not_durable("the slot of the queue migrates to another node of the cluster"));
            }
            if begun.place.is_confirmed(replies.into_iter().last().unwrap_or(Value::Nil))? {
                return Ok(());
            }
            commands.clear();
        }
    }

    async fn find_place(&self) -> Result<Place> {
        let sections = ["replication", "persistence"].map(|section| words(redis::cmd("INFO"), &[section]));
        let mut sections = self.link.pipeline(&sections, Retry::Look).await?.into_iter();
        let mut section = || sections.next().unwrap_or(Err(Error::Closed)).and_then(reply::text);
        let (replication, persistence) = (section()?, section()?);
        let has_replica = field(&replication, "connected_slaves").is_some_and(|count| count != "0");
        let has_file = field(&persistence, "aof_enabled") == Some("1");
        let place = match self.wanted {
            Durable::Anywhere | Durable::Replica if has_replica => Place::Replica,
            Durable::Anywhere | Durable::Disk if has_file => self.disk().await?,
            wanted => return Err(Error::NotDurable(missing(wanted))),
        };
        // It learns now whether the user may wait, and not when jobs are added already.
        self.link.call(&place.probe(), Retry::Look).await?;
        Ok(place)
    }

    /// Servers before 7.2 cannot be asked to wait for the disk. One that writes each time need not be asked.
    async fn disk(&self) -> Result<Place> {
        let version = self.link.ready().await?.version;
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        // An empty version is that of a server that does not tell it.
        if version.is_empty() || (parts.next(), parts.next()) >= (Some(7), Some(2)) {
            return Ok(Place::Disk);
        }
        let policy = self.link.call(&how_it_writes(), Retry::Look).await.map_err(may_not_ask)?;
        if writes_at_once(policy)? {
            return Ok(Place::DiskAlready);
        }
        Err(Error::RedisVersion(format!(
            "durable=True: Redis {version} cannot wait for its disk, since WAITAOF needs Redis 7.2. Give it a \
             replica, or \"appendfsync always\"; nothing was added"
        )))
    }
}

impl Place {
    fn too_late(self, timeout: Option<Duration>) -> Error {
        let missing = if self == Place::Replica { "no replica has" } else { "the disk has not" };
        let timeout = timeout.unwrap_or_default().as_millis();
        not_durable(&format!(
            "{missing} confirmed them within {timeout} ms (the option timeout=, of Tasks redis_timeout=, of commands --timeout)"
        ))
    }

    /// The command that waits at most so long.
    fn wait(self, time: Duration) -> Cmd {
        self.wait_for("1", time)
    }

    /// A wait for nothing, which returns at once.
    fn probe(self) -> Cmd {
        self.wait_for("0", SLICE)
    }

    fn wait_for(self, copies: &str, time: Duration) -> Cmd {
        let mut wait = match self {
            Place::Replica => words(redis::cmd("WAIT"), &[copies]),
            Place::Disk => words(redis::cmd("WAITAOF"), &[copies, "0"]),
            // Somebody may have changed it since, or restarted the server without it.
            Place::DiskAlready => return how_it_writes(),
        };
        // 0 would be without limit.
        wait.arg(time.as_millis().max(1) as u64);
        wait
    }

    /// `WAIT` returns the number of replicas, `WAITAOF` the numbers of disks and of replicas.
    fn is_confirmed(self, reply: Value) -> Result<bool> {
        match reply {
            Value::Int(count) => Ok(count > 0),
            Value::Array(counts) if self == Place::Disk => {
                Ok(matches!(counts.first(), Some(Value::Int(count)) if *count > 0))
            }
            settings if self == Place::DiskAlready => match writes_at_once(settings) {
                Ok(true) => Ok(true),
                _ => Err(not_durable("the server no longer writes to its disk before each reply")),
            },
            _ => Ok(false),
        }
    }
}

fn words(mut command: Cmd, arguments: &[&str]) -> Cmd {
    command.arg(arguments);
    command
}

/// Runs an add, on the link for durable adds if there is one, and waits until the jobs are durable.
///
/// # Errors
/// Those of [`Durability::begin`], of `add`, and of [`Durability::confirm`].
pub(super) async fn durably<'a, T, F>(
    durability: Option<&'a Durability>,
    usual: &'a Link,
    keys: &Keys,
    add: impl FnOnce(&'a Link) -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let Some(durability) = durability else { return add(usual).await };
    let begun = durability.begin().await?;
    let added = add(&durability.link).await?;
    durability.confirm(keys, begun).await?;
    Ok(added)
}

/// Asks whether and when the append-only file is written.
fn how_it_writes() -> Cmd {
    words(redis::cmd("CONFIG"), &["GET", "append*"])
}

/// Whether a server with these settings writes to the disk before each reply.
fn writes_at_once(settings: Value) -> Result<bool> {
    let settings = reply::texts(settings)?;
    let is = |name: &str, value: &str| settings.chunks(2).any(|pair| pair == [name, value]);
    Ok(is("appendonly", "yes") && is("appendfsync", "always"))
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn missing(wanted: Durable) -> String {
    let (option, lacks) = match wanted {
        Durable::Anywhere => ("True", "has no replica and no append-only file"),
        Durable::Replica => ("\"replica\"", "has no replica that is connected"),
        Durable::Disk => ("\"aof\"", "has no append-only file (appendonly yes)"),
    };
    format!("durable={option}: this server {lacks}, so it cannot keep jobs when it is lost; nothing was added")
}

/// The error of a server that does not tell how it writes its file.
fn may_not_ask(error: Error) -> Error {
    let Error::Server { code, message } = error else { return error };
    Error::Server {
        code,
        message: format!(
            "{message}: before Redis 7.2 and without a replica, durable=True asks CONFIG GET, which this user may not. \
             Give the user +config|get; nothing was added"
        ),
    }
}

fn not_durable(why: &str) -> Error {
    Error::NotDurable(format!(
        "the jobs were added, but {why}: they may get lost with the server. Jobs with an id of yours may be added again"
    ))
}
