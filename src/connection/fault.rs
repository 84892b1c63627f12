//! Error replies, by what the connection does about them.

use redis::{RedisError, ServerError, Value};

use super::redirect::Redirect;
use crate::error::Error;
use crate::error_codes::{self, Class, ErrorCode, Followed};

/// An error reply.
#[derive(Debug)]
pub(super) enum Fault {
    /// The caller gets it.
    ForCaller(Error),
    /// The command was not executed; the server will be ready later.
    Busy(Error),
    /// The command was not executed; this server is not (or no longer) the right one.
    WrongServer(Error),
    /// The command was not executed; another node of the cluster has its slot.
    Moved(Error, Redirect),
    /// The command was not executed; another node, to which its slot migrates, has its keys.
    Ask(Error, Redirect),
}

/// Splits a reply into a value or a fault. A value has the form of RESP2, whatever the connection speaks.
pub(super) fn inspect(reply: Value) -> Result<Value, Fault> {
    let has_score = |item: &Value| matches!(item, Value::Array(pair) if matches!(pair[..], [_, Value::Double(_)]));
    match reply {
        Value::ServerError(error) => Err(classify(&error)),
        Value::VerbatimString { text, .. } => Ok(Value::BulkString(text.into_bytes())),
        Value::Array(items) if items.first().is_some_and(has_score) => {
            let flat = items.into_iter().flat_map(|item| match item {
                Value::Array(pair) => pair,
                other => vec![other],
            });
            Ok(Value::Array(flat.collect()))
        }
        value => Ok(value),
    }
}

impl Fault {
    pub fn into_error(self) -> Error {
        match self {
            Fault::ForCaller(error)
            | Fault::Busy(error)
            | Fault::WrongServer(error)
            | Fault::Moved(error, _)
            | Fault::Ask(error, _) => error,
        }
    }
}

/// Texts of servers that refuse a command inside a script without a code, with the code that other servers send.
const CODES: [(&str, &str); 6] = [
    ("The user executing the script", "NOPERM"),
    ("ACL failure in script", "NOPERM"),
    ("a non local key in a cluster node", "MOVED"),
    ("while the cluster is down", "CLUSTERDOWN"),
    ("max number of clients reached", "BUSY"),
    ("WRONGTYPE Operation against a key", "WRONGTYPE"),
];

/// The code and the message of an error that a command inside a script raised, cut out of the error of the script:
/// "... @user_script: 5: -OOM command not allowed", "user_script:912: NOREPLICAS Not enough" or "OOM command not ... on
/// @user_script:1."
fn raised_in_script(message: &str) -> Option<(&str, &str)> {
    let (before, raised) = message.split_once("user_script:")?;
    [before].into_iter().chain(raised.split(": ")).find_map(|part| {
        let part = part.strip_prefix('-').unwrap_or(part);
        let (code, _) = part.split_once(' ')?;
        // Redis 8 says "ACL failure in script" without a code.
        let is_code =
            code.len() > 2 && !matches!(code, "ERR" | "ACL") && code.bytes().all(|byte| byte.is_ascii_uppercase());
        is_code.then(|| message[message.find(part).unwrap_or(0)..].split_once(' ')).flatten()
    })
}

/// The public error of a server error.
pub(super) fn server_error(error: &ServerError) -> Error {
    let (mut code, mut message) = (error.code(), error.details().unwrap_or_default());
    if code == "ERR" {
        if let Some(inner) = raised_in_script(message) {
            (code, message) = inner;
        } else if let Some((_, known)) = CODES.iter().find(|(words, _)| message.contains(words)) {
            code = known;
        }
    }
    Error::Server { code: code.to_owned(), message: without_code(code, message).to_owned() }
}

/// The message without the codes at its beginning: scripts pass errors on, and each level of them puts the code before
/// it.
fn without_code<'a>(code: &str, message: &'a str) -> &'a str {
    let mut rest = message;
    while let Some((first, more)) = rest.split_once(' ') {
        let first = first.strip_prefix('-').unwrap_or(first);
        if first != code && first != "ERR" {
            break;
        }
        rest = more;
    }
    rest
}

