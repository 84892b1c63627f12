//! The options of a worker and of a run.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Deserializer};

use crate::protocol::route::{queue_of, Profile};
use crate::protocol::{JobRecord, Keep, Tier};
use crate::scripts::finish::{FinishedBy, ResultsQueue};
use crate::scripts::hint::Wake;
use crate::scripts::route::Scan;
use crate::timers::held_locks::Lease;
use crate::timers::stalled_checker::StalledRule;
use crate::worker::lanes::{Lane, LaneSpec};

/// Fetch at most `max` jobs per `duration_ms`, over all workers of the queue.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limiter {
    pub max: i64,
    #[serde(rename = "duration")]
    pub duration_ms: i64,
}

/// How long handlers may take.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// For jobs of all other names.
    #[serde(deserialize_with = "optional_ms")]
    pub default: Option<Duration>,
    #[serde(deserialize_with = "ms_by_name")]
    pub by_name: Arc<HashMap<String, Duration>>,
}

impl Timeouts {
    /// How long the handler of this job may take.
    #[must_use]
    pub fn of(&self, job: &JobRecord) -> Option<Duration> {
        if self.by_name.is_empty() {
            return self.default;
        }
        self.by_name.get(&*job.name()).copied().or(self.default)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.default.is_none() && self.by_name.is_empty()
    }
}

/// How many bytes the data and the result of a job may have.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadLimit {
    pub bytes: usize,
    /// Jobs with more data fail. Otherwise they run, and a notice is logged.
    pub refuses_data: bool,
}

impl PayloadLimit {
    /// What is wrong with a result of this length, if anything is.
    #[must_use]
    pub fn result_error(&self, length: usize) -> Option<String> {
        let PayloadLimit { bytes, .. } = self;
        (length > *bytes).then(|| {
            format!(
                "the result has {length} bytes, more than the payload_limit of the worker, {bytes}; store it elsewhere \
                 and return its place"
            )
        })
    }

    /// What is wrong with data of this length, if anything is.
    #[must_use]
    pub fn data_error(&self, length: usize) -> Option<String> {
        let PayloadLimit { bytes, .. } = self;
        (length > *bytes).then(|| {
            format!("the data of the job has {length} bytes, more than the payload_limit of the worker, {bytes}")
        })
    }
}

/// The options of a worker by the names that they have in Python, which has checked them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerOptions {
    #[serde(skip)]
    pub concurrency: usize,
    /// The most jobs of a batch; 1 without batches.
    pub batch_size: usize,
    /// The queues to serve; empty: the one that the worker is made for. Others may be offered while it runs.
    pub lanes: Vec<LaneSpec>,
    /// What the worker has, if it takes jobs of routes.
    pub routing: Option<Routing>,
    /// Serve a lane only while those of better tiers have no jobs.
    pub strict: bool,
    /// Jobs claimed ahead; `None` adapts to the handler's speed, 0 is strict BullMQ.
    pub prefetch: Option<usize>,
    #[serde(deserialize_with = "ms")]
    pub lock_duration: Duration,
    /// How long the locks of jobs of these names last from their first renewal on.
    #[serde(deserialize_with = "ms_by_name")]
    pub lock_durations: Arc<HashMap<String, Duration>>,
    #[serde(deserialize_with = "ms")]
    pub lock_renew_time: Duration,
    /// The time between two looks for locks that are due.
    #[serde(deserialize_with = "ms")]
    pub heartbeat_interval: Duration,
    #[serde(deserialize_with = "ms")]
    pub stalled_interval: Duration,
    pub max_stalled_count: i64,
    pub max_started_attempts: Option<i64>,
    pub limiter: Option<Limiter>,
    /// The rate limit of the worker's own queue counts for all its lanes.
    pub share_rate_limit: bool,
    pub timeouts: Timeouts,
    #[serde(deserialize_with = "ms")]
    pub drain_delay: Duration,
    pub remove_on_complete: Option<Keep>,
    pub remove_on_fail: Option<Keep>,
    #[serde(rename = "metrics")]
    pub metrics_max_points: Option<i64>,
    #[serde(rename = "name")]
    pub worker_name: Option<Arc<str>>,
    /// A queue of Bull's is not refused.
    pub allow_legacy: bool,
    /// Listen to messages of other programs.
    pub notify: bool,
    /// The run whose list in Redis gets the ids of the jobs that this worker finishes.
    pub run: Option<Arc<str>>,
    /// The queue to which the outcomes of jobs are added as jobs.
    pub results_queue: Option<Arc<str>>,
    /// The options of these jobs, in JSON.
    pub results_options: Box<str>,
    /// How its lock tokens begin. It must be unique: two workers with equal tokens could finish each other's jobs.
    #[serde(skip)]
    pub worker_id: String,
    /// The commands that the user of the URL must be allowed to run, looked at in the beginning; empty: it is not
    /// looked at.
    pub needed_rights: Vec<String>,
    pub skip_stalled_check: bool,
    /// Pause after a fetch that the server refused.
    #[serde(deserialize_with = "ms")]
    pub run_retry_delay: Duration,
    pub skip_lock_renewal: bool,
    /// Cap of a computed backoff in ms; `None` is BullMQ's "no cap".
    #[serde(rename = "max_backoff")]
    pub max_backoff_ms: Option<i64>,
    /// Bytes of a failure's reason, and of its stack trace, beyond which the middle is cut out.
    pub max_error_size: usize,
    /// `None` = without limit.
    pub payload_limit: Option<PayloadLimit>,
    /// Calls that make several jobs ready wake a worker for each.
    pub fan_out: bool,
}

