//! The worker engine as Python drives it: take jobs, hand back outcomes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::convert::Reply;
use super::endpoint::{client_name, endpoint, keys};
use super::errors::{forked, to_py_err};
use super::pending::Pending;
use super::record::PyJobRecord;
use super::runtime::{Core, OwnedByProcess};
use super::terms::WorkerTerms;
use crate::connection::{BlockingLink, Endpoint};
use crate::error::Error;
use crate::protocol::{JobOptions, Keys};
use crate::worker::custom_backoff;
use crate::worker::fetch::stamp_jobs;
use crate::worker::held::HeldJob;
use crate::worker::listeners::{Details, Event};
use crate::worker::options::{RunLimits, Until, WorkerOptions};
use crate::worker::outcome::{Failure, Outcome};
use crate::worker::ready_queue::Taken;
use crate::worker::state::{Closing, WorkerState};

/// How often a taker looks for signals.
const SIGNAL_CHECK: Duration = Duration::from_millis(200);

#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreWorker {
    owned: OwnedByProcess<Arc<WorkerState>>,
    endpoint: Arc<Endpoint>,
    keys: Keys,
    started: AtomicBool,
}

/// Kind, job, text, number, stack traces, what the handler's side left of the job, class of the core's own error.
type WorkerEvent =
    (&'static str, Option<PyJobRecord>, String, i64, Option<Vec<u8>>, Option<Py<PyAny>>, Option<&'static str>);

impl CoreWorker {
    fn shared(&self) -> PyResult<&Arc<WorkerState>> {
        self.owned.get().ok_or_else(forked)
    }

    fn submit(
        &self,
        py: Python<'_>,
        record: &PyJobRecord,
        left: Option<Py<PyAny>>,
        outcome: impl FnOnce(Arc<HeldJob>) -> Outcome,
    ) -> PyResult<()> {
        let job = self.unsettled(py, record)?;
        let details = || left.map_or_else(Details::default, Details::from_handler);
        self.shared()?.submit_with_details(outcome(job.clone()), details);
        Ok(())
    }

    /// The job of a record, for its outcome.
    fn unsettled<'r>(&self, py: Python<'_>, record: &'r PyJobRecord) -> PyResult<&'r Arc<HeldJob>> {
        let job = record.held_job().ok_or_else(|| PyValueError::new_err("this job was not taken by a worker"))?;
        // An outcome that comes too late to count, after its job has timed out, is no news.
        if self.shared()?.lifecycle.has_ended() && !job.is_settled() {
            return Err(to_py_err(py, &Error::Closed));
        }
        Ok(job)
    }
}

