//! What an error reply asks of the connection.

use redis::{ServerError, Value};

use crate::error::Error;

/// An error reply, by what to do about it.
#[derive(Debug)]
pub(super) enum Fault {
    /// The caller's business.
    Reply(Error),
    /// Nothing was executed; the server will be ready later.
    Busy(Error),
    /// Nothing was executed; this is the wrong server (any more).
    WrongServer(Error),
}

/// Splits a reply into a value or a fault.
pub(super) fn inspect(reply: Value) -> Result<Value, Fault> {
    match reply {
        Value::ServerError(error) => Err(classify(&error)),
        value => Ok(value),
    }
}

/// The public error of a server error.
pub(super) fn server_error(error: &ServerError) -> Error {
    let (mut code, mut message) = (error.code(), error.details().unwrap_or_default());
    // Redis 6.2 wraps what a command inside a script raised: "... @user_script: 5: -OOM command not allowed".
    if code == "ERR" && message.contains("@user_script") {
        if let Some((inner, rest)) = message.rsplit_once(": -").and_then(|(_, inner)| inner.split_once(' ')) {
            if !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_uppercase()) {
                (code, message) = (inner, rest);
            }
        }
    }
    Error::Server { code: code.to_owned(), message: message.to_owned() }
}

fn classify(error: &ServerError) -> Fault {
    let error = server_error(error);
    let Error::Server { code, .. } = &error else {
        return Fault::Reply(error);
    };
    match code.as_str() {
        "LOADING" | "BUSY" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" => Fault::Busy(error),
        "READONLY" | "UNBLOCKED" => Fault::WrongServer(error),
        _ => Fault::Reply(error),
    }
}
