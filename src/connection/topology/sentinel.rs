//! Redis Sentinel.

use std::fmt;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use redis::{RedisConnectionInfo, Value};

use super::ask::ask;
use crate::connection::connect_error::ConnectError;
use crate::connection::socket::{Address, Meter, Tls};
use crate::error::Error;
use crate::protocol::reply;

/// How long one Sentinel may take.
const ANSWER: Duration = Duration::from_secs(2);
/// How long after one Sentinel the next one is asked as well.
const STAGGER: Duration = Duration::from_millis(200);

/// The Sentinels that the URL names, and the name by which they know the master.
pub(in crate::connection) struct Sentinel {
    pub(super) addresses: Vec<Address>,
    pub(super) login: RedisConnectionInfo,
    pub(super) service: String,
}

impl Sentinel {
    pub fn new(addresses: Vec<Address>, service: String, login: RedisConnectionInfo) -> Self {
        Sentinel { addresses, service, login }
    }

    /// Asks for the address of the master; the first one that knows it is believed. They are asked in random order: one
    /// that was cut off from the others still names the old master.
    pub async fn locate(&self, tls: Option<&Tls>) -> Result<Address, ConnectError> {
        let mut addresses: Vec<&Address> = self.addresses.iter().collect();
        fastrand::shuffle(&mut addresses);
        let mut answers: FuturesUnordered<_> =
            addresses.into_iter().enumerate().map(|(nth, address)| self.ask_later(nth, address, tls)).collect();
        let (mut refusal, mut reasons) = (None, Vec::new());
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(master) => return Ok(master),
                Err(ConnectError::Fatal(error)) => refusal = Some(error),
                Err(ConnectError::Retry(reason)) => reasons.push(reason),
            }
        }
        Err(refusal.map_or_else(|| ConnectError::Retry(reasons.join("; ")), ConnectError::Fatal))
    }

    async fn ask_later(&self, nth: usize, address: &Address, tls: Option<&Tls>) -> Result<Address, ConnectError> {
        tokio::time::sleep(STAGGER * u32::try_from(nth).unwrap_or(u32::MAX)).await;
        self.ask(address, tls).await
    }

    /// Asks one Sentinel for the address of the master.
    pub(super) async fn ask(&self, address: &Address, tls: Option<&Tls>) -> Result<Address, ConnectError> {
        let mut question = redis::cmd("SENTINEL");
        question.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.service);
        let at = |reason: String| format!("the Sentinel at {address}: {reason}");
        match tokio::time::timeout(ANSWER, ask(address, &self.login, tls, &question, Meter::of_short_messages())).await
        {
            Ok(Ok(reply)) => self.read(reply, address),
            Ok(Err(ConnectError::Retry(reason))) => Err(ConnectError::Retry(at(reason))),
            Ok(Err(ConnectError::Fatal(Error::Server { code, message }))) => {
                let advice = "its login is sentinel_username= and sentinel_password= of the URL";
                let message = at(format!("{message} ({advice})"));
                Err(ConnectError::Fatal(Error::Server { code, message }))
            }
            Ok(Err(fatal)) => Err(fatal),
            Err(_) => Err(ConnectError::Retry(at("no answer".into()))),
        }
    }

    fn read(&self, reply: Value, sentinel: &Address) -> Result<Address, ConnectError> {
        let mut texts = match reply {
            Value::Nil => {
                return Err(ConnectError::Fatal(Error::ConnectionLost(format!(
                    "the Sentinel at {sentinel} knows no master {}: the path of the URL is the name in its setting \
                     `sentinel monitor`",
                    self.service
                ))));
            }
            reply => reply::texts(reply).unwrap_or_default().into_iter(),
        };
        let address = texts.next().zip(texts.next().and_then(|port| port.parse().ok()));
        let (host, port) =
            address.ok_or_else(|| ConnectError::Retry(format!("the Sentinel at {sentinel} sent no address")))?;
        Ok(Address::Tcp { host, port })
    }
}

impl fmt::Display for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (Sentinel, {})", Address::list(&self.addresses), self.service)
    }
}
