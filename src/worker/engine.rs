//! The engine's one loop: settle outcomes, fetch jobs, sleep; and its orderly end.

mod claims;
mod landing;

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::task::JoinSet;

use super::appetite::{Appetite, BATCH, OUTCOME_BYTES};
use super::event::Event;
use super::fetcher::{Fetcher, Order, Sent};
use super::finisher::Finisher;
use super::flights::Flights;
use super::intake::Intake;
use super::marker_waiter::MarkerWaiter;
use super::options::{RunLimits, Until};
use super::outcome::Outcome;
use super::shared::{Closing, Shared};
use super::tasks;
use crate::clock::now_ms;
use crate::connection::{BlockingLink, Link};
use crate::error::{Error, Result};
use crate::protocol::Keys;
use crate::queue::{QueueHandle, QueueOptions};
use crate::scripts;
use crate::spell::Spell;
use crate::timers::lock_extender::HeldLocks;
use crate::vigil::Vigil;

/// How often a run that ends by itself looks whether the end is reached.
const END_CHECK: Duration = Duration::from_millis(50);
/// How often a worker with jobs claimed ahead looks which have started, or wait for too long.
const CLAIM_CHECK: Duration = Duration::from_millis(3);
/// How long the first outcomes of quick handlers wait for others.
const GATHERING: Duration = Duration::from_millis(1);
/// How long a look at the queue waits for a connection before the engine looks around again. Only outcomes wait longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Start a worker's engine on the current runtime.
pub fn start(shared: Arc<Shared>, link: Link, blocking: BlockingLink, keys: Keys, limits: RunLimits) {
    let locks = shared.locks.clone();
    let tasks = tasks::watch_connection(&shared, &link);
    let waiter = MarkerWaiter::start(blocking, keys.marker().to_owned());
    let looking = link.with_connect_timeout(Some(PATIENCE));
    let engine = Engine {
        fetcher: Fetcher::new(looking.clone(), keys.clone(), waiter, shared.options.worker_id.clone()),
        flights: Flights::new(Finisher {
            link: link.clone(),
            keys: keys.clone(),
            shared: shared.clone(),
            trouble: Spell::default(),
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
        refused_until: None,
        trouble: Spell::default(),
        stamping: Arc::default(),
        vigil: Vigil::default(),
        alone_since: None,
        gathering_since: None,
        fetched: 0,
        in_hand: 0,
        worked: false,
    };
    tokio::spawn(async move {
        if std::panic::AssertUnwindSafe(engine.run()).catch_unwind().await.is_err() {
            shared.error("the worker stopped because of an internal error".to_owned());
        }
        shared.handout.hold();
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
    /// Fetches whose reply got lost.
    strays: Vec<Sent>,
    /// The server refused a fetch: the next one comes not before.
    refused_until: Option<Instant>,
    trouble: Spell,
    /// The same for stamps.
    stamping: Arc<Spell>,
    vigil: Vigil,
    /// A job must run alone: it waits until nothing else is in hand, or runs.
    alone_since: Option<Instant>,
    /// Outcomes wait for others to share a call.
    gathering_since: Option<Instant>,
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
            let room = self.room(0).count;
            self.fetcher.heed_popped(room > 0).await;
            self.return_jobs();
            let fewest = self.fewest_to_send();
            let outcomes = self.shared.take_outcomes(fewest, BATCH, OUTCOME_BYTES);
            if outcomes.is_empty() && self.gathering() {
                self.rest(0).await;
            } else if !outcomes.is_empty() {
                self.send(outcomes);
            } else if !self.flights.is_empty() {
                self.rest(0).await;
            } else if !self.is_connected().await {
                // Something else asked for attention first.
            } else if self.is_refused() {
                self.rest(0).await;
            } else if let Some(sent) = self.strays.pop() {
                self.recover(sent).await;
            } else if room > 0 && !self.fetcher.is_idle() {
                self.fetch().await;
            } else if self.in_hand == 0 && self.has_ended().await {
                return;
            } else {
                self.rest(room).await;
            }
        }
    }

    /// Send jobs back to where they were, once all are here that were claimed before: they go in their order.
    fn return_jobs(&mut self) {
        if self.flights.coming() == 0 {
            let returning = self.shared.take_returning();
            if !returning.is_empty() {
                self.flights.start(returning, None);
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

    /// Send outcomes on their way; the slots they free are filled by the same call.
    fn send(&mut self, outcomes: Vec<Outcome>) {
        let order = self.room(outcomes.len());
        let ride = (order.count > 0).then(|| Order { token: self.fetcher.token(), ..order });
        self.shared.stats.calls.fetch_add(1, Ordering::Relaxed);
        self.flights.start(outcomes, ride);
    }

    async fn fetch(&mut self) {
        self.shared.stats.calls.fetch_add(1, Ordering::Relaxed);
        let order = self.room(0);
        let sent = Sent::now(Order { token: self.fetcher.token(), ..order });
        let (mut closing, deadline) = (self.shared.watch_closing(), self.deadline);
        // A server that never answers must not keep a worker that is to end: what it gave is asked for by token, then.
        let end = async {
            tokio::select! {
                _ = closing.wait_for(|closing| *closing != Closing::No) => {}
                () = sleep_until(deadline) => {}
            }
            tokio::time::sleep(PATIENCE).await;
        };
        let fetched = tokio::select! {
            fetched = self.fetcher.fetch(&self.shared.options, &sent) => fetched,
            () = end => Err(Error::OutcomeUnknown("the worker ended before the server answered".to_owned())),
        };
        match fetched {
            Ok(fetched) => {
                self.trouble.ends();
                self.arrive(fetched, sent);
            }
            Err(Error::OutcomeUnknown(_)) => self.strays.push(sent),
            // The next turn waits for a connection.
            Err(Error::ConnectionLost(_)) => {}
            Err(error) => {
                self.refuse_for_now("could not fetch", &error);
                // The script may have stopped half-way.
                self.strays.push(sent);
            }
        }
    }

    /// What lasts is told once.
    fn refuse_for_now(&mut self, what: &str, error: &Error) {
        if self.trouble.begins(error) {
            self.shared.error(format!("{what}: {error}"));
        }
        self.refused_until = Some(Instant::now() + self.shared.options.run_retry_delay);
    }

    fn is_refused(&self) -> bool {
        self.refused_until.is_some_and(|until| Instant::now() < until)
    }

    /// Ask for the jobs of a fetch whose reply got lost.
    async fn recover(&mut self, sent: Sent) {
        match self.fetcher.recover(sent.clone()).await {
            Ok(batch) => self.receive(batch),
            Err(error) if error.is_passing() || matches!(error, Error::OutcomeUnknown(_)) => {
                if !matches!(error, Error::ConnectionLost(_) | Error::OutcomeUnknown(_)) {
                    self.refuse_for_now("could not recover a fetch", &error);
                }
                self.strays.push(sent);
            }
            Err(error) => self.shared.error(format!("could not recover a fetch: {error}")),
        }
    }

    /// Whether a run that ends by itself has nothing left to do. Asked only with nothing in hand.
    async fn has_ended(&mut self) -> bool {
        if self.limits.max_jobs.is_some_and(|max| self.fetched >= max) {
            return true;
        }
        match self.limits.until {
            Until::Closed => false,
            Until::Empty => self.fetcher.is_idle() && self.shared.limited_until.load(Ordering::Relaxed) <= now_ms(),
            Until::Drained => {
                let ended = scripts::inspect::is_drained(&self.looking, &self.keys, now_ms(), self.limits.horizon_ms);
                ended.await.unwrap_or(false)
            }
        }
    }

    /// Sleep until an outcome, a landing, a marker, a timer or a change of settings.
    async fn rest(&mut self, room: usize) {
        self.look_after_claims();
        // With more than one there is work to do meanwhile.
        let (began, is_alone) = (Instant::now(), self.in_hand == 1);
        if is_alone && self.stay_awake(began).await {
            return;
        }
        let ends_by_itself = self.in_hand == 0 && self.limits.until != Until::Closed;
        let has_claims = self.in_hand > 0 && self.shared.handout.has_claims();
        let gathering = self.gathering();
        let tick = match (gathering, has_claims) {
            (true, _) => GATHERING,
            (_, true) => CLAIM_CHECK,
            _ => END_CHECK,
        };
        let limited_until = self.shared.limited_until.load(Ordering::Relaxed);
        let company_at = self.company_at().filter(|at| Instant::now() < *at);
        tokio::select! {
            Some(landed) = self.flights.next() => self.land(landed),
            () = self.shared.bell.notified() => {}
            () = self.fetcher.rest(self.shared.options.drain_delay, limited_until, room > 0) => {}
            () = tokio::time::sleep(tick), if ends_by_itself || has_claims || gathering => {
                if ends_by_itself && room > 0 {
                    self.fetcher.look_again();
                }
            }
            () = sleep_until(self.refused_until.filter(|until| Instant::now() < *until)) => {}
            () = sleep_until(company_at) => {}
            () = sleep_until(self.deadline) => {}
            stopped = self.tasks.join_next(), if !self.tasks.is_empty() => {
                if stopped.is_some_and(|result| result.is_err_and(|error| error.is_panic())) {
                    self.shared.error("a timer of the worker stopped because of an internal error".to_owned());
                    self.shared.close(Closing::Gracefully { deadline: None });
                }
            }
        }
        if is_alone {
            self.vigil.end(began);
        }
    }

    /// Wait awake for the next thing to happen to the only job in hand; returns whether it did.
    async fn stay_awake(&mut self, began: Instant) -> bool {
        while self.vigil.lasts(began) {
            if self.shared.outcomes_waiting() > 0 {
                return true;
            }
            if let Some(Some(landed)) = self.flights.next().now_or_never() {
                self.land(landed);
                return true;
            }
            std::thread::yield_now();
            tokio::task::yield_now().await;
        }
        false
    }

    /// Give back unstarted jobs, wait for running ones, hand in every outcome.
    async fn wind_down(&mut self) {
        while let Some(landed) = self.flights.next().await {
            self.land(landed);
        }
        self.fetcher.stop().await;
        for sent in std::mem::take(&mut self.strays) {
            if tokio::time::timeout(PATIENCE, self.recover(sent.clone())).await.is_err() {
                self.strays.push(sent);
            }
        }
        if !self.strays.is_empty() {
            let text = "the reply to a fetch got lost: its jobs, if any, run again when their locks expire";
            self.shared.error(text.to_owned());
        }
        self.shared.hold();
        self.shared.handout.close();
        loop {
            self.return_jobs();
            let outcomes = self.shared.take_outcomes(1, BATCH, OUTCOME_BYTES);
            if !outcomes.is_empty() {
                self.flights.start(outcomes, None);
            }
            if let Some(landed) = self.flights.next().await {
                self.land(landed);
            } else if self.in_hand == 0 {
                return;
            } else {
                self.look_after_claims();
                tokio::select! {
                    () = self.shared.bell.notified() => {}
                    () = tokio::time::sleep(CLAIM_CHECK), if self.shared.handout.has_claims() => {}
                }
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
