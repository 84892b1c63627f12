//! The engine of a worker: one task that sends outcomes, fetches jobs, waits, and ends in order.
//!
//! The way of a job through the worker:
//!
//! 1. Fetched. The engine asks for as many jobs as it has room for (`engine/capacity.rs`, `engine/prefetch.rs`). The
//!    reply brings them (`fetch/fetcher.rs`).
//! 2. Admitted. From now on its lock is held and renewed. A job that must not run gets its outcome at once
//!    (`engine/admission.rs`).
//! 3. Ready. It waits in the ready queue (`ready_queue/mod.rs`). If it was claimed ahead and no handler takes it soon,
//!    it is given back (`engine/claims.rs`).
//! 4. Taken. A thread or an event loop takes it for its handler (`state/take.rs`).
//! 5. Submitted. The handler's outcome goes into the outcome queue and wakes the engine (`state/submit.rs`,
//!    `state/outcome_queue.rs`).
//! 6. Planned. The engine takes a batch of outcomes (`engine/batching.rs`). Each outcome gets the call that it needs
//!    (`finish/plan.rs`).
//! 7. Finished. One call finishes the jobs of the batch and fetches the next ones (`finish/finisher.rs`). A second such
//!    call may be in flight at the same time (`finish/in_flight.rs`). Jobs that are retried or go back need calls of
//!    their own (`finish/moves.rs`). Under a global concurrency it leaves a slot to other workers now and then
//!    (`fetch/share.rs`).
//! 8. Reported. The engine counts the settled jobs, forgets their locks and tells listeners (`engine/completion.rs`,
//!    `listeners/backlog.rs`).
//!
//! How a worker stops taking jobs, because it closes or is paused, is in `engine/shutdown.rs`.
//!
//! A worker serves one lane per queue (`lanes/mod.rs`), most workers a single one. With several lanes:
//!
//! - A turn is one fetch, alone or with a finish call. `engine/next_turn.rs` gives the turns. `engine/opening.rs`
//!   opens lanes that were offered and starts their timers, closes those of routes that have retired, and leaves out
//!   lanes that Redis refuses.
//! - Outcomes are grouped by lane, with one finish call each (`engine/batching.rs`). A call fetches only if the next
//!   turn is that of its own lane; a fetch from another lane goes beside it.
//! - One BZPOPMIN waits for the markers of all lanes (`engine/markers.rs`, `fetch/fetch_hint.rs`).
//! - All slots share one count, and nothing is claimed ahead.

mod admission;
mod background;
mod batching;
mod cancellations;
mod capacity;
mod claims;
mod completion;
mod end;
mod ending;
mod fetches;
mod fetching;
mod finishes;
mod lane_state;
mod lanes;
mod markers;
mod messages;
mod next_turn;
mod opening;
mod prefetch;
mod routes;
mod scan_rest;
mod shutdown;
mod waiting;
mod waits;

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinSet;

use self::end::End;
use self::fetches::Fetching;
use self::finishes::Finishing;
use self::lanes::Lanes;
use self::waits::Waiting;
use super::fetch::MarkerWaiter;
use super::listeners::Event;
use super::options::RunLimits;
use super::sleep::sleep_until;
use super::state::{Closing, WorkerState};
use crate::connection::{BlockingLink, Link, Subscriber};
use crate::heartbeat::WorkerLoop;
use crate::protocol::Keys;

