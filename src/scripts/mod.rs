//! One typed function per Lua file, of the same name. How a script is called, and loaded on NOSCRIPT: `call.rs`.

pub mod add;
mod call;
pub mod fetch;
pub mod finish;
pub mod hint;
pub mod inspect;
pub mod legacy;
pub mod limit;
pub mod lock;
pub mod manage;
mod oom_wait;
pub mod route;

#[cfg(feature = "lua-files")]
mod flatten;
#[cfg(feature = "lua-files")]
mod from_files;

pub use call::{eval, eval_all, Call};
pub use oom_wait::OomWait;

#[cfg(feature = "lua-files")]
use crate::protocol::key_table;

/// One Lua script, as it is sent to Redis.
#[derive(Debug, PartialEq, Eq)]
pub struct Script {
    /// `family/name`.
    pub name: &'static str,
    /// What it does, its KEYS and ARGV, what it returns, and its events: the comment at the top of its file.
    pub contract: &'static str,
    source: &'static str,
    /// SHA-1 of `source`, in hex.
    sha: &'static str,
}

#[cfg(not(feature = "lua-files"))]
impl Script {
    /// What is sent to Redis.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// SHA-1 of the source, in hex.
    #[must_use]
    pub fn sha(&self) -> &'static str {
        self.sha
    }
}

/// The scripts of `lua/`, flattened by `build.rs`: `lua::<family>::<NAME>`.
pub mod lua {
    include!(concat!(env!("OUT_DIR"), "/scripts.rs"));
}

/// Every script of the crate.
pub const ALL: &[&Script] = lua::ALL;

/// What every producer or worker runs, by SHA-1 and text: connections load it, so that first calls need not be
/// repeated.
#[must_use]
pub fn hot() -> Vec<(&'static str, &'static str)> {
    let hot = [
        &lua::add::ADD_JOBS,
        &lua::fetch::MOVE_TO_ACTIVE,
        &lua::fetch::START_JOBS,
        &lua::finish::MOVE_TO_FINISHED,
        &lua::hint::WAKE_ANOTHER,
        &lua::lock::EXTEND_LOCKS,
        &lua::lock::MOVE_STALLED_JOBS_TO_WAIT,
    ];
    hot.map(|script| (script.sha(), script.source())).to_vec()
}

/// A boolean argument of a script.
fn flag(value: bool) -> &'static str {
    if value {
        "1"
    } else {
        "0"
    }
}
