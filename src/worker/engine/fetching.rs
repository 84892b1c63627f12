//! The engine's own fetches: those that do not go with a finish call.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Engine, MAX_WAIT};
use crate::error::Error;
use crate::heartbeat::WorkerLoop;
use crate::worker::fetch::{SentFetch, MAX_BREAKS};
use crate::worker::sleep::sleep_until;
use crate::worker::state::Closing;

impl Engine {
    pub(super) async fn fetch(&mut self, position: usize) {
        let room = self.room(0);
        let Some(request) = self.request(position, 0, room) else {
            return; // a pause or a limit has come since the engine decided to fetch
        };
        self.state.stats.calls.fetch_add(1, Ordering::Relaxed);
        let sent = SentFetch::now(request);
        let (mut closing, deadline) = (self.state.lifecycle.watch(), self.end.deadline);
        // A server that does not answer must not keep the worker from ending. The jobs it gave are found by the token.
        let end = async {
            tokio::select! {
                _ = closing.wait_for(|closing| *closing != Closing::No) => {}
                () = sleep_until(deadline) => {}
            }
            tokio::time::sleep(MAX_WAIT).await;
        };
        let heartbeat = self.state.heartbeats.of(WorkerLoop::Fetch);
        let fetched = tokio::select! {
            fetched = heartbeat.take(self.fetching.fetcher.fetch(&self.state.options, &sent)) => fetched,
            () = end => Err(Error::OutcomeUnknown("the worker ended before the server answered".to_owned())),
        };
        self.lanes.states[position].coming -= sent.request.room.count;
        match fetched {
            Ok(fetched) => self.arrive(fetched, sent),
            Err(error) => self.fetch_failed(&error, sent),
        }
    }

    pub(super) fn fetch_failed(&mut self, error: &Error, sent: SentFetch) {
        let position = sent.request.lane.position;
        self.lanes.turns.settle(position, 0);
        match error {
            Error::OutcomeUnknown(_) => {}
            // The next turn waits for a connection.
            Error::ConnectionLost(_) => return,
            error if self.is_of_one_lane(error) => self.refuse_lane(position, error),
            error => self.pause_fetching("could not fetch", error),
        }
        // The script may have stopped half-way.
        self.lanes.states[position].lost_replies.push(sent);
    }

    /// Whether an error is one of a lane, and the others go on.
    fn is_of_one_lane(&self, error: &Error) -> bool {
        self.has_several_lanes() && (error.is_about_keys() || !error.is_passing())
    }

    /// A lane with a fetch whose reply got lost, if its jobs can be looked for now.
    pub(super) fn lost_reply_of(&self) -> Option<usize> {
        self.lanes.states.iter().position(|state| !state.lost_replies.is_empty() && state.refused_until().is_none())
    }

    /// Report an error, if it is a new one, and fetch nothing for a while.
    pub(super) fn pause_fetching(&mut self, what: &str, error: &Error) {
        if self.state.fetch_outage.begins(error) {
            self.state.error(format!("{what}: {error}"));
        }
        self.fetching.paused_until = Some(Instant::now() + self.state.options.run_retry_delay);
    }

    pub(super) fn is_fetch_paused(&self) -> bool {
        self.fetching.paused_until.is_some_and(|until| Instant::now() < until)
    }

    /// Look again for the jobs of fetches that Redis may have got late.
    pub(super) fn look_for_late_jobs(&mut self) {
        for sent in self.fetching.late.take_due(Instant::now()) {
            self.lanes.states[sent.request.lane.position].lost_replies.push(sent);
        }
    }

    /// Find the jobs of a fetch whose reply got lost.
    pub(super) async fn recover(&mut self, mut sent: SentFetch) {
        let position = sent.request.lane.position;
        let found = match sent.breaks < MAX_BREAKS {
            true => self.fetching.fetcher.recover(sent.clone()).await.map(|batch| (batch, Vec::new())),
            false => self.fetching.fetcher.recover_apart(sent.clone()).await,
        };
        match found {
            Ok((batch, breaking)) => {
                if batch.jobs.is_empty() && breaking.is_empty() {
                    self.fetching.late.expect(sent, Instant::now());
                }
                self.lanes.states[position].hint.look_again();
                self.receive(batch);
                for id in breaking {
                    self.state.error(format!(
                        "the connection breaks each time job {id} is sent to this worker: it is left to the check for \
                         stalled jobs"
                    ));
                }
            }
            Err(error) if error.is_passing() || matches!(error, Error::OutcomeUnknown(_)) => {
                if error.is_about_keys() && self.has_several_lanes() {
                    self.refuse_lane(position, &error);
                } else if !matches!(error, Error::ConnectionLost(_) | Error::OutcomeUnknown(_)) {
                    self.pause_fetching("could not recover a fetch", &error);
                }
                sent.breaks += u32::from(matches!(error, Error::OutcomeUnknown(_)));
                self.lanes.states[position].lost_replies.push(sent);
            }
            Err(error) if self.has_several_lanes() => self.refuse_lane(position, &error),
            Err(error) => self.state.error(format!("could not recover a fetch: {error}")),
        }
    }
}
