//! A job that this worker has fetched and not finished.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::clock::now_ms;
use crate::mutex::Mutex;
use crate::protocol::JobRecord;
use crate::scripts::fetch::Started;
use crate::scripts::finish::GivenBack;
use crate::timers::held_locks::Lease;
use crate::worker::lanes::Lane;
use crate::worker::options::WorkerOptions;

/// How many jobs have arrived in this process.
static ARRIVED: AtomicU64 = AtomicU64::new(0);

/// How this worker claimed a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// For a free slot: its fetch wrote the start into the job's hash (stamped it), with this time in ms since the
    /// epoch.
    Stamped(i64),
    /// Ahead of a free slot: its hash is unchanged, and is stamped when the job starts.
    Ahead,
    /// By a fetch whose reply got lost: the hash is stamped, and the values before are not known.
    Recovered,
}

/// A fetched job, until Redis has accepted its outcome.
pub struct HeldJob {
    /// The job as it was before the fetch; after it, if the claim is `Recovered`.
    pub record: JobRecord,
    /// The queue that it belongs to.
    pub lane: Arc<Lane>,
    pub token: Arc<str>,
    /// When the fetch was sent: the lock is not older.
    pub fetched: Instant,
    /// When the engine decided to fetch it. A call may be sent, or sent again, much later.
    pub decided: Instant,
    pub arrived: Instant,
    /// Shared with the lock extender.
    pub lease: Arc<Lease>,
    /// The order in which jobs arrived in this process.
    pub sequence: u64,
    claim: Claim,
    /// Its score in `prioritized`, if it was there.
    score: Option<Box<str>>,
    worker_name: Option<Arc<str>>,
    started: OnceLock<(Instant, i64)>,
    /// A stamp was sent, and may have arrived.
    stamping: AtomicBool,
    stamped: AtomicBool,
    /// The job has an outcome, but its handler still runs.
    pub overdue: AtomicBool,
    /// Its handler has said that it must not be retried.
    pub discarded: AtomicBool,
    /// Its handler has limited the queue, and the reply that tells for how long has not come yet.
    pub limiting: AtomicBool,
    /// The batch that it keeps from ending.
    batch: Mutex<Option<Arc<Batch>>>,
}

/// The jobs that a handler got together, and that have no outcome on its way to Redis yet.
struct Batch {
    left: AtomicUsize,
}

/// Note that a handler gets these jobs together.
pub fn begin_batch(jobs: &[Arc<HeldJob>]) {
    let batch = Arc::new(Batch { left: AtomicUsize::new(jobs.len()) });
    for job in jobs {
        *job.batch.lock() = Some(batch.clone());
    }
}

impl HeldJob {
    pub fn new(
        record: JobRecord,
        lane: Arc<Lane>,
        token: Arc<str>,
        fetched: Instant,
        claim: Claim,
        options: &WorkerOptions,
    ) -> Self {
        let lease = Arc::new(options.lease(&record, fetched));
        Self {
            record,
            lane,
            token,
            fetched,
            decided: fetched,
            arrived: Instant::now(),
            lease,
            sequence: ARRIVED.fetch_add(1, Ordering::Relaxed),
            claim,
            score: None,
            worker_name: options.worker_name.clone(),
            started: OnceLock::new(),
            stamping: AtomicBool::new(false),
            stamped: AtomicBool::new(claim != Claim::Ahead),
            overdue: AtomicBool::new(false),
            discarded: AtomicBool::new(false),
            limiting: AtomicBool::new(false),
            batch: Mutex::default(),
        }
    }

    pub fn with_decided(self, decided: Instant) -> Self {
        Self { decided, ..self }
    }

    pub fn with_score(self, score: Option<Box<str>>) -> Self {
        Self { score, ..self }
    }

    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// Id, token and lease, for [`HeldLocks::insert`](crate::timers::held_locks::HeldLocks::insert).
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

    /// How long the job waited for its first start since it was due. `None`: it has run before, or has no handler yet.
    pub fn waited(&self) -> Option<Duration> {
        let (_, at) = self.started.get().filter(|_| self.starts() == 1)?;
        let due = self.record.number("timestamp").saturating_add(self.record.first_delay());
        Some(Duration::from_millis(u64::try_from(at.saturating_sub(due)).unwrap_or(0)))
    }

    /// When the handler started; now, for a job that never had one.
    fn started_at(&self) -> i64 {
        self.started.get_or_init(|| (Instant::now(), now_ms())).1
    }

    /// How often the job was started, including this time.
    pub fn starts(&self) -> i64 {
        self.record.ats() + i64::from(self.claim != Claim::Recovered)
    }

    /// What this start changes in the record: `ats`, `processedOn` and, if the worker has a name, `pb`.
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

    /// The start, if it was not stamped yet.
    pub fn unstamped(&self) -> Option<Started<'_>> {
        let start = || Started { id: self.id(), token: &self.token, ats: self.starts(), at: self.started_at() };
        (!self.stamped.load(Ordering::Acquire)).then(start)
    }

    /// A stamp is sent: until it has arrived, the number of fields in the hash is not known.
    pub fn mark_stamping(&self) {
        self.stamping.store(true, Ordering::Release);
    }

    pub fn mark_stamped(&self) {
        self.stamped.store(true, Ordering::Release);
    }

    /// How many fields the hash has if nobody changes it. `None`: that is not known, or not all are standard fields.
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

    /// What is needed to give the job back as if it had never been claimed.
    pub fn given_back(&self) -> GivenBack<'_> {
        let fields = || ["ats", "processedOn", "pb"].map(|field| self.record.get(field));
        let before = match self.claim {
            Claim::Ahead => None,
            Claim::Stamped(_) => Some(fields()),
            // The values before are not known, except that there were none before a first start.
            Claim::Recovered => (self.record.ats() <= 1).then_some([None; 3]),
        };
        GivenBack { id: self.id(), token: &self.token, score: self.score.as_deref(), before }
    }

    pub fn is_settled(&self) -> bool {
        self.lease.is_settled()
    }

    /// The handler is done with this job, and its outcome goes to Redis. True if that ends its batch.
    pub fn leave_batch(&self) -> bool {
        let batch = self.batch.lock().take();
        batch.is_some_and(|batch| batch.left.fetch_sub(1, Ordering::AcqRel) == 1)
    }

    /// Mark that the job has its outcome. True for the first caller only.
    pub fn settle(&self) -> bool {
        self.lease.settle()
    }
}
