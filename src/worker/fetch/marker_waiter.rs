//! Waits for the queue's marker, in a task beside the engine.
//!
//! A pending BZPOPMIN is never cancelled: the server may already have popped the marker. So it runs in a task of its
//! own, and the engine reads the result when it has time.

use std::time::Duration;

use tokio::sync::mpsc;

use crate::connection::BlockingLink;
use crate::error::Result;

/// Pause after a wait that failed, so that a broken server does not get too many calls.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// The result of a wait: a popped marker (member, score), or nothing within the time.
pub type Popped = Result<Option<(String, f64)>>;

pub struct MarkerWaiter {
    requests: mpsc::Sender<Duration>,
    results: mpsc::Receiver<Popped>,
    waiting: bool,
}

impl MarkerWaiter {
    /// Start the task; it ends, and its socket closes, when this value is dropped.
    pub fn start(mut link: BlockingLink, marker: String) -> Self {
        let (requests, mut requested) = mpsc::channel::<Duration>(1);
        let (sender, results) = mpsc::channel(1);
        tokio::spawn(async move {
            // At once, although a busy worker does not wait: other programs list workers by this connection.
            tokio::select! {
                _ = link.connect() => {}
                () = sender.closed() => return,
            }
            while let Some(timeout) = requested.recv().await {
                let popped = tokio::select! {
                    popped = link.wait_marker(&marker, timeout) => popped,
                    () = sender.closed() => return,
                };
                if popped.is_err() {
                    tokio::time::sleep(AFTER_ERROR).await;
                }
                if sender.send(popped).await.is_err() {
                    return;
                }
            }
        });
        Self { requests, results, waiting: false }
    }

    /// Wait for the marker, or continue the pending wait. Safe to cancel.
    pub async fn wait(&mut self, timeout: Duration) -> Popped {
        if !self.waiting {
            self.waiting = self.requests.try_send(timeout).is_ok();
        }
        match self.results.recv().await {
            Some(popped) => {
                self.waiting = false;
                popped
            }
            None => std::future::pending().await,
        }
    }

    /// End the pending wait and close its socket. Returns the result if there was one by then.
    pub fn stop(&mut self) -> Option<Popped> {
        self.results.close();
        self.poll()
    }

    /// The result of a pending wait, if there is one.
    pub fn poll(&mut self) -> Option<Popped> {
        let popped = self.results.try_recv().ok()?;
        self.waiting = false;
        Some(popped)
    }
}
