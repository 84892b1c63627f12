//! The links of one process: one per endpoint and kind of traffic.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::link::WeakLink;
use super::setup::HotScript;
use super::subscriber::WeakSubscriber;
use super::{Endpoint, Link, LinkOptions, Subscriber};
use crate::mutex::Mutex;

/// How long an unused connection stays open. A new connection costs as much as ten calls or more, and programs such as
/// web servers make and close a handle per request.
const LINGER: Duration = Duration::from_millis(500);

/// A slow network may need long for a large pipeline, and a replica or a disk for a confirmation.
const LONG_SILENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Traffic {
    /// Short calls that somebody waits for: fetches, outcomes, lock renewals.
    Command,
    /// Large pipelines, on a connection of their own: no lock renewal waits behind a megabyte.
    Bulk,
    /// Adds that wait until a replica or the disk has them, and hold up what comes behind them.
    Durable,
}

/// A plain value, owned by the owner of the runtime. It knows links but keeps none open.
#[derive(Default)]
pub struct Pool {
    scripts: Vec<HotScript>,
    links: Mutex<HashMap<(Arc<Endpoint>, Traffic), WeakLink>>,
    subscribers: Mutex<HashMap<Arc<Endpoint>, WeakSubscriber>>,
}

impl Pool {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The links load these scripts when they connect.
    #[must_use]
    pub fn with_scripts(scripts: Vec<HotScript>) -> Self {
        Self { scripts, ..Self::default() }
    }

    /// The shared link for short calls. It waits forever for a connection: see [`Link::with_connect_timeout`].
    pub fn command(&self, endpoint: &Arc<Endpoint>) -> Link {
        self.link(endpoint, Traffic::Command)
    }

    /// The shared link for large pipelines.
    pub fn bulk(&self, endpoint: &Arc<Endpoint>) -> Link {
        self.link(endpoint, Traffic::Bulk)
    }

    /// The shared link for adds that wait until their jobs are durable.
    pub fn durable(&self, endpoint: &Arc<Endpoint>) -> Link {
        self.link(endpoint, Traffic::Durable)
    }

    /// The listeners of this endpoint. Call inside a tokio runtime.
    pub fn subscriber(&self, endpoint: &Arc<Endpoint>) -> Subscriber {
        let mut subscribers = self.subscribers.lock();
        if let Some(subscriber) = subscribers.get(endpoint).and_then(WeakSubscriber::upgrade) {
            return subscriber;
        }
        subscribers.retain(|_, known| known.upgrade().is_some());
        let subscriber = Subscriber::new(endpoint.clone());
        subscribers.insert(endpoint.clone(), subscriber.downgrade());
        subscriber
    }

    fn link(&self, endpoint: &Arc<Endpoint>, traffic: Traffic) -> Link {
        let mut links = self.links.lock();
        let key = (endpoint.clone(), traffic);
        if let Some(link) = links.get(&key).and_then(WeakLink::join) {
            return link;
        }
        links.retain(|_, known| !known.is_closed());
        let mut options = LinkOptions { scripts: self.scripts.clone(), linger: LINGER, ..LinkOptions::default() };
        if traffic != Traffic::Command {
            options.silence = LONG_SILENCE;
        }
        let link = Link::open(endpoint.clone(), options);
        links.insert(key, link.downgrade());
        link
    }
}
