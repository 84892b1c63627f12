//! What runs beside the engine's loop: lock renewal, stalled check, scheduler watchdog, time-outs, cancellations, the
//! thread ramp and the report of connection losses.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, JoinSet};

use super::cancellations::watch_cancellations;
use super::messages::{watch_ownership, watch_wake_hints};
use crate::connection::{Link, LinkState, Subscriber};
use crate::heartbeat::WorkerLoop;
use crate::protocol::Keys;
use crate::queue::{evicting_policy, ignored_settings};
use crate::timers::lock_extender::LockExtender;
use crate::timers::proof_of_life::ProofOfLife;
use crate::timers::scheduler_watchdog::SchedulerWatchdog;
use crate::timers::stalled_checker::StalledChecker;
use crate::worker::lanes::Lane;
use crate::worker::listeners::Event;
use crate::worker::rights;
use crate::worker::sleep::sleep_until;
use crate::worker::state::WorkerState;

/// Start the only task that may run before the queue was checked.
pub fn watch_connection(state: &Arc<WorkerState>, link: &Link) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(report_connection(state.clone(), link.clone()));
    tasks
}

/// Start the tasks that serve all lanes.
pub fn start(tasks: &mut JoinSet<()>, state: &Arc<WorkerState>, link: &Link) {
    tasks.spawn(report_eviction(state.clone(), link.clone()));
    tasks.spawn(rights::watch(state.clone(), link.clone()));
    tasks.spawn(watch_deadlines(state.clone()));
    tasks.spawn(watch_cancellations(state.clone(), link.clone()));
    tasks.spawn(prove_life(state.clone(), link.clone()));
    let ramped = state.clone();
    tasks.spawn(async move { ramped.ready_queue.ramp().await });
}

/// Start the timers of a lane.
pub fn start_lane(
    tasks: &mut JoinSet<()>,
    state: &Arc<WorkerState>,
    link: &Link,
    subscriber: &Subscriber,
    lane: &Arc<Lane>,
) -> Vec<AbortHandle> {
    let (keys, options, mut started) = (&lane.keys, &state.options, Vec::new());
    if !options.skip_lock_renewal {
        let extender = LockExtender {
            link: link.clone(),
            keys: keys.clone(),
            locks: lane.locks.clone(),
            lock_duration: options.lock_duration,
            shortest: options.lock_durations.values().min().copied(),
            renew_time: options.lock_renew_time,
            interval: options.heartbeat_interval,
            heartbeats: state.heartbeats.clone(),
            renewals: state.stats.renewals.clone(),
        };
        let (reported, failed) = (state.clone(), state.clone());
        let lost = move |id: &str, token: &Arc<str>, how| reported.lock_lost(id, token, how);
        started.push(tasks.spawn(extender.run(lost, move |text| failed.error(text))));
    }
    if options.notify {
        started.push(tasks.spawn(watch_ownership(state.clone(), link.clone(), lane.clone(), subscriber.clone())));
        started.push(tasks.spawn(watch_wake_hints(state.clone(), link.clone(), lane.clone(), subscriber.clone())));
    }
    if !options.skip_stalled_check {
        let checker = StalledChecker {
            link: link.clone(),
            keys: keys.clone(),
            rule: options.stalled_rule(),
            skipped: state.stats.stalled_skipped.clone(),
        };
        let (reported, late, failed) = (state.clone(), state.clone(), state.clone());
        let (hints, of) = (link.clone(), keys.clone());
        started.push(tasks.spawn(checker.run(
            move |ids| report_stalled(&reported, &hints, &of, ids),
            move |percent| late.emit(Event::ChecksSkipped { percent }),
            move |text| failed.error(text),
        )));
    }
    started.push(tasks.spawn(report_settings(state.clone(), link.clone(), keys.clone())));
    let watchdog =
        SchedulerWatchdog { link: link.clone(), keys: keys.clone(), repaired: state.stats.schedulers_repaired.clone() };
    let (reported, failed) = (state.clone(), state.clone());
    let repaired = move |id| reported.emit(Event::SchedulerRepaired { id });
    started.push(tasks.spawn(watchdog.run(repaired, move |text| failed.error(text))));
    started
}

