//! Passes on what a reader reads: batches to listeners, and the ends of jobs to those who wait for one.
//!
//! It reads only while somebody listens or waits, and stops while a listener is too far behind: unread entries stay in
//! Redis, not in memory.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{watch, Notify};

use super::reader::{Entry, Reader};
use super::recent::JobEnd;
use super::state::{send_to_all, Message, Sender, State};
use crate::error::{Error, Result};
use crate::error_once::ErrorOnce;
use crate::mutex::Mutex;

/// Pause after an error that a new connection does not solve.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(5);
/// The events that end a job, with the field that holds its result, reason or former state.
const ENDS: [(&str, &str); 3] = [("completed", "returnvalue"), ("failed", "failedReason"), ("removed", "prev")];

/// Reads the stream of one queue for all its listeners and waiters.
pub struct Feed {
    pub(super) state: Mutex<State>,
    /// Notified when somebody came or the position was set back.
    pub(super) changed: Notify,
    /// Whether the first connection was made, or why it failed.
    ready: watch::Sender<Option<Result<()>>>,
    pub(super) stopped: watch::Sender<bool>,
    /// Why nothing is ever read: the queue is not BullMQ's.
    pub(super) refusal: OnceLock<Error>,
}

impl Feed {
    /// `after`: an entry's id; `None` is the end of the stream as of the first connection.
    #[must_use]
    pub fn new(after: Option<String>) -> Self {
        Feed {
            state: Mutex::new(State::at(after)),
            changed: Notify::new(),
            ready: watch::Sender::new(None),
            stopped: watch::Sender::new(false),
            refusal: OnceLock::new(),
        }
    }

    /// Reads until [`Feed::stop`], or until it is known that the queue is not BullMQ's: `check` says so, which is asked
    /// when the server is reached.
    pub async fn run<C: Future<Output = Result<()>>>(&self, mut reader: Reader, check: impl Fn() -> C) {
        let mut stopped = self.stopped.subscribe();
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => {}
            () = self.read_all(&mut reader, check) => {}
        }
    }

    async fn read_all<C: Future<Output = Result<()>>>(&self, reader: &mut Reader, check: impl Fn() -> C) {
        let (errors, mut checked) = (ErrorOnce::default(), false);
        loop {
            let Err(error) = self.read_once(reader, &mut checked, &check).await else {
                errors.ends();
                continue;
            };
            if matches!(error, Error::LegacyQueue(_) | Error::QueueName(_)) {
                return self.refuse(error).await;
            }
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
            if errors.begins(&error) {
                let listeners = self.state.lock().senders();
                send_to_all(listeners, Message::Error(error)).await;
            }
            if !passing {
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }

    /// Nobody waits for something that cannot come, now or later.
    async fn refuse(&self, error: Error) {
        let _ = self.refusal.set(error.clone());
        self.ready.send_replace(Some(Err(error.clone())));
        let listeners = {
            let mut state = self.state.lock();
            state.waiters.clear();
            state.senders()
        };
        send_to_all(listeners, Message::Error(error)).await;
    }

    async fn read_once<C: Future<Output = Result<()>>>(
        &self,
        reader: &mut Reader,
        checked: &mut bool,
        check: impl Fn() -> C,
    ) -> Result<()> {
        let (after, epoch) = {
            let state = self.state.lock();
            (state.after.clone(), state.epoch)
        };
        let after = reader.connect(after.as_deref()).await?;
        if !*checked {
            check().await?;
            *checked = true;
        }
        if !self.begin_at(&after, epoch) {
            self.changed.notified().await;
            return Ok(());
        }
        let entries = tokio::select! {
            entries = reader.read(&after) => entries?,
            () = self.set_back(epoch) => return Ok(()),
        };
        if let Some((listeners, batch)) = self.note(entries, epoch) {
            send_to_all(listeners, batch).await;
        }
        Ok(())
    }

    /// Sets the position and reports a working connection; true if somebody listens or waits.
    fn begin_at(&self, after: &str, epoch: u64) -> bool {
        self.ready.send_if_modified(|ready| !matches!(ready.replace(Ok(())), Some(Ok(()))));
        let mut state = self.state.lock();
        if state.epoch == epoch {
            state.after = Some(after.to_owned());
        }
        for listener in &mut state.listeners {
            listener.from.get_or_insert_with(|| after.to_owned());
        }
        !state.nobody_is_there()
    }

    /// Waits until the position is set back.
    async fn set_back(&self, epoch: u64) {
        while self.state.lock().epoch == epoch {
            self.changed.notified().await;
        }
    }

    /// Moves the position behind the entries and answers those who wait for one of their jobs; returns the listeners to
    /// send them to.
    fn note(&self, entries: Vec<Entry>, epoch: u64) -> Option<(Vec<Sender>, Message)> {
        let mut state = self.state.lock();
        if state.epoch != epoch {
            return None;
        }
        state.after = Some(entries.last()?.id.clone());
        for (id, end) in entries.iter().filter_map(ending) {
            for waiter in state.waiters.remove(id).unwrap_or_default() {
                let _ = waiter.sender.send(end.clone());
            }
            state.recent.note(id, &end);
        }
        Some((state.senders(), Message::Entries(Arc::new(entries))))
    }

    /// Waits until the position in the stream is known: from then on no event is missed.
    ///
    /// # Errors
    /// [`Error::ConnectionLost`] after `timeout`; the refusal of the server; [`Error::Closed`].
    pub async fn ready(&self, timeout: Duration) -> Result<()> {
        let mut ready = self.ready.subscribe();
        let mut stopped = self.stopped.subscribe();
        tokio::select! {
            known = ready.wait_for(Option::is_some) => match known {
                Ok(known) => known.clone().unwrap_or(Err(Error::Closed)),
                Err(_) => Err(Error::Closed),
            },
            _ = stopped.wait_for(|stopped| *stopped) => Err(Error::Closed),
            () = tokio::time::sleep(timeout) => {
                Err(Error::ConnectionLost(format!("no connection to Redis within {} ms", timeout.as_millis())))
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

/// The job that an event ends, and its end.
fn ending(entry: &Entry) -> Option<(&str, JobEnd)> {
    let event = entry.get("event")?;
    let (event, field) = ENDS.into_iter().find(|(name, _)| *name == event)?;
    Some((entry.get("jobId")?, (event, entry.get(field).unwrap_or_default().to_owned())))
}
