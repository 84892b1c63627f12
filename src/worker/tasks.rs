//! What runs beside the engine's loop: heartbeat, stalled check, scheduler watchdog, thread ramp, connection news.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::cancellations::heed_cancellations;
use super::event::Event;
use super::shared::Shared;
use crate::connection::{Link, LinkState};
use crate::protocol::Keys;
use crate::queue::ignored_settings;
use crate::timers::lock_extender::{HeldLocks, LockExtender};
use crate::timers::scheduler_watchdog::SchedulerWatchdog;
use crate::timers::stalled_checker::StalledChecker;

/// What may run before the queue has been checked.
pub fn watch_connection(shared: &Arc<Shared>, link: &Link) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(report_connection(shared.clone(), link.clone()));
    tasks
}

pub fn start(tasks: &mut JoinSet<()>, shared: &Arc<Shared>, link: &Link, keys: &Keys, locks: &Arc<HeldLocks>) {
    let options = &shared.options;
    if !options.skip_lock_renewal {
        let extender = LockExtender {
            link: link.clone(),
            keys: keys.clone(),
            locks: locks.clone(),
            lock_duration: options.lock_duration,
            renew_time: options.lock_renew_time,
        };
        let (losing, failing) = (shared.clone(), shared.clone());
        tasks.spawn(
            extender.run(move |id| losing.emit(Event::LockLost { id: id.to_owned() }), move |text| failing.error(text)),
        );
    }
    if !options.skip_stalled_check {
        let checker = StalledChecker {
            link: link.clone(),
            keys: keys.clone(),
            max_stalled_count: options.max_stalled_count,
            interval: options.stalled_interval,
            skipped: shared.stats.stalled_skipped.clone(),
        };
        let (hearing, failing) = (shared.clone(), shared.clone());
        tasks.spawn(checker.run(
            move |ids| ids.into_iter().for_each(|id| hearing.emit(Event::Stalled { id })),
            move |text| failing.error(text),
        ));
    }
    tasks.spawn(tell_ignored_settings(shared.clone(), link.clone(), keys.clone()));
    tasks.spawn(watch_deadlines(shared.clone()));
    tasks.spawn(heed_cancellations(shared.clone(), link.clone(), keys.clone()));
    let watchdog = SchedulerWatchdog {
        link: link.clone(),
        keys: keys.clone(),
        repaired: shared.stats.schedulers_repaired.clone(),
    };
    let (hearing, failing) = (shared.clone(), shared.clone());
    tasks.spawn(watchdog.run(move |id| hearing.emit(Event::SchedulerRepaired { id }), move |text| failing.error(text)));
    let ramped = shared.clone();
    tasks.spawn(async move { ramped.handout.ramp().await });
}

/// Fail jobs at their deadline.
async fn watch_deadlines(shared: Arc<Shared>) {
    let Some(timeout) = shared.deadlines.timeout else { return };
    loop {
        for job in shared.deadlines.due() {
            shared.time_out(&job, format!("timed out after {} ms", timeout.as_millis()));
        }
        shared.deadlines.next().await;
    }
}

/// Say once per run which of the queue's settings are of no use; without a connection there are other worries.
async fn tell_ignored_settings(shared: Arc<Shared>, link: Link, keys: Keys) {
    for text in ignored_settings(&link, &keys).await.unwrap_or_default() {
        shared.error(text);
    }
}

/// Say when the connection is lost, why, and when it is back.
async fn report_connection(shared: Arc<Shared>, link: Link) {
    let mut states = link.watch();
    let mut down = false;
    while states.changed().await.is_ok() {
        match states.borrow_and_update().clone() {
            LinkState::Connecting { error: Some(text), .. } => {
                down = true;
                shared.emit(Event::Reconnecting { text });
            }
            LinkState::Connected { .. } if std::mem::take(&mut down) => shared.emit(Event::Connected),
            _ => {}
        }
    }
}
