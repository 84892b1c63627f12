//! Waits for the markers of the worker's queues, in a task beside the engine.
//!
//! A pending BZPOPMIN is never cancelled: the server may already have popped a marker. So it runs in a task of its
//! own, and the engine reads the result when it has time. A wait is ended by closing the write side of its socket and
//! reading to its end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::connection::BlockingLink;
use crate::error::{Error, Result};
use crate::heartbeat::Heartbeat;
use crate::worker::lanes::Lane;

/// Pause after a wait that failed, so that a broken server does not get too many calls. If the server refuses every
/// wait, the pause becomes longer and longer.
const AFTER_ERROR: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What to wait for.
pub struct Watch {
    pub lanes: Vec<Arc<Lane>>,
    pub timeout: Duration,
}

/// A marker that was popped.
pub struct Marker {
    /// The position of the lane that it belongs to.
    pub lane: usize,
    pub member: String,
    pub score: f64,
}

impl Marker {
    /// The member of the marker that says that jobs may run now.
    pub const PLAIN: &str = "0";

    pub fn plain(lane: usize) -> Self {
        Self { lane, member: Self::PLAIN.to_owned(), score: 0.0 }
    }
}

/// The result of a wait: a popped marker, or nothing within the time.
pub type Popped = Result<Option<Marker>>;

pub struct MarkerWaiter {
    requests: mpsc::Sender<Watch>,
    results: mpsc::Receiver<Popped>,
    waiting: bool,
    /// The task ends its wait when this is dropped.
    goes_on: Option<watch::Sender<()>>,
    /// For a new task, if this one must be given up.
    spare: BlockingLink,
    heartbeat: Arc<Heartbeat>,
}

impl MarkerWaiter {
    /// Start the task; it ends its wait and closes its socket when this value is dropped.
    ///
    /// `heartbeat` notes when waits end.
    pub fn new(link: BlockingLink, heartbeat: Arc<Heartbeat>) -> Self {
        let mut link = link.with_heartbeat(heartbeat.clone());
        let spare = link.another();
        let (requests, mut requested) = mpsc::channel::<Watch>(1);
        let (sender, results) = mpsc::channel(1);
        let (goes_on, ended) = watch::channel(());
        tokio::spawn(async move {
            // At once, although a busy worker does not wait: other programs list workers by this connection.
            tokio::select! {
                _ = link.connect() => {}
                () = end_of(&ended) => return,
            }
            let mut pause = AFTER_ERROR;
            loop {
                let requested = tokio::select! {
                    biased;
                    requested = requested.recv() => requested,
                    () = end_of(&ended) => None,
                };
                let Some(watch) = requested else { return };
                let popped = wait(&mut link, &watch, end_of(&ended)).await;
                if popped.is_err() {
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = end_of(&ended) => {}
                    }
                }
                pause = match popped {
                    Err(Error::Server { .. }) if watch.lanes.len() > 1 => (pause * 2).min(LONGEST_PAUSE),
                    _ => AFTER_ERROR,
                };
                if sender.send(popped).await.is_err() {
                    return;
                }
            }
        });
        Self { requests, results, waiting: false, goes_on: Some(goes_on), spare, heartbeat }
    }

    /// Give up the pending wait, if there is one, and wait on another connection from now on. A marker that was popped
    /// meanwhile is lost: look for jobs.
    pub fn restart(&mut self) {
        self.note_end();
        *self = Self::new(self.spare.another(), self.heartbeat.clone());
    }

    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// Start to wait, unless a wait is pending.
    pub fn start_waiting(&mut self, watch: Watch) {
        if self.waiting {
            return;
        }
        if let Err(rejected) = self.requests.try_send(watch) {
            self.restart(); // the task has ended by a fault
            let _ = self.requests.try_send(rejected.into_inner());
        }
        self.heartbeat.begin();
        self.waiting = true;
    }

    /// Wait for the end of the pending wait; forever if there is none. Safe to cancel.
    pub async fn popped(&mut self) -> Popped {
        match self.results.recv().await {
            Some(popped) => {
                self.note_end();
                popped
            }
            None if self.waiting => {
                self.restart(); // the task has ended by a fault
                Err(Error::ConnectionLost("the wait for jobs ended by itself".to_owned()))
            }
            None => std::future::pending().await,
        }
    }

    /// End the pending wait and close its socket. Returns the result if there is one: what was popped before that.
    pub async fn end(&mut self) -> Option<Popped> {
        self.goes_on = None;
        let popped = if self.waiting { self.results.recv().await } else { None };
        self.note_end();
        popped
    }

    /// The result of a pending wait, if there is one.
    pub fn poll(&mut self) -> Option<Popped> {
        let popped = self.results.try_recv().ok()?;
        self.note_end();
        Some(popped)
    }

    fn note_end(&mut self) {
        if std::mem::take(&mut self.waiting) {
            self.heartbeat.end();
        }
    }
}

/// Returns when the sender is gone.
async fn end_of(goes_on: &watch::Receiver<()>) {
    let mut goes_on = goes_on.clone();
    while goes_on.changed().await.is_ok() {}
}

async fn wait(link: &mut BlockingLink, watch: &Watch, ended: impl Future<Output = ()>) -> Popped {
    let keys: Vec<&str> = watch.lanes.iter().map(|lane| lane.keys.marker()).collect();
    let Some((key, member, score)) = link.wait_markers(&keys, watch.timeout, ended).await? else { return Ok(None) };
    let lane = watch.lanes.iter().find(|lane| lane.keys.marker() == key);
    Ok(lane.map(|lane| Marker { lane: lane.position, member, score }))
}