fn classify(error: &ServerError) -> Fault {
    let error = server_error(error);
    let Error::Server { code, message } = &error else {
        return Fault::ForCaller(error);
    };
    if message.starts_with("Protocol error: invalid bulk length") {
        return Fault::ForCaller(too_large(message));
    }
    let ErrorCode { class, followed, .. } = error_codes::of(code);
    match class {
        Class::Wait if followed == Followed::ByCalls => Fault::Busy(error),
        Class::Reconnect if followed == Followed::ByCalls => Fault::WrongServer(error),
        // A script that was stopped at a key of another node has no redirection, and may have written.
        Class::Reconnect => match (Redirect::parse(message), code.as_str()) {
            (Some(to), "MOVED") => Fault::Moved(error, to),
            (Some(to), _) => Fault::Ask(error, to),
            (None, _) => Fault::ForCaller(error),
        },
        // A script that is missing is loaded by what calls it.
        _ => Fault::ForCaller(error),
    }
}

/// The error for a value that this server does not take.
pub(super) fn too_large(reason: &str) -> Error {
    Error::TooLarge(format!(
        "Redis closes the connection: {reason} (its proto-max-bulk-len and client-query-buffer-limit); nothing was \
         written"
    ))
}

/// The reason of an error that is no error reply.
pub(super) fn describe(error: &RedisError) -> String {
    if error.is_connection_dropped() {
        "the connection was closed".into()
    } else {
        error.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Error {
        let reply = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        let Value::ServerError(error) = reply else { panic!("{reply:?}") };
        server_error(&error)
    }

    fn code(line: &str) -> String {
        let Error::Server { code, .. } = read(line) else { panic!("{line}") };
        code
    }

    #[test]
    fn the_code_stands_once_before_the_message() {
        let lines = [
            ("WRONGTYPE Operation against a key", "WRONGTYPE Operation against a key"),
            ("WRONGTYPE WRONGTYPE Operation against a key", "WRONGTYPE Operation against a key"),
            ("ERR WRONGTYPE Operation against a key", "WRONGTYPE Operation against a key"),
            ("ERR ERR user_script:9: -WRONGTYPE WRONGTYPE Operation against", "WRONGTYPE Operation against"),
            ("ERR ERR value is not an integer", "ERR value is not an integer"),
            ("NOPERM NOPERM", "NOPERM NOPERM"),
        ];
        for (line, expected) in lines {
            assert_eq!(read(line).to_string(), expected, "{line}");
        }
    }

    #[test]
    fn an_error_inside_a_script_has_the_same_code_on_every_server() {
        let lines = [
            (
                "OOM",
                "ERR Error running script (call to f_1): @user_script:5: @user_script: 5: -OOM command not allowed \
                 when used memory > 'maxmemory'.",
            ),
            (
                "NOPERM",
                "ERR Error running script (call to f_1): @user_script:5: @user_script: 5: The user executing the \
                 script can't run this command or subcommand",
            ),
            (
                "NOPERM",
                "ERR The user executing the script can't access at least one of the keys mentioned in the command \
                 arguments script: 1, on @user_script:1.",
            ),
            (
                "NOPERM",
                "ERR ACL failure in script: User u has no permissions to run the 'exists' command script: 1, \
                 on @user_script:1.",
            ),
            (
                "NOPERM",
                "ERR ERR ACL failure in script: User u has no permissions to run the 'exists' command script: 1, \
                 on @user_script:1.",
            ),
            (
                "NOPERM",
                "NOPERM ACL failure in script: User default has no permissions to run the 'zadd' command script: 1, \
                 on @user_script:1.",
            ),
            (
                "MOVED",
                "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: Lua script attempted to \
                 access a non local key in a cluster node",
            ),
            ("MOVED", "ERR Script attempted to access a non local key in a cluster node script: 1, on @user_script:1."),
            (
                "NOREPLICAS",
                "ERR user_script:912: NOREPLICAS Not enough good replicas to write. script: f1, \
                 on @user_script:912.",
            ),
            ("OOM", "ERR OOM command not allowed when used memory > 'maxmemory'. script: f1, on @user_script:1."),
            (
                "WRONGTYPE",
                "ERR Error running script (call to f_1): @user_script:9: WRONGTYPE Operation against a key holding \
                 the wrong kind of value",
            ),
            ("NOREPLICAS", "NOREPLICAS Not enough good replicas to write."),
            (
                "ERR",
                "ERR Error running script (call to f_1): @user_script:5: user_script:5: attempt to index a nil \
                 value",
            ),
        ];
        for (expected, line) in lines {
            assert_eq!(code(line), expected, "{line}");
        }
    }
}
