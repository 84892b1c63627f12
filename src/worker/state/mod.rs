//! The state of a worker: what its engine and the threads that run handlers share.

mod closing;
mod deadlines;
mod outcome_queue;
mod stats;
mod submit;
mod take;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Notify;

use self::closing::Lifecycle;
use self::deadlines::Deadlines;
use self::outcome_queue::OutcomeQueue;
use self::stats::Stats;
use super::lanes::{Lane, LaneSpec, Lanes};
use super::listeners::{Backlog, DetailsByJob, Event};
use super::options::WorkerOptions;
use super::ready_queue::ReadyQueue;
use crate::connection::Link;
use crate::error::Result;
use crate::error_once::ErrorOnce;
use crate::heartbeat::Heartbeats;
use crate::mutex::Mutex;
use crate::protocol::Keys;
use crate::scripts::finish;
use crate::timers::held_locks::Loss;
use crate::timers::proof_of_life;

pub use self::closing::Closing;

pub struct WorkerState {
    pub options: WorkerOptions,
    /// Of the queue that the worker is made for.
    pub keys: Keys,
    pub ready_queue: ReadyQueue,
    pub outcomes: OutcomeQueue,
    pub lanes: Lanes,
    pub deadlines: Deadlines,
    pub stats: Stats,
    /// Proof of life.
    pub heartbeats: Arc<Heartbeats>,
    /// The engine is to wait for markers on a new connection.
    pub renew_wait: AtomicBool,
    pub lifecycle: Lifecycle,
    pub concurrency: AtomicUsize,
    pub paused: AtomicBool,
    /// It was reported that no messages arrive.
    pub deaf: AtomicBool,
    /// What the user of the URL may not do, as the words of an ACL rule.
    pub missing_rights: Mutex<Vec<String>>,
    /// The server refused to write, and the one that is connected since is a replica.
    pub is_readonly: AtomicBool,
    /// Redis refuses to give jobs, or to take outcomes.
    pub fetch_outage: ErrorOnce,
    pub finish_outage: ErrorOnce,
    /// Queue an event for every completed and failed job.
    pub report_outcomes: AtomicBool,
    /// Queue an event for every failed attempt, also if none is queued for completed jobs.
    pub report_failures: AtomicBool,
    /// The events that listeners have not read yet.
    pub backlog: Backlog,
    pub details: DetailsByJob,
    /// Wakes the engine when there is an outcome to send or a setting has changed.
    pub wake: Notify,
}

impl WorkerState {
    /// # Errors
    /// [`Error::QueueName`](crate::error::Error::QueueName): the name of a lane.
    pub fn new(options: WorkerOptions, keys: Keys) -> Result<Self> {
        let routes = options.routing.as_ref().map(|routing| routing.lanes(keys.name())).unwrap_or_default();
        Ok(Self {
            lanes: Lanes::new(&keys, &[&options.lanes[..], &routes].concat(), options.share_rate_limit)?,
            keys,
            ready_queue: ReadyQueue::new(),
            outcomes: OutcomeQueue::default(),
            deadlines: Deadlines::new(options.timeouts.clone()),
            stats: Stats::default(),
            heartbeats: Arc::new(proof_of_life::heartbeats(options.lock_renew_time)),
            renew_wait: AtomicBool::new(false),
            lifecycle: Lifecycle::default(),
            concurrency: AtomicUsize::new(options.concurrency),
            paused: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            missing_rights: Mutex::default(),
            is_readonly: AtomicBool::new(false),
            fetch_outage: ErrorOnce::default(),
            finish_outage: ErrorOnce::default(),
            report_outcomes: AtomicBool::new(false),
            report_failures: AtomicBool::new(false),
            backlog: Backlog::default(),
            details: DetailsByJob::default(),
            wake: Notify::new(),
            options,
        })
    }

