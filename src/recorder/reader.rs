//! Follows the streams of many queues, all those of a server on one connection.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::memory::Memory;
use super::seen::Batch;
use super::server::{Server, Wanted};
use super::stream::Stream;
use crate::connection::{Endpoint, Link, LinkOptions};
use crate::mutex::Mutex;
use crate::protocol::Keys;

/// After this time without a reply an error of a server is reported.
const LONGEST_CALL: Duration = Duration::from_secs(2);
/// Connects anew if a reply does not come for four of these.
const SILENCE: Duration = Duration::from_secs(5);

/// A queue to follow.
pub struct Followed {
    pub endpoint: Arc<Endpoint>,
    pub keys: Keys,
    /// The id of the last entry that is known; `None` is the beginning.
    pub after: Option<String>,
}

/// Follows queues. It writes nothing, and reads on while nobody takes what it has read, up to a bound.
pub struct Reader {
    client_name: String,
    memory: Arc<Memory>,
    servers: Mutex<Servers>,
}

#[derive(Default)]
struct Servers {
    wanted: HashMap<Arc<Endpoint>, (usize, Arc<Wanted>)>,
    followed: HashSet<Keys>,
    /// They end with the reader.
    reading: JoinSet<()>,
    is_closed: bool,
}

impl Reader {
    /// Does no I/O. `events_per_second` is how many events of jobs may be kept in the long run.
    #[must_use]
    pub fn new(client_name: String, events_per_second: u32) -> Self {
        let memory = Arc::new(Memory::new(events_per_second));
        Reader { client_name, memory, servers: Mutex::default() }
    }

    /// Follows these queues, too. Those that are followed already go on from where they are. Call inside a tokio
    /// runtime.
    pub fn follow(&self, queues: Vec<Followed>) {
        let mut servers = self.servers.lock();
        if servers.is_closed {
            return;
        }
        for Followed { endpoint, keys, after } in queues {
            if servers.followed.insert(keys.clone()) {
                let (number, wanted) = self.server(&mut servers, endpoint);
                self.memory.expect(number);
                wanted.add(Stream::new(keys, after, Instant::now()));
            }
        }
    }

    /// The number of a server, and where its reader finds new streams.
    fn server(&self, servers: &mut Servers, endpoint: Arc<Endpoint>) -> (usize, Arc<Wanted>) {
        let number = servers.wanted.len();
        let Servers { wanted, reading, .. } = servers;
        let found = wanted.entry(endpoint).or_insert_with_key(|endpoint| {
            let options =
                LinkOptions { client_name: Some(self.client_name.clone()), silence: SILENCE, ..LinkOptions::default() };
            let link = Link::open(endpoint.clone(), options).with_call_timeout(Some(LONGEST_CALL));
            let wanted = Arc::new(Wanted::default());
            reading.spawn(Server::new(number, link, wanted.clone(), self.memory.clone()).read());
            (number, wanted)
        });
        found.clone()
    }

    /// Waits until something was read, and returns it; nothing after `limit`. `None`: the reader was closed, and
    /// everything was returned.
    pub async fn next(&self, limit: Duration) -> Option<Batch> {
        self.memory.next(limit).await
    }

    /// Stops reading. What was read can still be taken.
    pub fn close(&self) {
        let mut servers = self.servers.lock();
        servers.is_closed = true;
        servers.reading.abort_all();
        self.memory.close();
    }
}
