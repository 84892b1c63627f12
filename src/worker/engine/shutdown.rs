//! How the engine stops taking jobs: while the worker is paused, and for ever. It ends its wait, gives back what has
//! not started, and wakes other workers for what it leaves.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::claims::CLAIM_CHECK;
use super::{Engine, MAX_WAIT};
use crate::scripts::hint::wake_another;
use crate::worker::finish::CompletedCall;
use crate::worker::limits;
use crate::worker::sleep::sleep_until;

/// How often the engine checks whether the outcomes in flight can still be accepted.
const EXPIRY_CHECK: Duration = Duration::from_millis(500);
/// How long an engine that ends looks for the jobs of a fetch whose reply got lost: longer than it takes to notice that
/// a connection is half open.
const RECOVERY: Duration = Duration::from_secs(8);

impl Engine {
    /// Stop taking jobs while the worker is paused.
    pub(super) async fn heed_pause(&mut self) {
        if !self.state.paused.load(Ordering::Relaxed) {
            self.end.heeds_pause = false;
            self.end.owe_wake_up();
            return;
        }
        if !std::mem::replace(&mut self.end.heeds_pause, true) && self.waiting.waiter.is_waiting() {
            self.stop_waiting().await;
            self.waiting.waiter.restart(); // other programs list workers by this connection
        }
        self.wake_others().await;
    }

    /// Stop waiting for jobs. Markers that were popped are forgotten: [`Engine::wake_others`] sets those of jobs that
    /// are still there.
    pub(super) async fn stop_waiting(&mut self) {
        let began = Instant::now();
        drop(self.waiting.waiter.end().await);
        self.end.took = began.elapsed();
        for state in &mut self.lanes.states {
            state.hint.take_popped();
            state.rest.forget_marker();
        }
    }

    /// Wake other workers if they are owed it. Best effort: without it they look at their next drain delay.
    pub(super) async fn wake_others(&mut self) {
        let goes_back = !self.finishing.in_flight.is_empty() || self.state.outcomes.count_returning() > 0;
        if !self.end.owes_wake_up(self.lanes.in_hand) || goes_back || !self.link.is_connected() {
            return;
        }
        self.end.wakes(self.lanes.in_hand);
        let usable = self.lanes.states.iter().filter(|state| state.checked && state.refused_until().is_none());
        let queues: Vec<_> = usable.map(|state| state.lane.clone()).collect();
        let woken = wake_another(&self.fetching.link, queues.iter().map(|lane| &lane.keys));
        // A server that has just let the end of the wait time out is not waited for once more.
        let time = MAX_WAIT.saturating_sub(std::mem::take(&mut self.end.took));
        let _ = tokio::time::timeout(time, woken).await;
    }

    /// Give back jobs that have not started, wait for running ones until the deadline, send every outcome, and wake
    /// other workers for what is left.
    pub(super) async fn shut_down(&mut self) {
        while let Some(completed) = self.next_completed().await {
            self.complete(completed);
        }
        self.end.owe_wake_up();
        self.stop_waiting().await;
        self.recover_lost().await;
        self.state.give_back_unstarted();
        self.state.ready_queue.close();
        loop {
            self.return_jobs();
            let outcomes = self.state.outcomes.take(1, limits::JOBS, limits::OUTCOME_BYTES);
            if !outcomes.is_empty() {
                self.send_without_fetch(outcomes);
            }
            if let Some(completed) = self.next_completed().await {
                self.complete(completed);
                continue;
            }
            if !self.finishing.in_flight.is_empty() {
                let text = format!(
                    "the outcomes of {} jobs were not accepted before their locks expired: these jobs run again",
                    self.lanes.in_hand
                );
                return self.state.error(text);
            }
            self.wake_others().await;
            let deadline = self.state.lifecycle.deadline();
            if self.lanes.in_hand == 0 || deadline.is_some_and(|at| Instant::now() >= at) {
                return;
            }
            self.check_claims();
            tokio::select! {
                () = self.state.wake.notified() => {}
                () = sleep_until(deadline) => {}
                () = tokio::time::sleep(CLAIM_CHECK), if self.state.ready_queue.has_claims() => {}
            }
        }
    }

    /// Find the jobs of fetches whose replies got lost, so that they are given back.
    async fn recover_lost(&mut self) {
        let until = Instant::now() + RECOVERY;
        let mut lost = self.fetching.late.take();
        loop {
            lost.extend(self.lanes.states.iter_mut().flat_map(|state| std::mem::take(&mut state.lost_replies)));
            if lost.is_empty() {
                return;
            }
            for sent in std::mem::take(&mut lost) {
                let time = until.saturating_duration_since(Instant::now());
                if tokio::time::timeout(time, self.recover(sent)).await.is_err() {
                    let text = "the reply to a fetch got lost: its jobs, if any, run again when their locks expire";
                    return self.state.error(text.to_owned());
                }
            }
            tokio::time::sleep(EXPIRY_CHECK / 10).await;
        }
    }

    /// Wait for the next call to complete. `None` if no call is in flight, or if Redis accepts none of the outcomes in
    /// flight any more: it refused them or could not be reached until the locks of their jobs had expired.
    async fn next_completed(&mut self) -> Option<CompletedCall> {
        loop {
            tokio::select! {
                completed = self.finishing.in_flight.next() => return completed,
                () = tokio::time::sleep(EXPIRY_CHECK) => {}
            }
            let outcomes = &self.state.outcomes;
            let settled = self.finishing.in_flight.leaving() + outcomes.count() + outcomes.count_returning();
            if self.lanes.in_hand > settled {
                continue;
            }
            // Whoever has these jobs next need not wait longer than for the last renewal.
            self.lanes.states.iter().for_each(|state| state.lane.locks.let_expire());
            if self.are_locks_expired() {
                return None;
            }
        }
    }

    fn are_locks_expired(&self) -> bool {
        self.lanes.states.iter().all(|state| state.lane.locks.are_expired())
    }
}
