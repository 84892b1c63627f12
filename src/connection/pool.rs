//! The links of one process: one per endpoint and kind of traffic.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::link::Acquaintance;
use super::{Endpoint, Link, LinkOptions};
use crate::lock::Mutex;

/// Handles that are made and closed one after the other, as in web requests, share a connection: it costs ten calls or more.
const LINGER: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Traffic {
    /// Short calls that somebody waits for: fetches, outcomes, heartbeats.
    Command,
    /// Large pipelines, kept apart so that no heartbeat queues behind a megabyte.
    Bulk,
}

/// A plain value, owned by whoever owns the runtime. It knows links but keeps none open.
#[derive(Default)]
pub struct Pool {
    links: Mutex<HashMap<(Arc<Endpoint>, Traffic), Acquaintance>>,
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
        if let Some(link) = links.get(&key).and_then(Acquaintance::link) {
            return link;
        }
        links.retain(|_, known| !known.is_forgotten());
        let link = Link::open(endpoint.clone(), LinkOptions { linger: LINGER, ..LinkOptions::default() });
        links.insert(key, link.acquaintance());
        link
    }
}
