//! Making a connection: socket, login, name, and the version of the server.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisError, Value};
use tokio::task::JoinHandle;

use super::socket::{self, Meter};
use super::wire::{describe, NoReply, Wire};
use super::{fault, Endpoint, ServerInfo};
use crate::error::{is_busy, Error};
use crate::protocol::reply;

pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

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

/// Why a connection could not be made.
#[derive(Debug)]
pub(super) enum ConnectError {
    /// Another try may succeed soon.
    Retry(String),
    /// Another try will fail as well, until somebody changes a setting: callers get the error at once.
    Fatal(Error),
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
        let meter = Arc::new(Meter::default());
        let stream = socket::open(endpoint.addr(), &meter).await.map_err(|error| socket_error(endpoint, &error))?;
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_pipeline_buffer_size(1024)
            .set_write_backpressure_boundary(512 * 1024);
        let settings = endpoint.settings();
        let (conn, driver) =
            MultiplexedConnection::new_with_config(settings, stream, config).await.map_err(setup_error)?;
        let driver = tokio::spawn(driver);
        let mut wire = Wire {
            generation,
            server: ServerInfo { version: String::new(), cluster: false },
            refuses: false,
            proven: AtomicBool::new(false),
            conn,
            meter,
            in_flight: AtomicUsize::new(0),
            given_up_at: AtomicU64::new(0),
            driver: driver.abort_handle(),
        };
        wire.greet(greeting).await?;
        Ok((wire, driver))
    }

    async fn greet(&mut self, Greeting { name, scripts, ask_role }: Greeting<'_>) -> Result<(), ConnectError> {
        let mut hello = redis::pipe();
        hello.cmd("INFO").arg("server");
        hello.cmd("INFO").arg("cluster");
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
        let version = read_info(sections.next(), "redis_version")?;
        let cluster = read_info(sections.next(), "cluster_enabled")?;
        // Reading still works there.
        self.refuses = ask_role && read_info(sections.next(), "role")?.as_deref() == Some("slave");
        if let Some(version) = &version {
            check_version(version).map_err(ConnectError::Fatal)?;
        }
        self.server = ServerInfo { version: version.unwrap_or_default(), cluster: cluster.as_deref() == Some("1") };
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
    match no_reply {
        NoReply::NotSent(reason) | NoReply::Unknown(reason) => ConnectError::Retry(reason),
        NoReply::Late => ConnectError::Retry("no answer".into()),
    }
}

pub(super) fn socket_error(endpoint: &Endpoint, error: &io::Error) -> ConnectError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        None => ConnectError::Retry(error.to_string()),
        Some(rustls::Error::InvalidMessage(_)) => ConnectError::Fatal(Error::ConnectionLost(format!(
            "the server at {endpoint} does not speak TLS; nothing was sent. Without TLS the URL begins with redis://"
        ))),
        Some(reason) => ConnectError::Fatal(Error::ConnectionLost(format!(
            "no TLS connection to Redis at {endpoint} ({reason}); nothing was sent. A private authority belongs in the \
             system's store or in the file that SSL_CERT_FILE names"
        ))),
    }
}

pub(super) fn setup_error(error: RedisError) -> ConnectError {
    let code = error.code().unwrap_or_default().to_owned();
    let text = error.detail().unwrap_or_default().to_owned();
    let fatal = |code: &str| ConnectError::Fatal(Error::Server { code: code.to_owned(), message: text.clone() });
    match code.as_str() {
        code if is_busy(code) => ConnectError::Retry(format!("{code} {text}")),
        "" if error.kind() == redis::ErrorKind::AuthenticationFailed => ConnectError::Fatal(Error::Server {
            code: "WRONGPASS".into(),
            message: "Redis refused the user or the password".into(),
        }),
        "" => ConnectError::Retry(describe(&error)),
        "ERR" if text.contains("max number of clients") => ConnectError::Retry(text),
        code => fatal(code),
    }
}

/// Reads one line of an `INFO` section; `None` when this user may not read it.
fn read_info(reply: Option<Value>, field: &str) -> Result<Option<String>, ConnectError> {
    let text = match reply.map(fault::inspect) {
        Some(Ok(Value::BulkString(bytes))) => String::from_utf8_lossy(&bytes).into_owned(),
        Some(Err(fault::Fault::WrongServer(error))) if is_noauth(&error) => {
            return Err(ConnectError::Fatal(error));
        }
        Some(Err(fault::Fault::Busy(error) | fault::Fault::WrongServer(error))) => {
            return Err(ConnectError::Retry(error.to_string()));
        }
        _ => return Ok(None),
    };
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value.map(|value| value.trim().to_owned()))
}

fn is_noauth(error: &Error) -> bool {
    matches!(error, Error::Server { code, .. } if code == "NOAUTH")
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
