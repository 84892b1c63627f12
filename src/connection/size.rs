//! Values that no server takes: it closes the connection when it hears how long they are, and would each time.

use redis::{Arg, Cmd, Value};

use super::fault::too_large;
use super::wire::Wire;
use crate::error::Error;
use crate::protocol::reply;

/// No server can be told to take less than this.
const ALWAYS_TAKEN: usize = 1 << 20;
/// What a server takes that does not say.
const USUAL: u64 = 512 << 20;

/// The length of the longest argument, if it may be too long for some server.
pub(super) fn suspicious<'a>(cmds: impl Iterator<Item = &'a Cmd>) -> Option<usize> {
    let length = |arg: Arg<&[u8]>| if let Arg::Simple(bytes) = arg { bytes.len() } else { 0 };
    cmds.flat_map(|cmd| cmd.args_iter().map(length)).max().filter(|longest| *longest > ALWAYS_TAKEN)
}

/// Why a call with such an argument cannot succeed here, if it cannot.
pub(super) async fn verdict(wire: &Wire, longest: usize) -> Option<Error> {
    let mut limit = USUAL;
    for name in ["proto-max-bulk-len", "client-query-buffer-limit"] {
        let mut ask = redis::cmd("CONFIG");
        ask.arg("GET").arg(name);
        // Not everybody may ask, and not every server answers.
        if let Some(value) = wire.send(&ask).await.ok().and_then(setting) {
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
