//! Sleeps on the queue's marker, beside the engine.
//!
//! A pending BZPOPMIN is never abandoned: its reply may already be popped. So it runs in a task of its own, and the
//! engine looks at what it brought whenever it likes.

use std::time::Duration;

use tokio::sync::mpsc;

use crate::connection::BlockingLink;
use crate::error::Result;

/// Pause after a wait that failed, so that a broken server is not hammered.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// What a wait brought: a popped marker (member, score), or nothing within the time.
pub type Woken = Result<Option<(String, f64)>>;

pub struct MarkerWaiter {
    orders: mpsc::Sender<Duration>,
    results: mpsc::Receiver<Woken>,
    waiting: bool,
}

impl MarkerWaiter {
    /// Start the task; it ends, and its socket closes, when this value is dropped.
    pub fn start(mut link: BlockingLink, marker: String) -> Self {
        let (orders, mut ordered) = mpsc::channel::<Duration>(1);
        let (brought, results) = mpsc::channel(1);
        tokio::spawn(async move {
            // At once, although a busy worker does not wait: by this connection others see that it is there.
            tokio::select! {
                _ = link.connect() => {}
                () = brought.closed() => return,
            }
            while let Some(timeout) = ordered.recv().await {
                let woken = tokio::select! {
                    woken = link.wait_marker(&marker, timeout) => woken,
                    () = brought.closed() => return,
                };
                if woken.is_err() {
                    tokio::time::sleep(AFTER_ERROR).await;
                }
                if brought.send(woken).await.is_err() {
                    return;
                }
            }
        });
        Self { orders, results, waiting: false }
    }

    /// Wait for the marker, or go on with the wait that is pending. Safe to cancel.
    pub async fn wait(&mut self, timeout: Duration) -> Woken {
        if !self.waiting {
            self.waiting = self.orders.try_send(timeout).is_ok();
        }
        match self.results.recv().await {
            Some(woken) => {
                self.waiting = false;
                woken
            }
            None => std::future::pending().await,
        }
    }

    /// Give up the pending wait and close its socket; returns what it had brought by then.
    pub fn stop(&mut self) -> Option<Woken> {
        self.results.close();
        self.poll()
    }

    /// What a pending wait has brought meanwhile.
    pub fn poll(&mut self) -> Option<Woken> {
        let woken = self.results.try_recv().ok()?;
        self.waiting = false;
        Some(woken)
    }
}
