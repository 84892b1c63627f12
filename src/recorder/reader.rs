//! Reads the streams of many queues, all those of a server on one connection.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use redis::{Cmd, Value};
use tokio::sync::{Mutex, Notify};

use super::budget::Budget;
use super::event::{Event, Minute};
use super::stream::{Found, Gap, Stream};
use crate::clock::now_ms;
use crate::connection::{Endpoint, Link, LinkOptions, Retry};
use crate::error::{Error, Result};
use crate::protocol::Keys;

/// So many streams are read in one write.
const STREAMS: usize = 64;
/// What is read together is handed on when it has so many events, or after this time.
const EVENTS: usize = 5_000;
const TOGETHER: Duration = Duration::from_millis(100);
/// A server that does not answer holds up the others no longer than this.
const LONGEST_CALL: Duration = Duration::from_secs(2);
/// A server that could not be read is asked again after this time.
const PAUSE: Duration = Duration::from_secs(1);
/// Connects anew if a reply does not come for four of these.
const SILENCE: Duration = Duration::from_secs(5);

/// What was read of one queue.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// "" if a whole server cannot be read.
    pub queue: String,
    /// From where to read on.
    pub position: String,
    /// In their order, of one job in `share`.
    pub events: Vec<Event>,
    /// How many events there were by the minutes since 1970, in the order of [`super::Kind::ALL`], of all jobs.
    pub minutes: BTreeMap<i64, Minute>,
    pub gap: Option<Gap>,
    /// When the oldest entry came, at the first read of a stream from its beginning.
    pub since: Option<i64>,
    pub share: u32,
    /// Why the queue cannot be read; reported once as long as it lasts.
    pub error: Option<Error>,
}

/// What was read of all queues.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub seen: Vec<Seen>,
    /// Everything that was written before this time, in ms, was seen, but for queues that cannot be read; `None` if that
    /// is not known yet.
    pub until: Option<i64>,
}

/// A queue to follow.
pub struct Followed {
    pub endpoint: Arc<Endpoint>,
    pub keys: Keys,
    /// The id of the last entry that is known; `None` is the beginning.
    pub after: Option<String>,
}

/// Follows queues. It writes nothing, and holds no more than what it hands on next.
pub struct Reader {
    client_name: String,
    wanted: crate::mutex::Mutex<Option<Vec<Followed>>>,
    changed: Notify,
    servers: Mutex<Servers>,
}

struct Servers {
    by_endpoint: HashMap<Arc<Endpoint>, Server>,
    budget: Budget,
}

struct Server {
    link: Link,
    streams: Vec<Stream>,
    /// The error that was reported, as long as it lasts.
    refused: Option<Error>,
}

impl Reader {
    /// Does no I/O. `events_per_second` is how many events of jobs can be written.
    #[must_use]
    pub fn new(client_name: String, events_per_second: u32) -> Self {
        let servers = Servers { by_endpoint: HashMap::new(), budget: Budget::new(events_per_second) };
        Reader {
            client_name,
            wanted: crate::mutex::Mutex::default(),
            changed: Notify::new(),
            servers: Mutex::new(servers),
        }
    }

    /// Follows these queues and no others. Those that are followed already go on from where they are.
    pub fn follow(&self, queues: Vec<Followed>) {
        *self.wanted.lock() = Some(queues);
        self.changed.notify_one();
    }

    /// Waits until something was read, and returns it; nothing after `limit`.
    pub async fn next(&self, limit: Duration) -> Batch {
        let mut servers = self.servers.lock().await;
        let (begun, mut seen, mut events) = (Instant::now(), Vec::new(), 0);
        loop {
            if let Some(wanted) = self.wanted.lock().take() {
                servers.follow(wanted, &self.client_name);
            }
            let now = Instant::now();
            let passed = now - begun;
            if passed >= limit || events >= EVENTS || (!seen.is_empty() && passed >= TOGETHER) {
                return Batch { seen, until: servers.until() };
            }
            let end = begun + if seen.is_empty() { limit } else { TOGETHER };
            let due = servers.due().map_or(end, |due| due.min(end));
            if due > now {
                tokio::select! {
                    () = tokio::time::sleep_until(due.into()) => {}
                    () = self.changed.notified() => {}
                }
                continue;
            }
            let read = servers.read(now).await;
            events += read.iter().map(|seen| seen.events.len()).sum::<usize>();
            seen.extend(read);
        }
    }
}

