//! Tells what a reader reads: batches to listeners, ends of jobs to those who wait for one.
//!
//! It reads only while someone wants to know, and not on while a listener is too far behind: what is unread stays in Redis, not
//! in memory.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::{mpsc, oneshot, watch, Notify, Semaphore};

use super::reader::{Entry, Reader};
use super::recent::{JobEnd, Recent};
use crate::error::{Error, Result};
use crate::lock::Mutex;
use crate::outage::Outage;

/// Pause after an error that a reconnect does not mend.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// How many events a listener may be behind; those who wait for a job hear of its end meanwhile.
const BEHIND: usize = 1_000;
/// The events that end a job, with the field that says how.
const ENDS: [(&str, &str); 3] = [("completed", "returnvalue"), ("failed", "failedReason"), ("removed", "prev")];

/// What a listener gets.
#[derive(Clone, Debug)]
pub enum News {
    Batch(Arc<Vec<Entry>>),
    /// Reading goes on by itself; what lasts is told once.
    Trouble(Error),
}

impl News {
    fn size(&self) -> u32 {
        match self {
            News::Batch(entries) => entries.len() as u32,
            News::Trouble(_) => 1,
        }
    }
}

struct Listener {
    number: u64,
    /// Where it began to listen; unknown before the first connection.
    from: Option<String>,
    sender: Sender,
}

/// The way to one listener, with room for so many events.
#[derive(Clone)]
struct Sender {
    news: mpsc::UnboundedSender<News>,
    room: Arc<Semaphore>,
}

impl Sender {
    /// Wait for room, unless the listener leaves.
    async fn send(&self, news: News) {
        if let Ok(taken) = self.room.acquire_many(news.size()).await {
            taken.forget();
            let _ = self.news.send(news);
        }
    }
}

struct Waiter {
    number: u64,
    sender: oneshot::Sender<JobEnd>,
}

#[derive(Default)]
struct State {
    /// The last entry that was told; `None` stands for the end of the stream, until the first connection.
    after: Option<String>,
    /// Changes when the position is set back.
    epoch: u64,
    numbers: u64,
    listeners: Vec<Listener>,
    waiters: HashMap<String, Vec<Waiter>>,
    recent: Recent,
}

impl State {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn senders(&self) -> Vec<Sender> {
        self.listeners.iter().map(|listener| listener.sender.clone()).collect()
    }
}

pub struct Feed {
    state: Mutex<State>,
    /// Rings when somebody came or the position was set back.
    changed: Notify,
    /// Why the first connection failed, or that it was made.
    ready: watch::Sender<Option<Result<()>>>,
    stopped: watch::Sender<bool>,
}

impl Feed {
    /// `after`: an entry's id; `None` is the end of the stream as of the first connection.
    #[must_use]
    pub fn new(after: Option<String>) -> Self {
        Feed {
            state: Mutex::new(State { after, ..State::default() }),
            changed: Notify::new(),
            ready: watch::Sender::new(None),
            stopped: watch::Sender::new(false),
        }
    }

