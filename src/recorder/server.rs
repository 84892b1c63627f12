//! Reads the streams of one server on one connection, for as long as it is followed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Cmd, Value};
use tokio::sync::Notify;

use super::memory::Memory;
use super::seen::Seen;
use super::stream::{Found, Stream, Turn};
use crate::clock::now_ms;
use crate::connection::{Link, Retry};
use crate::error::{Error, Result};
use crate::mutex::Mutex;

/// So many streams are read in one write.
const STREAMS: usize = 64;
/// A stream that can wait is left alone for this time while there is too much else.
const LATER: Duration = Duration::from_millis(100);
/// A server that could not be read is asked again after this time.
const PAUSE: Duration = Duration::from_secs(1);

/// Streams that are to be followed, too.
#[derive(Default)]
pub(super) struct Wanted {
    streams: Mutex<Vec<Stream>>,
    came: Notify,
}

impl Wanted {
    pub fn add(&self, stream: Stream) {
        self.streams.lock().push(stream);
        self.came.notify_one();
    }
}

pub(super) struct Server {
    number: usize,
    link: Link,
    wanted: Arc<Wanted>,
    memory: Arc<Memory>,
    streams: Vec<Stream>,
    /// The error that was reported, as long as it lasts.
    refused: Option<Error>,
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
    pub fn new(number: usize, link: Link, wanted: Arc<Wanted>, memory: Arc<Memory>) -> Self {
        Server { number, link, wanted, memory, streams: Vec::new(), refused: None }
    }

    /// Reads on and on, whoever takes what was read; waits only while the memory is full.
    pub async fn read(mut self) {
        loop {
            self.streams.append(&mut self.wanted.streams.lock());
            let now = Instant::now();
            self.postpone(now);
            match self.streams.iter().map(|stream| stream.due).min() {
                Some(due) if due <= now => {
                    self.memory.room().await;
                    let replies = self.ask(now).await;
                    let seen = self.take(replies);
                    self.memory.add(self.number, seen, self.until(), Instant::now());
                }
                Some(due) => tokio::select! {
                    () = tokio::time::sleep_until(due.into()) => {}
                    () = self.wanted.came.notified() => {}
                },
                None => self.wanted.came.notified().await,
            }
        }
    }

    /// Leaves streams alone that lose nothing by it, while there is too much else: at its first start a recorder finds
    /// more than it can write.
    fn postpone(&mut self, now: Instant) {
        if self.memory.pressure(now).is_high() {
            for stream in self.streams.iter_mut().filter(|stream| stream.can_wait && stream.due <= now) {
                stream.due = now + LATER;
            }
        }
    }

    /// Asks for the streams that are due; changes nothing.
    async fn ask(&self, now: Instant) -> Replies {
        let due = |(place, stream): (usize, &Stream)| (stream.due <= now).then_some(place);
        let asked: Vec<usize> = self.streams.iter().enumerate().filter_map(due).take(STREAMS).collect();
        let at = now_ms();
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

    fn take(&mut self, Replies { asked, generation, at, replies }: Replies) -> Vec<Seen> {
        let now = Instant::now();
        let replies = match replies {
            Ok(replies) => replies,
            Err(error) => {
                for place in asked {
                    self.streams[place].due = now + PAUSE;
                }
                return self.refuse(error);
            }
        };
        self.refused = None;
        let turn = Turn { generation, streams: self.memory.queues(), pressure: self.memory.pressure(now), now, at };
        let mut seen = Vec::new();
        for (place, replies) in asked.into_iter().zip(replies) {
            let stream = &mut self.streams[place];
            match stream.take(replies, turn) {
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
                    seen.push(Seen { queue, position, share: stream.share(), error: Some(error), ..Seen::default() });
                }
            }
        }
        seen
    }

    /// Reports why a server cannot be read, for all of its queues: once as long as it lasts.
    fn refuse(&mut self, error: Error) -> Vec<Seen> {
        if self.refused.as_ref() == Some(&error) {
            return Vec::new();
        }
        self.refused = Some(error.clone());
        vec![Seen { error: Some(error), share: 1, ..Seen::default() }]
    }

    /// Before which time all was read, if that is known, but for streams that are refused; `None` if all are.
    fn until(&self) -> Option<Option<i64>> {
        self.streams.iter().filter(|stream| !stream.is_refused()).map(|stream| stream.until).min()
    }
}

fn seen_of(stream: &Stream, Found { page, gap, since, share, .. }: Found) -> Seen {
    Seen {
        queue: stream.keys.name().to_owned(),
        position: stream.position.clone(),
        events: page.events,
        minutes: page.minutes,
        gap,
        since,
        share,
        error: None,
    }
}