/// Tell that stalled jobs were put back, and wake workers for them.
pub fn report_stalled(state: &WorkerState, link: &Link, keys: &Keys, ids: Vec<String>) {
    state.stats.stalled.fetch_add(ids.len() as u64, Ordering::Relaxed);
    if let Some(hint) = state.options.wake().hint(keys, ids.len()) {
        let link = link.clone();
        tokio::spawn(async move { hint.send(&link).await });
    }
    let queue: Arc<str> = keys.name().into();
    ids.into_iter().for_each(|id| state.emit(Event::Stalled { id, queue: queue.clone() }));
}

/// Connect anew where a step of the worker does not end in its time.
async fn prove_life(state: Arc<WorkerState>, link: Link) {
    let watched = ProofOfLife { link, heartbeats: state.heartbeats.clone() };
    let revive = |which: WorkerLoop| {
        if which == WorkerLoop::Wait {
            state.renew_wait.store(true, Ordering::Release);
            state.wake.notify_one();
        }
        let step = match which {
            WorkerLoop::Wait => "its wait for jobs",
            WorkerLoop::Fetch => "a call that fetches or finishes jobs",
            WorkerLoop::Renewal => "the renewal of its locks",
        };
        state.error(format!("{step} did not end in its time although Redis answers: the worker connects anew"));
    };
    watched.run(revive).await;
}

/// Fail jobs at their deadline.
async fn watch_deadlines(state: Arc<WorkerState>) {
    if state.deadlines.is_unused() {
        return;
    }
    loop {
        for (job, reason) in state.deadlines.due() {
            state.time_out(&job, reason);
        }
        state.deadlines.next().await;
    }
}

/// Report once per run which settings of a queue have no effect. Failed calls are ignored.
async fn report_settings(state: Arc<WorkerState>, link: Link, keys: Keys) {
    for text in ignored_settings(&link, &keys).await.unwrap_or_default() {
        state.error(text);
    }
}

/// Report once per run that Redis may delete keys when its memory is full. A failed call is ignored.
async fn report_eviction(state: Arc<WorkerState>, link: Link) {
    if let Ok(Some(policy)) = evicting_policy(&link).await {
        state.emit(Event::Evicts { policy });
    }
}

/// A connection that came back and was lost again within this time belongs to the same outage.
const STEADY: Duration = Duration::from_secs(3);

/// Report when the connection is lost, why, and when it is back. A server that only reads is none. One that hangs up
/// soon after each reconnect is back when a connection has lasted.
async fn report_connection(state: Arc<WorkerState>, link: Link) {
    let mut states = link.watch();
    let (mut down, mut unsteady) = (false, false);
    let mut back: Option<Instant> = None;
    let mut connection = link.generation();
    loop {
        // While an outage that goes on has a connection.
        let lasts = back.filter(|_| down).map(|back| back + STEADY);
        let changed = tokio::select! {
            changed = states.changed() => changed,
            () = sleep_until(lasts) => {
                (down, unsteady) = (false, false);
                state.emit(Event::Connected);
                continue;
            }
        };
        if changed.is_err() {
            return;
        }
        let now = states.borrow_and_update().clone();
        if let LinkState::Connected { refuses, generation } = now {
            state.is_readonly.store(refuses, Ordering::Relaxed);
            let before = connection.replace(generation).unwrap_or(generation);
            state.stats.reconnects.fetch_add(generation.saturating_sub(before), Ordering::Relaxed);
        }
        match now {
            LinkState::Connecting { error: Some(text), .. } => {
                unsteady |= back.take().is_some_and(|back| back.elapsed() < STEADY);
                down = true;
                state.emit(Event::Reconnecting { text, ends: link.is_refused() });
            }
            LinkState::Connected { refuses: false, .. } if down => {
                back = Some(Instant::now());
                if !unsteady {
                    down = false;
                    state.emit(Event::Connected);
                }
            }
            _ => {}
        }
    }
}
