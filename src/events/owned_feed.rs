//! Feeds that end with their last owner, and those that several callers of a process share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use super::feed::Feed;
use crate::connection::Endpoint;
use crate::mutex::Mutex;
use crate::protocol::Keys;

pub struct OwnedFeed {
    pub feed: Arc<Feed>,
    started: AtomicBool,
}

impl OwnedFeed {
    /// `after`: see [`Feed::new`].
    #[must_use]
    pub fn new(after: Option<String>) -> Arc<Self> {
        Arc::new(Self { feed: Arc::new(Feed::new(after)), started: AtomicBool::new(false) })
    }

    /// True for the first caller, who has to run the feed.
    #[must_use]
    pub fn starts(&self) -> bool {
        !self.started.swap(true, Ordering::AcqRel)
    }
}

impl Drop for OwnedFeed {
    fn drop(&mut self) {
        self.feed.stop();
    }
}

/// The shared feeds of a process, by server and queue.
#[derive(Default)]
pub struct SharedFeeds(Mutex<HashMap<Place, Weak<OwnedFeed>>>);

type Place = (Arc<Endpoint>, Keys);

impl SharedFeeds {
    /// The feed of a queue, from the end of its stream when it was started.
    pub fn get(&self, endpoint: &Arc<Endpoint>, keys: &Keys) -> Arc<OwnedFeed> {
        let mut feeds = self.0.lock();
        let place = (endpoint.clone(), keys.clone());
        if let Some(feed) = feeds.get(&place).and_then(Weak::upgrade) {
            return feed;
        }
        feeds.retain(|_, known| known.strong_count() > 0);
        let feed = OwnedFeed::new(None);
        feeds.insert(place, Arc::downgrade(&feed));
        feed
    }
}
