//! The links of one process: one per endpoint and kind of traffic.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Endpoint, Link, LinkOptions};
use crate::lock::Mutex;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Traffic {
    /// Short calls that somebody waits for: fetches, outcomes, heartbeats.
    Command,
    /// Large pipelines, kept apart so that no heartbeat queues behind a megabyte.
    Bulk,
}

/// A plain value, owned by whoever owns the runtime.
#[derive(Default)]
pub struct Pool {
    links: Mutex<HashMap<(Arc<Endpoint>, Traffic), Link>>,
}

impl Pool {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The shared link for short calls. It waits for ever for a connection: see [`Link::with_patience`].
    pub fn command(&self, endpoint: &Arc<Endpoint>) -> Link {
        self.link(endpoint, Traffic::Command)
    }

    /// The shared link for large pipelines.
    pub fn bulk(&self, endpoint: &Arc<Endpoint>) -> Link {
        self.link(endpoint, Traffic::Bulk)
    }

    fn link(&self, endpoint: &Arc<Endpoint>, traffic: Traffic) -> Link {
        let mut links = self.links.lock();
        let key = (endpoint.clone(), traffic);
        if let Some(link) = links.get(&key).filter(|link| !link.is_closed()) {
            return link.clone();
        }
        let link = Link::open(endpoint.clone(), LinkOptions::default());
        links.insert(key, link.clone());
        link
    }

    /// Closes every link.
    pub fn close(&self) {
        for (_, link) in self.links.lock().drain() {
            link.close();
        }
    }
}
