//! Connections to Redis that repair themselves and never guess: what was not answered is reported as such.

mod blocking;
mod endpoint;
mod fault;
mod keeper;
mod link;
mod outages;
mod pace;
mod pool;
mod size;
mod socket;
mod tls;
mod shared_link;
mod usage;
mod wire;

pub use blocking::BlockingLink;
pub use endpoint::Endpoint;
pub use link::{Link, LinkOptions};
pub use outages::Outages;
pub use pool::Pool;

/// Whether a command may be sent again when the reply to the first sending got lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// A second execution would do harm: report [`crate::error::Error::OutcomeUnknown`].
    Never,
    /// A second execution changes nothing: send again after the reconnect.
    Safe,
    /// Not even the first one does: send again, and if no reply comes at all nothing is in doubt.
    Look,
}

/// What a link is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Not connected (yet); `error` is why the last attempt failed or the last connection ended.
    Connecting {
        attempt: u32,
        error: Option<String>,
    },
    /// Connected for the `generation`-th time.
    Connected {
        generation: u64,
    },
    Closed,
}

/// What the server says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// Empty when the user may not read `INFO`.
    pub version: String,
    pub cluster: bool,
}
