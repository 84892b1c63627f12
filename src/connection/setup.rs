//! Making a connection: socket, login, name, and the version of the server.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Value};
use tokio::task::JoinHandle;

use super::connect_error::ConnectError;
use super::proof::Proofs;
use super::socket::{self, Address, EndableStream, Meter, WriteEnd};
use super::wire::{NoReply, Wire};
use super::{fault, Endpoint, ServerInfo};
use crate::error::Error;
use crate::mutex::Mutex;
use crate::protocol::reply;

/// A connection may become half open while it is made, too.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A script that callers of a connection will run: its SHA-1 in hex, and its text.
pub type HotScript = (&'static str, &'static str);

/// What a new connection says first.
#[derive(Clone, Copy, Default)]
pub(super) struct Greeting<'a> {
    /// `CLIENT SETNAME`.
    pub name: Option<&'a str>,
    /// Loaded where the server does not have them.
    pub scripts: &'a [HotScript],
    /// Ask whether this is a replica, since the server before refused to write.
    pub ask_role: bool,
}

impl Wire {
    /// Connects, authenticates, names the connection, checks the server's version and loads scripts.
    pub async fn connect(
        endpoint: &Endpoint,
        greeting: Greeting<'_>,
        generation: u64,
    ) -> Result<(Self, JoinHandle<()>), ConnectError> {
        let setup = Self::set_up(endpoint, greeting, generation);
        match tokio::time::timeout(CONNECT_TIMEOUT, setup).await {
            Ok(result) => result,
            Err(_) => Err(ConnectError::Retry(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()))),
        }
    }

    async fn set_up(
        endpoint: &Endpoint,
        greeting: Greeting<'_>,
        generation: u64,
    ) -> Result<(Self, JoinHandle<()>), ConnectError> {
        let mut located = endpoint.locate().await?;
        loop {
            let moved = async {
                tokio::select! {
                    now = located.moved() => now,
                    now = endpoint.moved_from(&located.address) => now,
                }
            };
            tokio::select! {
                made = Self::connect_to(&located.address, endpoint, greeting, generation) => {
                    let (mut wire, driver) = made?;
                    wire.located = Some(located);
                    return Ok((wire, driver));
                }
                // At once: who is asked again may be a Sentinel that names the old master.
                now = moved => located = located.at(now),
            }
        }
    }

    /// As [`Wire::connect`], to this address. Sets no time limit.
    pub async fn connect_to(
        address: &Address,
        endpoint: &Endpoint,
        greeting: Greeting<'_>,
        generation: u64,
    ) -> Result<(Self, JoinHandle<()>), ConnectError> {
        let meter = Arc::new(Meter::default());
        let stream = socket::open(address, endpoint.tls(), &meter)
            .await
            .map_err(|error| ConnectError::socket(address, &error))?;
        let write_end = Arc::new(WriteEnd::default());
        let stream = EndableStream::new(stream, write_end.clone());
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_pipeline_buffer_size(1024)
            .set_write_backpressure_boundary(512 * 1024);
        let (conn, driver) = MultiplexedConnection::new_with_config(endpoint.login(), stream, config)
            .await
            .map_err(|error| ConnectError::login(address, &meter, &error))?;
        meter.count_calls();
        let driver = tokio::spawn(driver);
        let mut wire = Wire {
            generation,
            server: ServerInfo { version: String::new(), run_id: String::new(), cluster: false },
            client_id: None,
            left_open: Mutex::default(),
            ended: AtomicBool::new(false),
            refuses: false,
            proven: AtomicBool::new(false),
            conn,
            meter,
            write_end,
            located: None,
            in_flight: AtomicUsize::new(0),
            given_up_at: AtomicU64::new(0),
            given_up: Mutex::default(),
            proofs: Proofs::new(),
            distrusted: AtomicBool::new(false),
            driver: driver.abort_handle(),
        };
        let ask_role = greeting.ask_role || endpoint.moves();
        wire.greet(address, Greeting { ask_role, ..greeting }).await?;
        if wire.refuses && endpoint.moves() {
            return Err(ConnectError::Retry(format!("{address} is a replica")));
        }
        Ok((wire, driver))
    }

    async fn greet(&mut self, address: &Address, greeting: Greeting<'_>) -> Result<(), ConnectError> {
        let Greeting { name, scripts, ask_role } = greeting;
        let mut hello = redis::pipe();
        hello.cmd("INFO").arg("server");
        hello.cmd("INFO").arg("cluster");
        hello.cmd("CLIENT").arg("ID");
        if ask_role {
            hello.cmd("INFO").arg("replication");
        }
        if !scripts.is_empty() {
            hello.cmd("SCRIPT").arg("EXISTS").arg(scripts.iter().map(|(sha, _)| sha).collect::<Vec<_>>());
        }
        if let Some(name) = name {
            // With a name that Redis refuses (blanks, non-ASCII) a worker works, but is not listed, as in BullMQ.
            hello.cmd("CLIENT").arg("SETNAME").arg(name);
        }
        let replies = self.send_all(&hello, hello.len()).await.map_err(lost)?;
        let mut sections = replies.into_iter();
        let server = read_info(sections.next())?;
        let (version, run_id) = (field(&server, "redis_version"), field(&server, "run_id"));
        let mode = field(&server, "redis_mode").or_else(|| field(&server, "server_mode"));
        if mode.as_deref() == Some("sentinel") {
            return Err(ConnectError::sentinel(address));
        }
        let cluster = field(&read_info(sections.next())?, "cluster_enabled");
        self.client_id = sections.next().and_then(|id| reply::integer(id).ok());
        // Reading still works there.
        self.refuses = ask_role && field(&read_info(sections.next())?, "role").as_deref() == Some("slave");
        if let Some(version) = &version {
            check_version(version).map_err(ConnectError::Fatal)?;
        }
        self.server = ServerInfo {
            version: version.unwrap_or_default(),
            run_id: run_id.unwrap_or_default(),
            cluster: cluster.as_deref() == Some("1"),
        };
        match sections.next() {
            Some(Value::Array(known)) if !scripts.is_empty() => self.load(scripts, known).await,
            _ => Ok(()),
        }
    }

    /// Loads what the server does not know. A user who may not load scripts learns it from the first call.
    async fn load(&self, scripts: &[HotScript], known: Vec<Value>) -> Result<(), ConnectError> {
        let mut load = redis::pipe();
        for ((_, source), known) in scripts.iter().zip(known) {
            if reply::integer(known).is_ok_and(|known| known == 0) {
                load.cmd("SCRIPT").arg("LOAD").arg(source);
            }
        }
        if load.is_empty() {
            return Ok(());
        }
        self.send_all(&load, load.len()).await.map(drop).map_err(lost)
    }
}