fn ms<'de, D: Deserializer<'de>>(ms: D) -> Result<Duration, D::Error> {
    u64::deserialize(ms).map(Duration::from_millis)
}

fn optional_ms<'de, D: Deserializer<'de>>(ms: D) -> Result<Option<Duration>, D::Error> {
    Option::deserialize(ms).map(|ms| ms.map(Duration::from_millis))
}

fn ms_by_name<'de, D: Deserializer<'de>>(ms: D) -> Result<Arc<HashMap<String, Duration>>, D::Error> {
    let by_name = HashMap::<String, u64>::deserialize(ms)?;
    Ok(Arc::new(by_name.into_iter().map(|(name, ms)| (name, Duration::from_millis(ms))).collect()))
}

/// Which routes of its queue a worker serves.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "GivenRouting")]
pub struct Routing {
    pub profile: Profile,
    /// Leave the jobs of the queue itself to others.
    pub routes_only: bool,
    /// Take only jobs of the queue itself that the profile matches as well.
    pub scan: Option<ScanRule>,
}

/// How the queue itself is scanned.
#[derive(Clone, Debug)]
pub struct ScanRule {
    /// How many of the next jobs are looked at.
    pub depth: usize,
    /// The profile as JSON.
    pub profile: String,
}

/// The same as Python gives it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenRouting {
    profile: serde_json::Value,
    routes_only: bool,
    scan_depth: Option<usize>,
}

impl TryFrom<GivenRouting> for Routing {
    type Error = &'static str;

    fn try_from(given: GivenRouting) -> Result<Self, Self::Error> {
        let profile = Profile::from_json(&given.profile).ok_or("a profile that cannot be read")?;
        let scan = given.scan_depth.map(|depth| ScanRule { depth, profile: profile.canonical() });
        Ok(Routing { profile, routes_only: given.routes_only, scan })
    }
}

impl Routing {
    /// The queues that the worker can name without the registry: the base, and the routes with one criterion.
    #[must_use]
    pub fn lanes(&self, base: &str) -> Vec<LaneSpec> {
        let own = (!self.routes_only).then(|| LaneSpec::new(base, Tier::Base));
        let routes = self.profile.self_routes().into_iter().map(|target| {
            let lane = LaneSpec::new(queue_of(base, &target.slug()), target.tier());
            LaneSpec { registered: false, ..lane }
        });
        own.into_iter().chain(routes).collect()
    }
}

impl WorkerOptions {
    /// Those of a program that finishes jobs by hand and is no worker.
    #[must_use]
    pub fn by_hand() -> Self {
        WorkerOptions {
            lock_duration: Duration::from_secs(30),
            max_backoff_ms: Some(3_600_000),
            max_error_size: 65_536,
            ..Self::default()
        }
    }

    /// Whether the worker may serve other queues than the one that it is made for.
    #[must_use]
    pub fn has_lanes(&self) -> bool {
        !self.lanes.is_empty() || self.routing.is_some()
    }

    /// Whether jobs run in batches.
    #[must_use]
    pub fn has_batches(&self) -> bool {
        self.batch_size > 1
    }

    /// What is known of the lock of a job that was `taken` then.
    #[must_use]
    pub fn lease(&self, job: &JobRecord, taken: Instant) -> Lease {
        let own = if self.lock_durations.is_empty() { None } else { self.lock_durations.get(&*job.name()).copied() };
        Lease::new(taken, self.lock_duration, own)
    }

    /// When a job has stalled.
    #[must_use]
    pub fn stalled_rule(&self) -> StalledRule {
        let (max_stalled_count, interval) = (self.max_stalled_count, self.stalled_interval);
        StalledRule { max_stalled_count, interval, fan_out: self.fan_out }
    }

    /// How calls of this worker that make jobs ready wake others.
    #[must_use]
    pub fn wake(&self) -> Wake {
        Wake { fan_out: self.fan_out, notify: self.notify }
    }

    /// Which jobs the worker may take from a queue; `None`: the next ones.
    #[must_use]
    pub fn scan(&self, lane: &Lane) -> Option<Scan<'_>> {
        let ScanRule { depth, profile } = self.routing.as_ref()?.scan.as_ref()?;
        (lane.tier == Tier::Base).then_some(Scan { depth: *depth, profile })
    }

    /// What each finish call says about this worker.
    #[must_use]
    pub fn finished_by(&self) -> FinishedBy<'_> {
        FinishedBy {
            metrics_max_points: self.metrics_max_points.unwrap_or(0),
            worker_name: self.worker_name.as_deref(),
            run: self.run.as_deref(),
            results: self.results_queue.as_deref().map(|name| ResultsQueue { name, opts: &self.results_options }),
            fan_out: self.fan_out,
            leaves_slots: false,
        }
    }
}

/// When a run ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Never: only when the worker is closed.
    Closed,
    /// Nothing to fetch now and nothing in hand.
    Empty,
    /// Also nothing active in other workers, and nothing due within the horizon.
    Drained,
}

#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    pub until: Until,
    pub max_jobs: Option<u64>,
    pub max_time: Option<Duration>,
    pub horizon_ms: i64,
}
