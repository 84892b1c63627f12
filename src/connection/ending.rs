//! Why a link has no connection any more.

use std::fmt;

use super::socket::Address;
use super::wire::OUT_OF_STEP;

/// What ended a connection. It decides how the link connects anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The other side has closed it.
    Closed,
    /// The server stopped answering: the connection may be half open.
    Silent,
    /// The server refused commands with these words: it may be a replica now.
    Refused(String),
    /// Another server is the right one now, perhaps at an unknown address.
    Moved(Option<Address>),
    /// Its replies are those of other calls, or of no call.
    OutOfStep,
    /// A user of the link wants another connection, for this reason.
    Renewed(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Closed => f.write_str("the connection was closed"),
            Ending::Silent => f.write_str("the server stopped answering"),
            Ending::Refused(error) => write!(f, "the server refused a command: {error}"),
            Ending::Moved(Some(now)) => write!(f, "another server is the right one now: {now}"),
            Ending::Moved(None) => f.write_str("another server is the right one now"),
            Ending::OutOfStep => f.write_str(OUT_OF_STEP),
            Ending::Renewed(reason) => f.write_str(reason),
        }
    }
}
