//! Who still uses a link: when nobody does, it closes.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::keeper::Shared;
use crate::lock::Mutex;

#[derive(Default)]
struct Count {
    users: usize,
    /// How often the last user has left.
    deserted: u64,
}

/// The users of one link.
pub(super) struct Usage {
    count: Mutex<Count>,
    linger: Duration,
    runtime: Handle,
}

impl Usage {
    /// Call inside a tokio runtime.
    pub fn new(linger: Duration) -> Self {
        Usage { count: Mutex::default(), linger, runtime: Handle::current() }
    }
}

/// One user, and all who share it.
pub(super) struct User(Arc<Shared>);

impl User {
    /// `None` when the link has closed.
    pub fn join(shared: &Arc<Shared>) -> Option<Self> {
        let mut count = shared.usage.count.lock();
        if shared.is_closed() {
            return None;
        }
        count.users += 1;
        Some(User(shared.clone()))
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let (shared, usage) = (self.0.clone(), &self.0.usage);
        let mut count = usage.count.lock();
        count.users -= 1;
        if count.users > 0 {
            return;
        }
        count.deserted += 1;
        // Nothing is gained by waiting for a connection that there is not.
        if usage.linger.is_zero() || shared.wire_after(0).is_none() {
            return shared.close();
        }
        let (deserted, linger) = (count.deserted, usage.linger);
        usage.runtime.spawn(async move {
            tokio::time::sleep(linger).await;
            let count = shared.usage.count.lock();
            if count.users == 0 && count.deserted == deserted {
                shared.close();
            }
        });
    }
}

impl Shared {
    /// Closes the link if nobody uses it.
    pub fn close_unused(&self) {
        let count = self.usage.count.lock();
        if count.users == 0 {
            self.close();
        }
    }
}
