//! The engine's own fetches: those that do not go with a finish call.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Engine, MAX_WAIT};
use crate::error::Error;
use crate::worker::fetch::SentFetch;
use crate::worker::sleep::sleep_until;
use crate::worker::state::Closing;

impl Engine {
    pub(super) async fn fetch(&mut self) {
        let room = self.room(0);
        if room.count == 0 {
            return; // a pause or a limit has come since the engine decided to fetch
        }
        self.state.stats.calls.fetch_add(1, Ordering::Relaxed);
        let sent = SentFetch::now(self.fetcher.request(room));
        let (mut closing, deadline) = (self.state.lifecycle.watch(), self.deadline);
        // A server that does not answer must not keep the worker from ending. The jobs it gave are found by the token.
        let end = async {
            tokio::select! {
                _ = closing.wait_for(|closing| *closing != Closing::No) => {}
                () = sleep_until(deadline) => {}
            }
            tokio::time::sleep(MAX_WAIT).await;
        };
        let fetched = tokio::select! {
            fetched = self.fetcher.fetch(&self.state.options, &sent) => fetched,
            () = end => Err(Error::OutcomeUnknown("the worker ended before the server answered".to_owned())),
        };
        match fetched {
            Ok(fetched) => {
                self.fetch_outage.ends();
                self.arrive(fetched, sent);
            }
            Err(Error::OutcomeUnknown(_)) => self.lost_replies.push(sent),
            // The next turn waits for a connection.
            Err(Error::ConnectionLost(_)) => {}
            Err(error) => {
                self.pause_fetching("could not fetch", &error);
                // The script may have stopped half-way.
                self.lost_replies.push(sent);
            }
        }
    }

    /// Report an error, if it is a new one, and fetch nothing for a while.
    fn pause_fetching(&mut self, what: &str, error: &Error) {
        if self.fetch_outage.begins(error) {
            self.state.error(format!("{what}: {error}"));
        }
        self.fetch_paused_until = Some(Instant::now() + self.state.options.run_retry_delay);
    }

    pub(super) fn is_fetch_paused(&self) -> bool {
        self.fetch_paused_until.is_some_and(|until| Instant::now() < until)
    }

    /// Find the jobs of a fetch whose reply got lost.
    pub(super) async fn recover(&mut self, sent: SentFetch) {
        match self.fetcher.recover(sent.clone()).await {
            Ok(batch) => self.receive(batch),
            Err(error) if error.is_passing() || matches!(error, Error::OutcomeUnknown(_)) => {
                if !matches!(error, Error::ConnectionLost(_) | Error::OutcomeUnknown(_)) {
                    self.pause_fetching("could not recover a fetch", &error);
                }
                self.lost_replies.push(sent);
            }
            Err(error) => self.state.error(format!("could not recover a fetch: {error}")),
        }
    }
}