fn records(py: Python<'_>, jobs: Vec<Arc<HeldJob>>) -> PyResult<Option<Bound<'_, PyList>>> {
    PyList::new(py, jobs.into_iter().map(PyJobRecord::held)).map(Some)
}

#[pymethods]
impl CoreWorker {
    #[new]
    #[pyo3(signature = (url, prefix, name, terms, *, worker_id, concurrency))]
    fn new(
        py: Python<'_>,
        url: &str,
        prefix: &str,
        name: &str,
        terms: &WorkerTerms,
        worker_id: String,
        concurrency: usize,
    ) -> PyResult<Self> {
        let options = WorkerOptions { worker_id, concurrency, ..terms.0.clone() };
        Ok(Self {
            owned: OwnedByProcess::new(Arc::new(WorkerState::new(options))),
            endpoint: endpoint(py, url)?,
            keys: keys(py, prefix, name)?,
            started: AtomicBool::new(false),
        })
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
        let link = core.pool.command(&self.endpoint);
        let name = client_name(&self.keys, shared.options.worker_name.as_deref());
        let blocking = BlockingLink::new(self.endpoint.clone(), Some(name));
        crate::worker::start(shared, link, blocking, self.keys.clone(), limits);
        Ok(())
    }

    fn take<'py>(&self, py: Python<'py>, max: usize, wait_ms: u64) -> PyResult<Option<Bound<'py, PyList>>> {
        let shared = self.shared()?;
        match shared.try_take(max) {
            Taken::Jobs(jobs) => return records(py, jobs),
            Taken::Closed => return Ok(None),
            Taken::Nothing if wait_ms == 0 => return Ok(Some(PyList::empty(py))),
            Taken::Nothing => {}
        }
        let deadline = Instant::now() + Duration::from_millis(wait_ms);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match py.detach(|| shared.take(max, left.min(SIGNAL_CHECK))) {
                Taken::Jobs(jobs) => return records(py, jobs),
                Taken::Closed => return Ok(None),
                Taken::Nothing if left.is_zero() => return Ok(Some(PyList::empty(py))),
                Taken::Nothing => py.check_signals()?,
            }
        }
    }

    fn fileno(&self) -> PyResult<i32> {
        let wakeup = self.shared()?.ready_queue.wakeup();
        wakeup.map(|wakeup| wakeup.fileno()).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    fn rearm(&self) -> PyResult<()> {
        let wakeup = self.shared()?.ready_queue.wakeup();
        wakeup.map(|wakeup| wakeup.clear()).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    #[pyo3(signature = (record, value, left=None))]
    fn complete(
        &self,
        py: Python<'_>,
        record: &PyJobRecord,
        value: &Bound<'_, PyBytes>,
        left: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let value = value.as_bytes().to_vec();
        self.submit(py, record, left, |job| Outcome::Completed { job, value })
    }

    #[pyo3(signature = (record, reason, stack, retry, delay, left=None))]
    #[allow(clippy::too_many_arguments)]
    fn fail(
        &self,
        py: Python<'_>,
        record: &PyJobRecord,
        reason: String,
        stack: String,
        retry: bool,
        delay: Option<i64>,
        left: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let failure = Failure { reason, stack, retry, delay };
        self.submit(py, record, left, |job| Outcome::Failed { job, failure })
    }

    fn needs_strategy(&self, record: &PyJobRecord) -> PyResult<Option<String>> {
        let job = record.held_job().ok_or_else(|| PyValueError::new_err("this job was not taken by a worker"))?;
        Ok(custom_backoff(job.record.atm(), &JobOptions::parse(job.record.opts())))
    }

    fn release(&self, py: Python<'_>, record: &PyJobRecord) -> PyResult<()> {
        self.submit(py, record, None, |job| Outcome::Released { job })
    }

    fn give_back(&self, py: Python<'_>, record: &PyJobRecord) -> PyResult<()> {
        self.submit(py, record, None, |job| Outcome::Returned { job })
    }

    fn rate_limited(&self, py: Python<'_>, record: &PyJobRecord) -> PyResult<()> {
        let job = self.unsettled(py, record)?;
        self.shared()?.rate_limited(job.clone());
        Ok(())
    }

    #[pyo3(signature = (id, reason))]
    fn cancel(&self, id: &str, reason: &str) -> PyResult<bool> {
        Ok(self.shared()?.cancel(id, None, reason))
    }

    fn held_ids(&self) -> PyResult<Vec<String>> {
        Ok(self.shared()?.locks.ids())
    }

    fn next_event(&self, py: Python<'_>, wait_ms: u64) -> PyResult<Option<WorkerEvent>> {
        let shared = self.shared()?;
        let deadline = Instant::now() + Duration::from_millis(wait_ms);
        loop {
            if let Some(event) = shared.next_event(Duration::ZERO) {
                return Ok(Some(describe(event)));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if let Some(event) = py.detach(|| shared.next_event(left.min(SIGNAL_CHECK))) {
                return Ok(Some(describe(event)));
            }
            py.check_signals()?;
        }
    }

    fn set_concurrency(&self, concurrency: usize) -> PyResult<()> {
        let shared = self.shared()?;
        shared.concurrency.store(concurrency, Ordering::Relaxed);
        shared.wake.notify_one();
        Ok(())
    }

    fn report_outcomes(&self, wanted: bool) -> PyResult<()> {
        self.shared()?.report_outcomes.store(wanted, Ordering::Relaxed);
        Ok(())
    }

    fn pause(&self) -> PyResult<()> {
        let shared = self.shared()?;
        shared.paused.store(true, Ordering::Relaxed);
        shared.give_back_unstarted();
        Ok(())
    }

    fn limit(&self, ms: i64) -> PyResult<()> {
        self.shared()?.limit(ms);
        Ok(())
    }

    fn put_start_on_record(&self, record: &PyJobRecord) -> PyResult<Option<Pending>> {
        let shared = self.shared()?.clone();
        let Some(job) = record.held_job().filter(|job| job.unstamped().is_some()).cloned() else { return Ok(None) };
        let core = Core::current();
        let link = {
            let _runtime = core.enter();
            core.pool.command(&self.endpoint)
        };
        let keys = self.keys.clone();
        Ok(Some(Pending::start(async move {
            stamp_jobs(&link, &keys, &shared.options, &[job]).await?;
            Ok(Reply::Nothing)
        })))
    }

    fn resume(&self) -> PyResult<()> {
        let shared = self.shared()?;
        shared.paused.store(false, Ordering::Relaxed);
        shared.wake.notify_one();
        Ok(())
    }

    #[pyo3(signature = (timeout_ms, force))]
    fn close(&self, timeout_ms: Option<u64>, force: bool) -> PyResult<Pending> {
        let shared = self.shared()?.clone();
        let deadline = timeout_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        let closing = if force { Closing::Now } else { Closing::Gracefully { deadline } };
        shared.close(closing);
        let started = self.started.load(Ordering::Acquire);
        if !started {
            shared.ready_queue.close();
        }
        Ok(Pending::start(async move {
            if started {
                shared.lifecycle.ended().await?;
            }
            Ok(Reply::Nothing)
        }))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = &self.shared()?.stats;
        let dict = PyDict::new(py);
        dict.set_item("completed", stats.completed.load(Ordering::Relaxed))?;
        dict.set_item("failed", stats.failed.load(Ordering::Relaxed))?;
        dict.set_item("retried", stats.retried.load(Ordering::Relaxed))?;
        dict.set_item("fetched", stats.fetched.load(Ordering::Relaxed))?;
        dict.set_item("calls", stats.calls.load(Ordering::Relaxed))?;
        dict.set_item("stalled_skipped", stats.stalled_skipped.load(Ordering::Relaxed))?;
        dict.set_item("overdue", stats.overdue.load(Ordering::Relaxed))?;
        dict.set_item("schedulers_repaired", stats.schedulers_repaired.load(Ordering::Relaxed))?;
        dict.set_item("deadlines", self.shared()?.deadlines.kept())?;
        dict.set_item("undelivered", self.shared()?.backlog.waiting())?;
        dict.set_item("dropped", self.shared()?.backlog.dropped())?;
        dict.set_item("in_hand", stats.in_hand.load(Ordering::Relaxed))?;
        Ok(dict)
    }
}

fn describe(event: Event) -> WorkerEvent {
    let outcome = |kind, job, text, number, stack, details: Details| {
        let left = details.handler_value.and_then(|left| left.downcast::<Py<PyAny>>().ok()).map(|left| *left);
        (kind, Some(PyJobRecord::held(job)), text, number, stack, left, details.error_class)
    };
    let (kind, text) = match event {
        Event::Completed { job, value, finished_on, details } => {
            let value = String::from_utf8(value).unwrap_or_default();
            return outcome("completed", job, value, finished_on, None, details);
        }
        Event::Failed { job, reason, stacktrace, finished_on, details } => {
            return outcome("failed", job, reason, finished_on, Some(stacktrace), details);
        }
        Event::Retried { job, reason, stacktrace, delay, details } => {
            return outcome("retried", job, reason, delay, Some(stacktrace), details);
        }
        Event::Refused { job } => return outcome("refused", job, String::new(), 0, None, Details::default()),
        Event::Stalled { id } => ("stalled", id),
        Event::SchedulerRepaired { id } => ("scheduler_repaired", id),
        Event::Drained => ("drained", String::new()),
        Event::Error { text } => ("error", text),
        Event::Cancelled { id, token } => ("cancelled", format!("{token} {id}")),
        Event::LockLost { id } => ("lock_lost", id),
        Event::Ready => ("ready", String::new()),
        Event::Reconnecting { text } => ("reconnecting", text),
        Event::Connected => ("connected", String::new()),
        Event::Closed => ("closed", String::new()),
        Event::Dropped { count } => ("dropped", count.to_string()),
    };
    (kind, None, text, 0, None, None, None)
}
