//! Connections to Redis that reconnect by themselves. A command without a reply is never taken for done, or for not
//! done.

mod asking;
mod blocking;
mod call;
mod call_times;
mod connect_error;
mod ending;
mod endpoint;
mod fault;
mod reconnector;
mod link;
mod outages;
mod pace;
mod pool;
mod proof;
mod redirect;
mod setup;
mod size;
mod socket;
mod shared_link;
mod subscriber;
mod topology;
mod wire;

pub use blocking::BlockingLink;
pub use call::MaybeSent;
pub use call_times::CallTimes;
pub use endpoint::Endpoint;
pub use link::{Link, LinkOptions, WeakLink};
pub use outages::ConnectionOutages;
pub use pool::Pool;
pub use setup::{answers, HotScript};
pub use subscriber::{First, Inbox, Listening, Notice, Subscriber};

/// The stack, in bytes, of a thread that runs connections. The parser of replies calls itself for lists in lists, up to
/// 100 times, and then refuses the reply; without optimization that takes more than a megabyte. Only what is used takes
/// memory.
pub const STACK: usize = 8 << 20;

/// Whether a command may be sent again when the reply to the first sending got lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// A second execution would do harm: not sent again, the caller gets [`crate::error::Error::OutcomeUnknown`].
    Never,
    /// A second execution changes nothing: sent again after the reconnect.
    Safe,
    /// A second execution changes nothing unless other calls come between: a `pause` that the network delivers after
    /// the `resume` behind it. As [`Retry::Safe`], but if the first sending may still take effect the caller gets
    /// [`crate::error::Error::OutcomeUnknown`].
    InOrder,
    /// A read: sent again, and without any reply nothing is in doubt.
    Look,
}

/// What proves that a reply is the one to its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proven {
    /// A number that the link sends behind the call.
    Behind,
    /// The reply itself, which its reader looks at. Only an error gets a number behind it.
    ByItself,
}

/// Where the numbers of a pipeline are. One always comes behind all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Behind each command.
    Between,
    /// Behind the last one: for reads whose replies may change places without harm.
    Behind,
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
    /// Each start of a server gives it another one. Empty when the user may not read `INFO`.
    pub run_id: String,
    pub cluster: bool,
}

/// Takes a reply apart as every connection does: a value, or what the server refused. For the fuzz target of replies.
///
/// # Errors
/// What a caller would get, if the connection did not follow it.
#[doc(hidden)]
pub fn without_refusal(reply: redis::Value) -> crate::error::Result<redis::Value> {
    fault::inspect(reply).map_err(fault::Fault::into_error)
}