    /// Serve another queue, or note that the queue of a lane is in use. The engine looks for jobs there at once.
    ///
    /// # Errors
    /// [`Error::QueueName`](crate::error::Error::QueueName).
    pub fn offer_lane(&self, spec: &LaneSpec) -> Result<()> {
        if self.lanes.offer(self.keys.prefix(), spec)? {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Nobody uses this queue any more. The engine closes its lane when it has no job of it in hand.
    pub fn withdraw_lane(&self, queue: &str) {
        if self.lanes.withdraw(queue) {
            self.wake.notify_one();
        }
    }

    /// Fetch nothing of a queue for that many ms, and start no job of it that was fetched up to now. A limit that all
    /// queues share holds for all of them.
    pub fn limit(&self, ms: i64, queue: &str) {
        let is_meant = |lane: &Arc<Lane>| self.options.share_rate_limit || lane.queue() == queue;
        for lane in self.lanes.all().into_iter().filter(is_meant) {
            lane.limit_for(ms);
            self.give_back(self.ready_queue.withdraw_from(&lane));
        }
        self.wake.notify_one();
    }

    /// Why Redis refuses what the worker asks for, as the code of its error; `None` while it does not.
    pub fn refusal(&self) -> Option<String> {
        let of_a_lane = || self.lanes.all().iter().find_map(|lane| lane.refusal.refusal());
        let readonly = || self.is_readonly.load(Ordering::Relaxed).then(|| "READONLY".to_owned());
        self.finish_outage.refusal().or_else(|| self.fetch_outage.refusal()).or_else(of_a_lane).or_else(readonly)
    }

    /// Whether no more jobs may be fetched for now: the worker is paused, or its listeners are far behind.
    pub fn is_held_up(&self) -> bool {
        self.paused.load(Ordering::Relaxed) || self.backlog.is_long()
    }

    pub fn has_missing_rights(&self) -> bool {
        !self.missing_rights.lock().is_empty()
    }

    /// How many more jobs could run now.
    pub fn idle_slots(&self) -> usize {
        if self.is_held_up() || self.lifecycle.closing() != Closing::No {
            return 0;
        }
        let taken = self.stats.in_hand.load(Ordering::Relaxed).max(self.in_batches(0));
        self.concurrency.load(Ordering::Relaxed).saturating_sub(taken)
    }

    pub fn emit(&self, event: Event) {
        self.backlog.push(event);
    }

    /// The lock of a job is lost: count it and let its handler stop.
    pub fn lock_lost(&self, id: &str, token: &Arc<str>, how: Loss) {
        self.stats.lost(how);
        self.emit(Event::LockLost { id: id.to_owned(), token: token.clone() });
    }

    /// Emit an error event.
    pub fn error(&self, text: String) {
        self.emit(Event::Error { text });
    }

    /// Log a warning; no listener gets it.
    pub fn warning(&self, text: String) {
        self.emit(Event::Warning { text });
    }

    pub fn next_event(&self, wait: Duration) -> Option<Event> {
        let (event, has_room) = self.backlog.pop(wait);
        if has_room {
            self.wake.notify_one();
        }
        event
    }

    /// Ask the engine to end.
    pub fn close(&self, closing: Closing) {
        self.lifecycle.request(closing);
        self.give_back_unstarted();
        self.wake.notify_one();
    }

    /// Whether it runs, or has ended and left jobs.
    pub fn is_in_use(&self) -> bool {
        !self.lifecycle.has_ended() || self.lanes.all().iter().any(|lane| !lane.locks.is_empty())
    }

    /// Move the jobs that an ended engine has left back to their queues, where they run next. A job whose outcome Redis
    /// has, or whose lock is lost, is left alone.
    pub async fn give_back_held(&self, link: &Link) {
        let lanes = self.lanes.all();
        let held = lanes.iter().flat_map(|lane| lane.locks.all().into_iter().map(move |lock| (lane, lock)));
        let moves = held.map(|(lane, (id, token))| async move {
            let _ = finish::move_to_wait(link, &lane.keys, lane.shared_limit.as_ref(), &id, &token).await;
        });
        join_all(moves).await;
    }

    /// The engine has ended: nothing of it runs any more.
    pub fn end(&self) {
        self.ready_queue.close();
        self.details.clear();
        self.emit(Event::Closed);
        self.lifecycle.end();
    }
}