impl Servers {
    fn follow(&mut self, wanted: Vec<Followed>, client_name: &str) {
        let now = Instant::now();
        let mut before: HashMap<Keys, Stream> = HashMap::new();
        for server in self.by_endpoint.values_mut() {
            before.extend(server.streams.drain(..).map(|stream| (stream.keys.clone(), stream)));
        }
        for Followed { endpoint, keys, after } in wanted {
            let stream = before.remove(&keys).unwrap_or_else(|| Stream::new(keys, after, now));
            let server = self.by_endpoint.entry(endpoint).or_insert_with_key(|endpoint| {
                let options = LinkOptions {
                    client_name: Some(client_name.to_owned()),
                    silence: SILENCE,
                    ..LinkOptions::default()
                };
                let link = Link::open(endpoint.clone(), options).with_call_timeout(Some(LONGEST_CALL));
                Server { link, streams: Vec::new(), refused: None }
            });
            server.streams.push(stream);
        }
        self.by_endpoint.retain(|_, server| !server.streams.is_empty());
    }

    /// When the next read is due.
    fn due(&self) -> Option<Instant> {
        self.by_endpoint.values().flat_map(|server| &server.streams).map(|stream| stream.due).min()
    }

    fn until(&self) -> Option<i64> {
        let streams = self.by_endpoint.values().flat_map(|server| &server.streams);
        streams.filter(|stream| !stream.is_refused()).map(|stream| stream.until).min().flatten()
    }

    /// Reads the streams that are due, of all servers at once.
    async fn read(&mut self, now: Instant) -> Vec<Seen> {
        let replies = join_all(self.by_endpoint.values().map(|server| server.ask(now))).await;
        let mut seen = Vec::new();
        for (server, replies) in self.by_endpoint.values_mut().zip(replies) {
            server.take(replies, &mut self.budget, &mut seen);
        }
        seen
    }
}

/// The replies to the reads of some streams, by their places in the list.
struct Replies {
    asked: Vec<usize>,
    generation: Option<u64>,
    /// When they were sent, in ms.
    at: i64,
    replies: Result<Vec<Vec<Result<Value>>>>,
}

impl Server {
    /// Asks for the streams that are due; changes nothing.
    async fn ask(&self, now: Instant) -> Replies {
        let due = |(place, stream): (usize, &Stream)| (stream.due <= now).then_some(place);
        let asked: Vec<usize> = self.streams.iter().enumerate().filter_map(due).take(STREAMS).collect();
        let at = now_ms();
        if asked.is_empty() {
            return Replies { asked, generation: None, at, replies: Ok(Vec::new()) };
        }
        let replies = async {
            self.link.ready().await?;
            let generation = self.link.generation();
            let commands: Vec<Vec<Cmd>> = asked.iter().map(|&place| self.streams[place].commands(generation)).collect();
            let flat: Vec<&Cmd> = commands.iter().flatten().collect();
            let mut replies = self.link.pipeline(&flat, Retry::Look).await?.into_iter();
            Ok((generation, commands.iter().map(|sent| replies.by_ref().take(sent.len()).collect()).collect()))
        };
        match replies.await {
            Ok((generation, replies)) => Replies { asked, generation, at, replies: Ok(replies) },
            Err(error) => Replies { asked, generation: None, at, replies: Err(error) },
        }
    }

    fn take(&mut self, Replies { asked, generation, at, replies }: Replies, budget: &mut Budget, seen: &mut Vec<Seen>) {
        let now = Instant::now();
        let replies = match replies {
            Ok(replies) => replies,
            Err(error) => {
                for place in asked {
                    self.streams[place].due = now + PAUSE;
                }
                return self.refuse(error, seen);
            }
        };
        if !asked.is_empty() {
            self.refused = None;
        }
        for (place, replies) in asked.into_iter().zip(replies) {
            let stream = &mut self.streams[place];
            match stream.take(replies, generation, budget, now) {
                Ok(None) => {}
                Ok(Some(found)) => {
                    if !found.is_full {
                        stream.until = Some(at);
                    }
                    if found.page.entries > 0 || found.gap.is_some() {
                        seen.push(seen_of(stream, found));
                    }
                }
                Err(Error::WrongShape(_)) => {
                    stream.due = now + PAUSE;
                    // The connection counts as lost, and everything is read again from where it was.
                    let _ = self.link.believe(Retry::Look, Err::<(), _>(Error::wrong_shape("entries of a stream")));
                }
                Err(error) => {
                    let (queue, position) = (stream.keys.name().to_owned(), stream.position.clone());
                    seen.push(Seen { queue, position, share: stream.share, error: Some(error), ..Seen::default() });
                }
            }
        }
    }

    /// Reports why a server cannot be read, for all of its queues: once as long as it lasts.
    fn refuse(&mut self, error: Error, seen: &mut Vec<Seen>) {
        if self.refused.as_ref() != Some(&error) {
            seen.push(Seen { error: Some(error.clone()), share: 1, ..Seen::default() });
            self.refused = Some(error);
        }
    }
}

fn seen_of(stream: &Stream, Found { page, gap, since, .. }: Found) -> Seen {
    Seen {
        queue: stream.keys.name().to_owned(),
        position: stream.position.clone(),
        events: page.events,
        minutes: page.minutes,
        gap,
        since,
        share: stream.share,
        error: None,
    }
}
