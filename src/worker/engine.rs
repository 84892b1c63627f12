//! The engine's one loop: settle outcomes, fetch jobs, sleep; and its orderly end.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::task::JoinSet;

use super::appetite::{self, Appetite, BATCH};
use super::fetcher::{Batch, Fetcher};
use super::finisher::{Fetching, Finisher, Ride, Settled, Went};
use super::flights::{Flights, Landed};
use super::held::HeldJob;
use super::intake::{Accepted, Intake};
use super::marker_waiter::MarkerWaiter;
use super::options::{RunLimits, Until};
use super::outcome::Outcome;
use super::shared::{Closing, Event, Shared};
use super::tasks;
use super::witness::Witness;
use crate::clock::now_ms;
use crate::connection::{BlockingLink, Link};
use crate::error::{Error, Result};
use crate::lock::Mutex;
use crate::protocol::Keys;
use crate::queue::{QueueHandle, QueueOptions};
use crate::scripts;
use crate::timers::lock_extender::HeldLocks;

/// How often a run that ends by itself looks whether the end is reached.
const END_CHECK: Duration = Duration::from_millis(50);
/// How long a look at the queue waits for a connection before the engine looks around again. Only outcomes wait longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Start a worker's engine on the current runtime.
pub fn start(shared: Arc<Shared>, link: Link, blocking: BlockingLink, keys: Keys, limits: RunLimits) {
    let locks = shared.locks.clone();
    let tasks = tasks::watch_connection(&shared, &link);
    let waiter = MarkerWaiter::start(blocking, keys.marker().to_owned());
    let looking = link.with_patience(Some(PATIENCE));
    let engine = Engine {
        fetcher: Fetcher::new(looking.clone(), keys.clone(), waiter, shared.options.worker_id.clone()),
        flights: Flights::new(Finisher {
            link: link.clone(),
            keys: keys.clone(),
            shared: shared.clone(),
            reported: Mutex::default(),
        }),
        intake: Intake { shared: shared.clone(), locks: locks.clone(), link: link.clone(), keys: keys.clone() },
        appetite: Appetite::new(shared.clone()),
        deadline: limits.max_time.map(|time| Instant::now() + time),
        shared: shared.clone(),
        locks,
        link,
        looking,
        keys,
        limits,
        tasks,
        strays: Vec::new(),
        fetched: 0,
        in_hand: 0,
        worked: false,
    };
    tokio::spawn(async move {
        if std::panic::AssertUnwindSafe(engine.run()).catch_unwind().await.is_err() {
            shared.error("the worker stopped because of an internal error".to_owned());
        }
        shared.handout.withdraw(usize::MAX);
        shared.end();
    });
}

struct Engine {
    shared: Arc<Shared>,
    link: Link,
    /// The same link with little patience.
    looking: Link,
    keys: Keys,
    limits: RunLimits,
    deadline: Option<Instant>,
    appetite: Appetite,
    fetcher: Fetcher,
    flights: Flights,
    intake: Intake,
    locks: Arc<HeldLocks>,
    tasks: JoinSet<()>,
    /// Fetches whose reply got lost: their token, and when they were sent.
    strays: Vec<(Arc<str>, Instant)>,
    fetched: u64,
    in_hand: usize,
    /// A job was settled since the last `drained` event.
    worked: bool,
}

impl Engine {
    async fn run(mut self) {
        let shared = self.shared.clone();
        tokio::select! {
            biased;
            // Whatever it waits for, be it a server that is gone; and first, so that nothing more is handed in.
            () = shared.end_demanded() => self.locks.cancel_all(),
            () = async { self.work().await; self.wind_down().await } => {}
        }
        // The heartbeat ends here, last of all.
        self.tasks.shutdown().await;
    }

    /// Look before the first write whether this is a queue of BullMQ's on a server that can serve it.
    async fn check(&mut self) -> Result<()> {
        let options = QueueOptions { skip_metas_update: true, ..QueueOptions::default() };
        QueueHandle::new(self.link.clone(), self.link.clone(), self.keys.clone(), options).ready().await
    }

    /// Work until asked to close or until the run's end is reached.
    async fn work(&mut self) {
        let mut closing = self.shared.watch_closing();
        let deadline = self.deadline;
        tokio::select! {
            checked = self.check() => if let Err(error) = checked {
                return self.shared.refuse(error);
            },
            _ = closing.wait_for(|closing| *closing != Closing::No) => return,
            () = sleep_until(deadline) => return,
        }
        tasks::start(&mut self.tasks, &self.shared, &self.link, &self.keys, &self.locks);
        self.shared.emit(Event::Ready);
        while self.shared.closing() == Closing::No && self.deadline.is_none_or(|at| Instant::now() < at) {
            let room = self.room(0);
            self.fetcher.heed_popped(room > 0).await;
            let many = self.shared.many_outcomes.load(Ordering::Relaxed);
            let outcomes = self.shared.take_outcomes(self.flights.fewest_to_send(many), BATCH);
            if !outcomes.is_empty() {
                self.send(outcomes);
            } else if !self.flights.is_empty() {
                self.rest(0).await;
            } else if !self.is_connected().await {
                // Something else asked for attention first.
            } else if !self.strays.is_empty() {
                self.recover().await;
            } else if room > 0 && !self.fetcher.is_idle() && !self.fetcher.is_limited() {
                self.fetch(room).await;
            } else if self.in_hand == 0 && self.has_ended().await {
                return;
            } else {
                self.rest(room).await;
            }
        }
    }

