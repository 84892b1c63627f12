//! Values that are too long for the server: it closes the connection when it reads their length, and would do so each
//! time.

use redis::{Arg, Cmd, Value};

use super::fault::too_large;
use super::wire::Wire;
use super::Proven;
use crate::error::Error;
use crate::protocol::reply;

/// Every server takes arguments of this length, whatever its settings.
const ALWAYS_TAKEN: usize = 1 << 20;
/// The limit of a server whose settings cannot be read: the default of Redis.
const DEFAULT_LIMIT: u64 = 512 << 20;

/// The length of the longest argument, if it may be too long for some server.
pub(super) fn maybe_too_long<'a>(cmds: impl Iterator<Item = &'a Cmd>) -> Option<usize> {
    let length = |arg: Arg<&[u8]>| if let Arg::Simple(bytes) = arg { bytes.len() } else { 0 };
    cmds.flat_map(|cmd| cmd.args_iter().map(length)).max().filter(|longest| *longest > ALWAYS_TAKEN)
}

/// The error if this server does not take an argument of this length.
pub(super) async fn error_if_too_long(wire: &Wire, longest: usize) -> Option<Error> {
    let mut limit = DEFAULT_LIMIT;
    for name in ["proto-max-bulk-len", "client-query-buffer-limit"] {
        let mut ask = redis::cmd("CONFIG");
        ask.arg("GET").arg(name);
        // Some users may not read the settings, and some servers do not answer.
        if let Some(value) = wire.send(&ask, Proven::Behind).await.ok().and_then(setting) {
            limit = limit.min(value);
        }
    }
    let reason = || format!("a value of {longest} bytes is longer than the {limit} that it takes");
    (longest as u64 > limit).then(|| too_large(&reason()))
}

fn setting(reply: Value) -> Option<u64> {
    let value = reply::texts(reply).ok()?.pop()?;
    value.parse().ok().filter(|limit| *limit > 0)
}
