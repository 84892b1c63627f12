//! The worker engine: Python takes jobs, hands in outcomes and reads events.

mod control;
mod events;
mod jobs;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub use events::PyWorkerEvent;

use super::endpoint::{client_name, endpoint, keys};
use super::errors::{forked, to_py_err};
use super::options;
use super::runtime::{Core, OwnedByProcess};
use bullrush::connection::{BlockingLink, Endpoint};
use bullrush::heartbeat::WorkerLoop;
use bullrush::histogram::{self, Limits};
use bullrush::timers::held_locks::Loss;
use bullrush::worker::options::{RunLimits, Until, WorkerOptions};
use bullrush::worker::state::WorkerState;

/// How often a waiting thread looks for signals.
const SIGNAL_CHECK: Duration = Duration::from_millis(200);

#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreWorker {
    owned: OwnedByProcess<Arc<WorkerState>>,
    endpoint: Arc<Endpoint>,
    started: AtomicBool,
}

impl CoreWorker {
    fn shared(&self) -> PyResult<&Arc<WorkerState>> {
        self.owned.get().ok_or_else(forked)
    }
}

#[pymethods]
impl CoreWorker {
    #[new]
    #[pyo3(signature = (url, prefix, name, options, *, worker_id, concurrency))]
    fn new(
        py: Python<'_>,
        url: &str,
        prefix: &str,
        name: &str,
        options: &[u8],
        worker_id: String,
        concurrency: usize,
    ) -> PyResult<Self> {
        let options = WorkerOptions { worker_id, concurrency, ..options::read(py, options)? };
        let keys = keys(py, prefix, name)?;
        let endpoint = endpoint(py, url, &keys)?;
        let state = WorkerState::new(options, keys).map_err(|error| to_py_err(py, &error))?;
        Ok(Self { owned: OwnedByProcess::new(Arc::new(state)), endpoint, started: AtomicBool::new(false) })
    }

    /// The upper limits of the ranges of `histograms`, in seconds.
    #[staticmethod]
    fn histogram_limits() -> Vec<f64> {
        seconds(histogram::OF_JOBS)
    }

    /// The same of `script_histograms`.
    #[staticmethod]
    fn script_histogram_limits() -> Vec<f64> {
        seconds(histogram::OF_CALLS)
    }