    /// Wait for a connection, but not when something else asks for attention.
    async fn is_connected(&mut self) -> bool {
        tokio::select! {
            biased;
            // A server that refuses us is no reason to wait: the call that follows says why.
            ready = self.looking.ready() => !matches!(ready, Err(Error::ConnectionLost(_))),
            () = self.shared.bell.notified() => false,
            () = sleep_until(self.deadline) => false,
        }
    }

    /// How many jobs to ask for, when so many of those in hand are on their way out beside those in flight.
    fn room(&self, leaving: usize) -> usize {
        if self.shared.paused.load(Ordering::Relaxed) || !self.strays.is_empty() {
            return 0;
        }
        let overdue = self.shared.stats.overdue.load(Ordering::Relaxed);
        let coming = self.flights.coming();
        let taken = self.in_hand.saturating_sub(leaving + self.flights.leaving()) + coming + overdue;
        let free = self.appetite.most().saturating_sub(taken).min(self.appetite.batch());
        let fetched = self.fetched + coming as u64;
        let allowed = self.limits.max_jobs.map_or(u64::MAX, |max| max.saturating_sub(fetched));
        free.min(usize::try_from(allowed).unwrap_or(usize::MAX))
    }

    /// Send outcomes on their way; the slots they free are filled by the same call.
    fn send(&mut self, outcomes: Vec<Outcome>) {
        let count = if self.fetcher.is_limited() { 0 } else { self.room(outcomes.len()) };
        let ride = (count > 0).then(|| Ride { token: self.fetcher.token(), count });
        self.shared.stats.calls.fetch_add(1, Ordering::Relaxed);
        self.flights.start(outcomes, ride);
    }

    fn land(&mut self, Landed { round, ride }: Landed) {
        // The ride did not see a job that went back to the queue in the same round trip, and there is none when all
        // outcomes were refused.
        let went_back = |settled: &Settled| !matches!(settled.went, Went::Completed { .. } | Went::Failed { .. });
        let look_again = round.settled.iter().any(went_back);
        let is_over = |settled: &&Settled| !matches!(settled.went, Went::Instead(..));
        let over = || round.settled.iter().filter(is_over).map(|Settled { job, .. }| (job.id(), &*job.token));
        self.locks.remove(over());
        self.count_in_hand(self.in_hand.saturating_sub(over().count()));
        for settled in round.settled {
            self.note(settled);
        }
        let mut arrived = None;
        match (round.fetching, ride) {
            (Fetching::Brought(fetched), Some(ride)) => {
                arrived = Some(self.fetcher.note(fetched, ride.token, round.sent));
            }
            (Fetching::Unknown, Some(ride)) => self.strays.push((ride.token, round.sent)),
            _ => {}
        }
        if look_again {
            self.fetcher.look_again();
        }
        if let Some(batch) = arrived {
            self.receive(batch);
        }
    }

    /// Count a settled job and tell the listeners.
    fn note(&mut self, Settled { job, went }: Settled) {
        let stats = &self.shared.stats;
        match went {
            Went::Instead(outcome, class) => {
                if let Outcome::Failed { failure, .. } = &outcome {
                    self.shared.error(failure.reason.clone());
                }
                self.shared.witnesses.note(&job, Witness::of_core(class));
                return self.shared.resubmit(outcome);
            }
            Went::Completed { value, finished_on } => {
                stats.completed.fetch_add(1, Ordering::Relaxed);
                self.shared.report(job, |job, witness| Event::Completed { job, value, finished_on, witness });
            }
            Went::Failed { reason, stacktrace, finished_on } => {
                stats.failed.fetch_add(1, Ordering::Relaxed);
                let failed = |job, witness| Event::Failed { job, reason, stacktrace, finished_on, witness };
                self.shared.report(job, failed);
            }
            Went::Retried { reason, stacktrace, delay } => {
                stats.retried.fetch_add(1, Ordering::Relaxed);
                let retried = |job, witness| Event::Retried { job, reason, stacktrace, delay, witness };
                self.shared.report(job, retried);
            }
            Went::GivenBack { limit_ttl } => self.fetcher.limit_for(limit_ttl),
            Went::Released => {}
            Went::Lost(error) => {
                self.shared.witnesses.take(&job);
                self.shared.error(error.to_string());
            }
        }
        self.worked = true;
    }

    async fn fetch(&mut self, room: usize) {
        self.shared.stats.calls.fetch_add(1, Ordering::Relaxed);
        let (token, sent) = (self.fetcher.token(), Instant::now());
        match self.fetcher.fetch(&self.shared.options, &token, room).await {
            Ok(fetched) => {
                let batch = self.fetcher.note(fetched, token, sent);
                self.receive(batch);
            }
            Err(Error::OutcomeUnknown(_)) => self.strays.push((token, sent)),
            // The next turn waits for a connection.
            Err(Error::ConnectionLost(_)) => {}
            Err(error) => {
                self.shared.error(format!("could not fetch: {error}"));
                tokio::time::sleep(self.shared.options.run_retry_delay).await;
            }
        }
    }

