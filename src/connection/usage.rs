//! Counts the users of a link: without users it closes.

use std::time::Duration;

use tokio::runtime::Handle;

use crate::lock::Mutex;

#[derive(Default)]
pub(super) struct Count {
    pub users: usize,
    /// How often the number of users has become 0.
    pub times_unused: u64,
}

/// The users of one link.
pub(super) struct Usage {
    pub count: Mutex<Count>,
    pub linger: Duration,
    pub runtime: Handle,
}

impl Usage {
    /// Call inside a tokio runtime.
    pub fn new(linger: Duration) -> Self {
        Usage { count: Mutex::default(), linger, runtime: Handle::current() }
    }
}