    /// Reads until [`Feed::stop`].
    pub async fn run(&self, mut reader: Reader) {
        let mut stopped = self.stopped.subscribe();
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => {}
            () = self.read_on(&mut reader) => {}
        }
    }

    async fn read_on(&self, reader: &mut Reader) {
        let outage = Outage::default();
        loop {
            let Err(error) = self.turn(reader).await else {
                outage.ends();
                continue;
            };
            let passing = matches!(error, Error::ConnectionLost(_));
            if !passing {
                self.ready.send_if_modified(|ready| {
                    let unknown = !matches!(ready, Some(Ok(())));
                    if unknown {
                        *ready = Some(Err(error.clone()));
                    }
                    unknown
                });
            }
            if outage.begins(&error) {
                let listeners = self.state.lock().senders();
                tell(listeners, News::Trouble(error)).await;
            }
            if !passing {
                tokio::time::sleep(AFTER_ERROR).await;
            }
        }
    }

    async fn turn(&self, reader: &mut Reader) -> Result<()> {
        let (after, epoch) = {
            let state = self.state.lock();
            (state.after.clone(), state.epoch)
        };
        let after = reader.connect(after.as_deref()).await?;
        if !self.begin_at(&after, epoch) {
            self.changed.notified().await;
            return Ok(());
        }
        let entries = tokio::select! {
            entries = reader.read(&after) => entries?,
            () = self.set_back(epoch) => return Ok(()),
        };
        if let Some((listeners, batch)) = self.note(entries, epoch) {
            tell(listeners, batch).await;
        }
        Ok(())
    }

    /// Note the position and that all is well; true when someone wants to know what comes.
    fn begin_at(&self, after: &str, epoch: u64) -> bool {
        self.ready.send_if_modified(|ready| !matches!(ready.replace(Ok(())), Some(Ok(()))));
        let mut state = self.state.lock();
        if state.epoch == epoch {
            state.after = Some(after.to_owned());
        }
        for listener in &mut state.listeners {
            listener.from.get_or_insert_with(|| after.to_owned());
        }
        !(state.listeners.is_empty() && state.waiters.is_empty())
    }

    async fn set_back(&self, epoch: u64) {
        while self.state.lock().epoch == epoch {
            self.changed.notified().await;
        }
    }

    /// Move on behind the entries and tell those who wait for one of their jobs; returns who else is to hear of them.
    fn note(&self, entries: Vec<Entry>, epoch: u64) -> Option<(Vec<Sender>, News)> {
        let mut state = self.state.lock();
        if state.epoch != epoch {
            return None;
        }
        state.after = Some(entries.last()?.id.clone());
        for (id, outcome) in entries.iter().filter_map(ending) {
            for waiter in state.waiters.remove(id).unwrap_or_default() {
                let _ = waiter.sender.send(outcome.clone());
            }
            state.recent.note(id, &outcome);
        }
        Some((state.senders(), News::Batch(Arc::new(entries))))
    }

    /// Waits until the stream's end is known, from which on nothing will be missed.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`] after `patience`; what the server refuses us with; [`Error::Closed`].
    pub async fn ready(&self, patience: Duration) -> Result<()> {
        let mut ready = self.ready.subscribe();
        let mut stopped = self.stopped.subscribe();
        tokio::select! {
            known = ready.wait_for(Option::is_some) => match known {
                Ok(known) => known.clone().unwrap_or(Err(Error::Closed)),
                Err(_) => Err(Error::Closed),
            },
            _ = stopped.wait_for(|stopped| *stopped) => Err(Error::Closed),
            () = tokio::time::sleep(patience) => {
                Err(Error::ConnectionLost(format!("no connection to Redis within {} ms", patience.as_millis())))
            }
        }
    }

    /// Listens from now on: to what comes after the last entry that was told.
    #[must_use]
    pub fn listen(self: &Arc<Self>) -> Listening {
        let (sender, news) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(BEHIND));
        let mut state = self.state.lock();
        let (number, from) = (state.number(), state.after.clone());
        if !*self.stopped.borrow() {
            state.listeners.push(Listener { number, from, sender: Sender { news: sender, room: room.clone() } });
        }
        drop(state);
        self.changed.notify_one();
        let news = tokio::sync::Mutex::new(news);
        Listening { feed: self.clone(), number, news, room, returned: Mutex::default() }
    }

    /// Waits for the end of a job, from this call on, or also before if `late`; `None` after `patience`.
    pub fn outcome(
        self: &Arc<Self>,
        job_id: String,
        patience: Duration,
        late: bool,
    ) -> impl Future<Output = Result<Option<JobEnd>>> + Send + 'static {
        let (sender, told) = oneshot::channel();
        let mut state = self.state.lock();
        let number = state.number();
        let stopped = *self.stopped.borrow();
        if let (true, Some(outcome)) = (late, state.recent.get(&job_id)) {
            let _ = sender.send(outcome.clone());
        } else if !stopped {
            state.waiters.entry(job_id.clone()).or_default().push(Waiter { number, sender });
        }
        drop(state);
        self.changed.notify_one();
        let waiting = Waiting { feed: self.clone(), job_id, number };
        async move {
            let told = tokio::time::timeout(patience, told).await;
            drop(waiting);
            match told {
                Ok(outcome) => outcome.map(Some).map_err(|_| Error::Closed),
                Err(_) => Ok(None),
            }
        }
    }

    /// Ends reading, listening and waiting.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
        let mut state = self.state.lock();
        state.listeners.clear();
        state.waiters.clear();
    }
}

/// Hand news to listeners; it waits for those that are too far behind.
async fn tell(listeners: Vec<Sender>, news: News) {
    join_all(listeners.iter().map(|listener| listener.send(news.clone()))).await;
}

/// The job that an event ends, and how.
fn ending(entry: &Entry) -> Option<(&str, JobEnd)> {
    let event = entry.get("event")?;
    let (event, field) = ENDS.into_iter().find(|(name, _)| *name == event)?;
    Some((entry.get("jobId")?, (event, entry.get(field).unwrap_or_default().to_owned())))
}

struct Waiting {
    feed: Arc<Feed>,
    job_id: String,
    number: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.feed.state.lock();
        if let Some(waiters) = state.waiters.get_mut(&self.job_id) {
            waiters.retain(|waiter| waiter.number != self.number);
            if waiters.is_empty() {
                state.waiters.remove(&self.job_id);
            }
        }
    }
}

/// One listener's place in the feed.
pub struct Listening {
    feed: Arc<Feed>,
    number: u64,
    news: tokio::sync::Mutex<mpsc::UnboundedReceiver<News>>,
    room: Arc<Semaphore>,
    /// Batches that were given to somebody who has gone.
    returned: Mutex<VecDeque<Arc<Vec<Entry>>>>,
}

impl Listening {
    /// Waits for news; `None` once the feed has ended.
    pub async fn next(&self) -> Option<News> {
        if *self.feed.stopped.borrow() {
            return None;
        }
        let mut news = self.news.lock().await;
        let returned = self.returned.lock().pop_front();
        match returned {
            Some(entries) => Some(News::Batch(entries)),
            None => {
                let came = news.recv().await?;
                self.room.add_permits(came.size() as usize);
                Some(came)
            }
        }
    }

    /// Give back a batch that was not looked at: it is the next one.
    pub fn put_back(&self, entries: Arc<Vec<Entry>>) {
        if !entries.is_empty() {
            self.returned.lock().push_back(entries);
        }
    }

    /// Listens no more. When nobody else does, the feed goes on after `seen` for whoever comes next.
    pub fn leave(&self, seen: Option<String>) {
        let mut state = self.feed.state.lock();
        let Some(index) = state.listeners.iter().position(|listener| listener.number == self.number) else {
            return;
        };
        let left = state.listeners.remove(index);
        self.room.close(); // else room that nobody makes would be waited for
        if state.listeners.is_empty() {
            if let Some(seen) = seen.or(left.from) {
                state.after = Some(seen);
                state.epoch += 1;
            }
        }
        drop(state);
        self.feed.changed.notify_one();
    }
}