    /// Ask for the jobs of a fetch whose reply got lost.
    async fn recover(&mut self) {
        let Some((token, sent)) = self.strays.pop() else { return };
        match self.fetcher.recover(token.clone(), sent).await {
            Ok(batch) => self.receive(batch),
            Err(error) if error.is_passing() || matches!(error, Error::OutcomeUnknown(_)) => {
                self.strays.push((token, sent));
            }
            Err(error) => self.shared.error(format!("could not recover a fetch: {error}")),
        }
    }

    fn receive(&mut self, batch: Batch) {
        let nothing = batch.jobs.is_empty();
        self.appetite.observe(&batch.jobs);
        if nothing && self.fetcher.is_idle() && std::mem::take(&mut self.worked) && self.in_hand == 0 {
            self.shared.emit(Event::Drained);
        }
        let Accepted { count, stalled } = self.intake.accept(batch, &mut self.tasks);
        self.fetched += count as u64;
        self.shared.stats.fetched.fetch_add(count as u64, Ordering::Relaxed);
        self.count_in_hand(self.in_hand + count);
        if stalled {
            self.appetite.be_cautious();
            self.give_back_surplus();
        }
    }

    fn count_in_hand(&mut self, count: usize) {
        self.in_hand = count;
        self.shared.stats.in_hand.store(count, Ordering::Relaxed);
    }

    /// Whether a run that ends by itself has nothing left to do. Asked only with nothing in hand.
    async fn has_ended(&mut self) -> bool {
        if self.limits.max_jobs.is_some_and(|max| self.fetched >= max) {
            return true;
        }
        match self.limits.until {
            Until::Closed => false,
            Until::Empty => self.fetcher.is_idle() && !self.fetcher.is_limited(),
            Until::Drained => {
                let ended = scripts::inspect::is_drained(&self.looking, &self.keys, now_ms(), self.limits.horizon_ms);
                ended.await.unwrap_or(false)
            }
        }
    }

    /// Sleep until an outcome, a landing, a marker, a timer or a change of settings.
    async fn rest(&mut self, room: usize) {
        self.give_back_surplus();
        let ends_by_itself = self.in_hand == 0 && self.limits.until != Until::Closed;
        let overfull = self.in_hand > self.shared.concurrency.load(Ordering::Relaxed);
        let tick = if ends_by_itself { END_CHECK } else { appetite::LATE };
        tokio::select! {
            Some(landed) = self.flights.next() => self.land(landed),
            () = self.shared.bell.notified() => {}
            () = self.fetcher.rest(self.shared.options.drain_delay, room > 0) => {}
            () = tokio::time::sleep(tick), if ends_by_itself || overfull => {
                if ends_by_itself && room > 0 {
                    self.fetcher.look_again();
                }
            }
            () = sleep_until(self.deadline) => {}
            stopped = self.tasks.join_next(), if !self.tasks.is_empty() => {
                if stopped.is_some_and(|result| result.is_err_and(|error| error.is_panic())) {
                    self.shared.error("a timer of the worker stopped because of an internal error".to_owned());
                    self.shared.close(Closing::Gracefully { deadline: None });
                }
            }
        }
    }

    fn give_back_surplus(&mut self) {
        let surplus = self.appetite.surplus(self.in_hand);
        if surplus > 0 {
            self.give_back(surplus);
        }
    }

    /// Return the last jobs that no handler has started to the front of `wait`, in the order they had there.
    fn give_back(&mut self, at_most: usize) {
        let unstarted: Vec<Arc<HeldJob>> = self.shared.handout.withdraw(at_most);
        // As if they had never come: a run of so many jobs takes others for them.
        self.fetched = self.fetched.saturating_sub(unstarted.len() as u64);
        for job in unstarted.into_iter().rev() {
            self.shared.submit(Outcome::GivenBack { job });
        }
    }

    /// Give back unstarted jobs, wait for running ones, hand in every outcome.
    async fn wind_down(&mut self) {
        while let Some(landed) = self.flights.next().await {
            self.land(landed);
        }
        self.fetcher.stop().await;
        for _ in 0..self.strays.len() {
            self.recover().await;
        }
        if !self.strays.is_empty() {
            let text = "the reply to a fetch got lost: its jobs, if any, run again when their locks expire";
            self.shared.error(text.to_owned());
        }
        self.give_back(usize::MAX);
        self.shared.handout.close();
        loop {
            let outcomes = self.shared.take_outcomes(1, BATCH);
            if !outcomes.is_empty() {
                self.flights.start(outcomes, None);
                if let Some(landed) = self.flights.next().await {
                    self.land(landed);
                }
            } else if self.in_hand == 0 {
                return;
            } else {
                self.shared.bell.notified().await;
            }
        }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
