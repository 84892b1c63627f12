//! What the listeners of a subscriber and its keeper share.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::registry::Registry;
use crate::connection::Endpoint;
use crate::mutex::Mutex;

pub(in crate::connection) struct Shared {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) registry: Mutex<Registry>,
    /// Notified when somebody came or left.
    pub(super) changed: Notify,
    pub(super) runtime: Handle,
}

impl Shared {
    pub(super) fn new(endpoint: Arc<Endpoint>, runtime: Handle) -> Self {
        Shared { endpoint, registry: Mutex::default(), changed: Notify::new(), runtime }
    }
}
