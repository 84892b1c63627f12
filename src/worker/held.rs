//! A job in this worker's hands.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::clock::now_ms;
use crate::protocol::JobRecord;
use crate::scripts::fetch::Started;
use crate::scripts::finish::GivenBack;
use crate::timers::lock_extender::Lease;

/// Jobs that have arrived in this process.
static ARRIVED: AtomicU64 = AtomicU64::new(0);

/// How a job came into this worker's hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// For a free slot: its fetch stamped it, at so many ms since the epoch.
    Stamped(i64),
    /// Ahead of a free slot: nothing in its hash has changed, its start is stamped when it starts.
    Ahead,
    /// By a fetch whose reply got lost: it is stamped, and what it had before is not known.
    Recovered,
}

/// A fetched job, from the fetch to the accepted outcome.
pub struct HeldJob {
    /// As it was before the fetch, unless it is recovered.
    pub record: JobRecord,
    pub token: Arc<str>,
    /// When the fetch was sent: the lock is at most this old.
    pub fetched: Instant,
    pub arrived: Instant,
    /// Shared with the lock extender.
    pub lease: Arc<Lease>,
    /// Grows with the jobs that arrive: their order.
    pub sequence: u64,
    claim: Claim,
    /// Its place among the prioritized.
    score: Option<Box<str>>,
    worker_name: Option<Arc<str>>,
    started: OnceLock<(Instant, i64)>,
    /// A stamp is on its way, or has arrived.
    stamping: AtomicBool,
    stamped: AtomicBool,
    settled: AtomicBool,
    /// Settled without its handler, which still runs.
    pub overdue: AtomicBool,
    /// Its handler has limited the queue, and Redis has not said yet for how long.
    pub limiting: AtomicBool,
}

impl HeldJob {
    pub fn new(record: JobRecord, token: Arc<str>, fetched: Instant, claim: Claim) -> Self {
        Self {
            record,
            token,
            fetched,
            arrived: Instant::now(),
            lease: Arc::new(Lease::new(fetched)),
            sequence: ARRIVED.fetch_add(1, Ordering::Relaxed),
            claim,
            score: None,
            worker_name: None,
            started: OnceLock::new(),
            stamping: AtomicBool::new(false),
            stamped: AtomicBool::new(claim != Claim::Ahead),
            settled: AtomicBool::new(false),
            overdue: AtomicBool::new(false),
            limiting: AtomicBool::new(false),
        }
    }

    /// By the worker of this name.
    pub fn by(self, worker_name: Option<Arc<str>>) -> Self {
        Self { worker_name, ..self }
    }

    /// From this place among the prioritized.
    pub fn from_score(self, score: Option<Box<str>>) -> Self {
        Self { score, ..self }
    }

    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// What the lock extender needs to know.
    pub fn lock(&self) -> (Arc<str>, Arc<str>, Arc<Lease>) {
        (self.record.id.clone(), self.token.clone(), self.lease.clone())
    }

    pub fn is_ahead(&self) -> bool {
        self.claim == Claim::Ahead
    }

    pub fn mark_started(&self, now: Instant, now_ms: i64) {
        let _ = self.started.set((now, now_ms));
    }

    pub fn handler_time(&self) -> Option<Duration> {
        self.started.get().map(|(at, _)| at.elapsed())
    }

    /// Its handler's start, or now, for a job that is settled without one.
    fn started_at(&self) -> i64 {
        self.started.get_or_init(|| (Instant::now(), now_ms())).1
    }

    /// How often the job was started, this time included.
    pub fn starts(&self) -> i64 {
        self.record.ats() + i64::from(self.claim != Claim::Recovered)
    }

    /// What this start writes over the record: `ats`, `processedOn` and, by a worker with a name, `pb`.
    pub fn stamp(&self, field: &str) -> Option<String> {
        match (field, self.claim) {
            (_, Claim::Recovered) => None,
            ("ats", _) => Some(self.starts().to_string()),
            ("processedOn", Claim::Stamped(at)) => Some(at.to_string()),
            ("processedOn", _) => Some(self.started_at().to_string()),
            ("pb", _) => self.worker_name.as_deref().map(str::to_owned),
            _ => None,
        }
    }

    /// The start that is not on record yet.
    pub fn unstamped(&self) -> Option<Started<'_>> {
        let start = || Started { id: self.id(), token: &self.token, ats: self.starts(), at: self.started_at() };
        (!self.stamped.load(Ordering::Acquire)).then(start)
    }

    /// A stamp is sent: from now on nobody knows how many fields the hash has, until it has arrived.
    pub fn mark_stamping(&self) {
        self.stamping.store(true, Ordering::Release);
    }

    pub fn mark_stamped(&self) {
        self.stamped.store(true, Ordering::Release);
    }

    /// How many fields the hash has as long as nobody changes it, if these are known and nothing special.
    pub fn plain_fields(&self) -> Option<usize> {
        if !self.record.is_plain() || self.claim == Claim::Recovered {
            return None;
        }
        let stamps = 2 + usize::from(self.worker_name.is_some());
        match (self.stamped.load(Ordering::Acquire), self.stamping.load(Ordering::Acquire)) {
            (true, _) => Some(JobRecord::PLAIN_FIELDS + stamps),
            (false, false) => Some(JobRecord::PLAIN_FIELDS),
            (false, true) => None,
        }
    }

    /// What it takes to give the job back as if it had never been claimed.
    pub fn given_back(&self) -> GivenBack<'_> {
        let fields = || ["ats", "processedOn", "pb"].map(|field| self.record.get(field));
        let before = match self.claim {
            Claim::Ahead => None,
            Claim::Stamped(_) => Some(fields()),
            // What it had is not known, but of a first start: nothing.
            Claim::Recovered => (self.record.ats() <= 1).then_some([None; 3]),
        };
        GivenBack { id: self.id(), token: &self.token, score: self.score.as_deref(), before }
    }

    pub fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    /// True for the first caller only: a job has one outcome.
    pub fn settle(&self) -> bool {
        !self.settled.swap(true, Ordering::AcqRel)
    }
}
