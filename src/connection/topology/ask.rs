//! Questions about the topology, each on a connection of its own.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, Value};

use crate::connection::connect_error::ConnectError;
use crate::connection::fault::{describe, inspect, Fault};
use crate::connection::socket::{self, Address, Meter, Tls};

/// Asks one server one question, on a connection with this meter. Sets no time limit.
pub(super) async fn ask(
    address: &Address,
    login: &RedisConnectionInfo,
    tls: Option<&Tls>,
    question: &Cmd,
    meter: Meter,
) -> Result<Value, ConnectError> {
    let meter = Arc::new(meter);
    let stream = socket::open(address, tls, &meter).await.map_err(|error| ConnectError::socket(address, &error))?;
    let config = AsyncConnectionConfig::new().set_response_timeout(None).set_connection_timeout(None);
    let (mut connection, driver) = MultiplexedConnection::new_with_config(login, stream, config)
        .await
        .map_err(|error| ConnectError::login(address, &meter, &error))?;
    let answer = async { connection.send_packed_command(question).await };
    let reply = tokio::select! {
        answer = answer => answer.map_err(|error| ConnectError::Retry(meter.reason(describe(&error))))?,
        () = driver => return Err(ConnectError::Retry(meter.reason("the connection was closed".into()))),
    };
    inspect(reply).map_err(|fault| match fault {
        Fault::ForCaller(error) | Fault::Moved(error, _) | Fault::Ask(error, _) => ConnectError::Fatal(error),
        Fault::WrongServer(error) if error.is_noauth() => ConnectError::Fatal(error),
        Fault::Busy(error) | Fault::WrongServer(error) => ConnectError::Retry(error.to_string()),
    })
}