fn lost(no_reply: NoReply) -> ConnectError {
    ConnectError::Retry(no_reply.into_reason())
}

/// Whether the server executes scripts that come on a new connection, within this time.
pub async fn answers(endpoint: &Endpoint, time: Duration) -> bool {
    let probe = async {
        match Wire::connect(endpoint, Greeting::default(), 0).await {
            Ok((wire, _)) => wire.answers().await,
            Err(_) => false,
        }
    };
    tokio::time::timeout(time, probe).await.unwrap_or(false)
}

/// Reads an `INFO` section; empty when this user may not read it.
fn read_info(reply: Option<Value>) -> Result<String, ConnectError> {
    match reply.map(fault::inspect) {
        Some(Ok(Value::BulkString(bytes))) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Some(Err(fault::Fault::WrongServer(error))) if error.is_noauth() => Err(ConnectError::Fatal(error)),
        Some(Err(fault::Fault::Busy(error) | fault::Fault::WrongServer(error))) => {
            Err(ConnectError::Retry(error.to_string()))
        }
        _ => Ok(String::new()),
    }
}

/// One line of an `INFO` section.
fn field(section: &str, name: &str) -> Option<String> {
    let value = section.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

fn check_version(version: &str) -> Result<(), Error> {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found < (6, 2) {
        let text = format!("Redis version needs to be greater or equal than 6.2.0 Current: {version}");
        return Err(Error::RedisVersion(text));
    }
    Ok(())
}
