//! What an error reply asks of the connection.

use redis::{ServerError, Value};

use super::size::too_large;
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

/// What servers say in words where others have a code, by the code: refusals of a command inside a script.
const WORDS: [(&str, &str); 5] = [
    ("The user executing the script", "NOPERM"),
    ("ACL failure in script", "NOPERM"),
    ("a non local key in a cluster node", "MOVED"),
    ("while the cluster is down", "CLUSTERDOWN"),
    ("max number of clients reached", "BUSY"),
];

/// The public error of a server error.
pub(super) fn server_error(error: &ServerError) -> Error {
    let (mut code, mut message) = (error.code(), error.details().unwrap_or_default());
    if code == "ERR" {
        // Redis 6.2 wraps what a command inside a script raised: "... @user_script: 5: -OOM command not allowed".
        let wrapped = message.contains("@user_script").then(|| message.rsplit_once(": -")).flatten();
        if let Some((inner, rest)) = wrapped.and_then(|(_, inner)| inner.split_once(' ')) {
            if !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_uppercase()) {
                (code, message) = (inner, rest);
            }
        } else if let Some((_, known)) = WORDS.iter().find(|(words, _)| message.contains(words)) {
            code = known;
        }
    }
    Error::Server { code: code.to_owned(), message: message.to_owned() }
}

fn classify(error: &ServerError) -> Fault {
    let error = server_error(error);
    let Error::Server { code, message } = &error else {
        return Fault::Reply(error);
    };
    if message.starts_with("Protocol error: invalid bulk length") {
        return Fault::Reply(too_large(message));
    }
    match code.as_str() {
        "LOADING" | "BUSY" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" => Fault::Busy(error),
        // Who has forgotten who we are learns it on a new connection.
        "READONLY" | "UNBLOCKED" | "NOAUTH" => Fault::WrongServer(error),
        _ => Fault::Reply(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> String {
        let reply = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        let Value::ServerError(error) = reply else { panic!("{reply:?}") };
        let Error::Server { code, .. } = server_error(&error) else { panic!("{error:?}") };
        code
    }

    #[test]
    fn what_a_script_was_refused_has_its_code_on_every_server() {
        let lines = [
            ("OOM", "ERR Error running script (call to f_1): @user_script:5: @user_script: 5: -OOM command not allowed when used memory > 'maxmemory'."),
            ("NOPERM", "ERR Error running script (call to f_1): @user_script:5: @user_script: 5: The user executing the script can't run this command or subcommand"),
            ("NOPERM", "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 1, on @user_script:1."),
            ("NOPERM", "NOPERM ACL failure in script: User default has no permissions to run the 'zadd' command script: 1, on @user_script:1."),
            ("MOVED", "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: Lua script attempted to access a non local key in a cluster node"),
            ("MOVED", "ERR Script attempted to access a non local key in a cluster node script: 1, on @user_script:1."),
            ("NOREPLICAS", "NOREPLICAS Not enough good replicas to write."),
            ("ERR", "ERR Error running script (call to f_1): @user_script:5: user_script:5: attempt to index a nil value"),
        ];
        for (expected, line) in lines {
            assert_eq!(code(line), expected, "{line}");
        }
    }
}