/// How long the engine waits for a connection, or for a reply when it ends. Only outcomes wait longer.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Start a worker's engine on the current runtime.
pub fn start(state: Arc<WorkerState>, link: Link, blocking: BlockingLink, subscriber: Subscriber, limits: RunLimits) {
    let tasks = background::watch_connection(&state, &link);
    let fetching = Fetching::new(&state, &link, link.with_connect_timeout(Some(MAX_WAIT)));
    let engine = Engine {
        waiting: Waiting::new(MarkerWaiter::new(blocking.beside(&link), state.heartbeats.of(WorkerLoop::Wait).clone())),
        fetching,
        finishing: Finishing::default(),
        lanes: Lanes::default(),
        end: End::new(limits),
        keys: state.keys.clone(),
        state: state.clone(),
        link,
        subscriber,
        tasks,
    };
    tokio::spawn(async move {
        if std::panic::AssertUnwindSafe(engine.run()).catch_unwind().await.is_err() {
            state.error("the worker stopped because of an internal error".to_owned());
        }
        state.ready_queue.withdraw_all();
        let abandoned = state.lanes.all().iter().map(|lane| lane.locks.len()).sum();
        state.stats.abandoned.store(abandoned, Ordering::Relaxed);
        state.end();
    });
}

struct Engine {
    state: Arc<WorkerState>,
    link: Link,
    subscriber: Subscriber,
    keys: Keys,
    /// Timers, and calls for which the engine does not wait.
    tasks: JoinSet<()>,
    waiting: Waiting,
    fetching: Fetching,
    finishing: Finishing,
    lanes: Lanes,
    end: End,
}

impl Engine {
    async fn run(mut self) {
        let state = self.state.clone();
        tokio::select! {
            biased;
            // First, so that nothing more is sent. It also ends a wait for a server that does not answer.
            () = state.lifecycle.end_demanded(MAX_WAIT) => {}
            () = async { self.work().await; self.shut_down().await } => {}
        }
        // Those of handlers that still run. Their outcomes come too late.
        self.lanes.states.iter().for_each(|state| state.lane.locks.lose_all());
        // Lock renewal ends last.
        self.tasks.shutdown().await;
        routes::leave(&state, &self.link).await;
    }

    /// Work until asked to close or until the run's end is reached.
    async fn work(&mut self) {
        let mut closing = self.state.lifecycle.watch();
        let deadline = self.end.deadline;
        tokio::select! {
            checked = self.check_server() => if let Err(error) = checked {
                return self.state.lifecycle.refuse(error);
            },
            _ = closing.wait_for(|closing| *closing != Closing::No) => return,
            () = sleep_until(deadline) => return,
        }
        let mut routes = routes::registry(&self.state, &self.link);
        tokio::select! {
            () = routes::open(&self.state, routes.as_mut()) => {}
            _ = closing.wait_for(|closing| *closing != Closing::No) => return,
            () = sleep_until(deadline) => return,
        }
        if let Some(routes) = routes {
            self.tasks.spawn(routes::watch(self.state.clone(), routes));
            self.tasks.spawn(routes::keep(self.state.clone(), self.link.clone()));
        }
        background::start(&mut self.tasks, &self.state, &self.link);
        self.state.emit(Event::Ready);
        while self.state.lifecycle.closing() == Closing::No && !self.end.is_overdue() {
            self.open_lanes();
            self.check_lanes().await;
            self.look_where_hinted();
            self.look_for_late_jobs();
            self.renew_wait();
            self.waiting.opening = self.next_opening();
            let room = self.room(0).count;
            self.check_markers(room > 0).await;
            self.check_refused_markers().await;
            self.heed_pause().await;
            self.return_markers().await;
            self.poll_markers().await;
            self.return_jobs();
            let outcomes = self.take_outcomes();
            if outcomes.is_empty() && self.is_gathering() {
                self.wait(0).await;
            } else if !outcomes.is_empty() {
                self.send(outcomes);
            } else if !self.finishing.in_flight.is_empty() {
                self.wait(0).await;
            } else if !self.is_connected().await {
                // The next turn sees what has happened meanwhile.
            } else if self.is_fetch_paused() {
                self.wait(0).await;
            } else if let Some(sent) = self.lost_reply_of().and_then(|lane| self.lanes.states[lane].lost_replies.pop())
            {
                self.recover(sent).await;
            } else if let Some(lane) = (room > 0).then(|| self.next_turn()).flatten() {
                self.fetch(lane).await;
            } else if self.lanes.in_hand == 0 && self.has_ended().await {
                return;
            } else {
                self.wait(room).await;
            }
        }
    }
}