    #[pyo3(signature = (*, until, max_jobs, max_seconds, horizon))]
    fn start(
        &self,
        until: Option<&str>,
        max_jobs: Option<u64>,
        max_seconds: Option<f64>,
        horizon: i64,
    ) -> PyResult<()> {
        let shared = self.shared()?.clone();
        let until = match until {
            None => Until::Closed,
            Some("empty") => Until::Empty,
            Some("drained") => Until::Drained,
            Some(other) => {
                return Err(PyValueError::new_err(format!("until must be \"empty\" or \"drained\", not {other:?}")))
            }
        };
        let max_time = max_seconds.map(Duration::try_from_secs_f64).transpose();
        let max_time = max_time.map_err(|error| PyValueError::new_err(format!("max_seconds: {error}")))?;
        if self.started.swap(true, Ordering::AcqRel) {
            return Err(PyRuntimeError::new_err("Worker is already running."));
        }
        let limits = RunLimits { until, max_jobs, max_time, horizon_ms: horizon };
        let core = Core::current();
        let _runtime = core.enter();
        let link = core.pool.command(&self.endpoint).timed(shared.stats.scripts.clone());
        let name = client_name(&shared.keys, shared.options.worker_name.as_deref());
        let blocking = BlockingLink::new(self.endpoint.clone(), Some(name));
        let subscriber = core.pool.subscriber(&self.endpoint);
        core.roster.join(&link, &shared);
        bullrush::worker::start(shared, link, blocking, subscriber, limits);
        Ok(())
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = &self.shared()?.stats;
        let dict = PyDict::new(py);
        dict.set_item("completed", stats.completed.load(Ordering::Relaxed))?;
        dict.set_item("failed", stats.failed.load(Ordering::Relaxed))?;
        dict.set_item("retried", stats.retried.load(Ordering::Relaxed))?;
        dict.set_item("fetched", stats.fetched.load(Ordering::Relaxed))?;
        dict.set_item("calls", stats.calls.load(Ordering::Relaxed))?;
        dict.set_item("scans_exhausted", stats.scans_exhausted.load(Ordering::Relaxed))?;
        dict.set_item("stalled", stats.stalled.load(Ordering::Relaxed))?;
        dict.set_item("stalled_skipped", stats.stalled_skipped.load(Ordering::Relaxed))?;
        dict.set_item("renewed", stats.renewals.done.load(Ordering::Relaxed))?;
        dict.set_item("renewals_failed", stats.renewals.failed.load(Ordering::Relaxed))?;
        dict.set_item("reconnects", stats.reconnects.load(Ordering::Relaxed))?;
        dict.set_item("abandoned", stats.abandoned.load(Ordering::Relaxed))?;
        for how in Loss::ALL {
            dict.set_item(format!("lost_by_{}", how.name()), stats.lost_count(how))?;
        }
        dict.set_item("overdue", stats.overdue.load(Ordering::Relaxed))?;
        dict.set_item("schedulers_repaired", stats.schedulers_repaired.load(Ordering::Relaxed))?;
        dict.set_item("deadlines", self.shared()?.deadlines.kept())?;
        dict.set_item("undelivered", self.shared()?.backlog.waiting())?;
        dict.set_item("dropped", self.shared()?.backlog.dropped())?;
        dict.set_item("in_hand", stats.in_hand.load(Ordering::Relaxed))?;
        dict.set_item("free_slots", stats.free_slots.load(Ordering::Relaxed))?;
        dict.set_item("isolated", u8::from(stats.isolated.load(Ordering::Relaxed)))?;
        let ms = |age: Option<Duration>| age.map_or(-1, |age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        dict.set_item("answer_age", ms(stats.answered.age()))?;
        dict.set_item("claim_age", ms(stats.claimed.age()))?;
        for which in WorkerLoop::ALL {
            let heartbeat = self.shared()?.heartbeats.of(which);
            dict.set_item(format!("revived_by_{}", which.name()), heartbeat.revived())?;
            dict.set_item(format!("{}_age", which.name()), ms(heartbeat.age()))?;
            dict.set_item(format!("deaf_in_{}", which.name()), u8::from(heartbeat.is_deaf()))?;
        }
        Ok(dict)
    }

    fn refusal(&self) -> PyResult<Option<String>> {
        Ok(self.shared()?.refusal())
    }

    fn full_queues(&self) -> PyResult<Vec<String>> {
        Ok(self
            .shared()?
            .lanes
            .all()
            .iter()
            .filter(|lane| lane.is_full())
            .map(|lane| lane.queue().to_owned())
            .collect())
    }

    fn missing_rights(&self) -> PyResult<Vec<String>> {
        Ok(self.shared()?.missing_rights.lock().clone())
    }

    fn unmatched_routes(&self) -> PyResult<BTreeMap<String, i64>> {
        Ok(self.shared()?.stats.unmatched.lock().clone())
    }

    fn histograms(&self) -> PyResult<HashMap<&'static str, (Vec<u64>, f64)>> {
        let stats = &self.shared()?.stats;
        Ok(HashMap::from([("duration", in_seconds(stats.durations.read())), ("wait", in_seconds(stats.waits.read()))]))
    }

    fn script_histograms(&self) -> PyResult<BTreeMap<&'static str, (Vec<u64>, f64)>> {
        Ok(self.shared()?.stats.scripts.read().into_iter().map(|(name, read)| (name, in_seconds(read))).collect())
    }
}

fn in_seconds((counts, total): (Vec<u64>, Duration)) -> (Vec<u64>, f64) {
    (counts, total.as_secs_f64())
}

fn seconds(limits: Limits) -> Vec<f64> {
    limits.iter().map(|us| Duration::from_micros(*us).as_secs_f64()).collect()
}
