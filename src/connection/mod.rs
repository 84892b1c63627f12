//! Connections to Redis that reconnect by themselves. A command without a reply is never taken for done, or for not done.

mod blocking;
mod call;
mod endpoint;
mod fault;
mod keeper;
mod link;
mod outages;
mod pace;
mod pool;
mod setup;
mod size;
mod socket;
mod tls;
mod shared_link;
mod subscriber;
mod usage;
mod wire;

pub use blocking::BlockingLink;
pub use endpoint::Endpoint;
pub use link::{Link, LinkOptions};
pub use outages::Outages;
pub use pool::Pool;
pub use setup::HotScript;
pub use subscriber::{First, Inbox, Listening, Notice, Subscriber};

/// Whether a command may be sent again when the reply to the first sending got lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// A second execution would do harm: not sent again, the caller gets [`crate::error::Error::OutcomeUnknown`].
    Never,
    /// A second execution changes nothing: sent again after the reconnect.
    Safe,
    /// A read: sent again, and without any reply nothing is in doubt.
    Look,
}

/// The state of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Not connected (yet); `error` is why the last attempt failed or the last connection ended.
    Connecting {
        attempt: u32,
        error: Option<String>,
    },
    /// Connected for the `generation`-th time. The server before refused to write, and this one `refuses` as well.
    Connected {
        generation: u64,
        refuses: bool,
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
