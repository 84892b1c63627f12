//! Jobs: a worker takes them, and hands in their outcomes.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::super::errors::to_py_err;
use super::super::failure::PyFailure;
use super::super::output::Output;
use super::super::pending::Pending;
use super::super::record::PyJobRecord;
use super::super::runtime::Core;
use super::{CoreWorker, SIGNAL_CHECK};
use bullrush::error::Error;
use bullrush::protocol::JobOptions;
use bullrush::worker::fetch::stamp_jobs;
use bullrush::worker::held::HeldJob;
use bullrush::worker::listeners::Details;
use bullrush::worker::needs_strategy;
use bullrush::worker::outcome::{Failure, Outcome};
use bullrush::worker::ready_queue::Taken;

impl CoreWorker {
    fn submit(
        &self,
        py: Python<'_>,
        record: &PyJobRecord,
        details: Option<Py<PyAny>>,
        outcome: impl FnOnce(Arc<HeldJob>) -> Outcome,
    ) -> PyResult<()> {
        let job = self.unsettled(py, record)?;
        let details = || details.map_or_else(Details::default, Details::from_handler);
        self.shared()?.submit_with_details(outcome(job.clone()), details);
        Ok(())
    }

    /// The job of a record, which gets an outcome now.
    fn unsettled<'r>(&self, py: Python<'_>, record: &'r PyJobRecord) -> PyResult<&'r Arc<HeldJob>> {
        let job = record.held_job().ok_or_else(|| PyValueError::new_err("this job was not taken by a worker"))?;
        // A settled job, such as one that has timed out, already has its outcome: there is nothing to report.
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

    #[pyo3(signature = (record, value, details=None))]
    fn complete(
        &self,
        py: Python<'_>,
        record: &PyJobRecord,
        value: &Bound<'_, PyBytes>,
        details: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let value = value.as_bytes();
        let limit = self.shared()?.options.payload_limit;
        if let Some(reason) = limit.and_then(|limit| limit.result_error(value.len())) {
            let job = self.unsettled(py, record)?;
            let (class, failure) = ("TooLargeError", Failure::unrecoverable(reason));
            let failed = Outcome::Failed { job: job.clone(), failure };
            let details = || details.map_or_else(Details::default, Details::from_handler).with_class(class);
            self.shared()?.submit_with_details(failed, details);
            return Ok(());
        }
        let value = value.to_vec();
        self.submit(py, record, details, |job| Outcome::Completed { job, value })
    }

    fn discard(&self, record: &PyJobRecord) {
        if let Some(job) = record.held_job() {
            job.discarded.store(true, Ordering::Relaxed);
        }
    }

    #[pyo3(signature = (record, failure, details=None))]
    fn fail(
        &self,
        py: Python<'_>,
        record: &PyJobRecord,
        failure: PyFailure,
        details: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let failure = failure.into();
        self.submit(py, record, details, |job| Outcome::Failed { job, failure })
    }

    fn needs_strategy(&self, record: &PyJobRecord) -> PyResult<Option<String>> {
        let job = record.held_job().ok_or_else(|| PyValueError::new_err("this job was not taken by a worker"))?;
        Ok(needs_strategy(job.record.atm(), &JobOptions::parse(job.record.opts())))
    }

    fn release(&self, py: Python<'_>, record: &PyJobRecord) -> PyResult<()> {
        self.submit(py, record, None, |job| Outcome::Released { job })
    }

    fn give_back(&self, py: Python<'_>, record: &PyJobRecord) -> PyResult<()> {
        self.submit(py, record, None, |job| Outcome::Returned { job })
    }

    fn defer(&self, py: Python<'_>, record: &PyJobRecord, delay: i64) -> PyResult<()> {
        self.submit(py, record, None, |job| Outcome::Deferred { job, delay })
    }

    fn rate_limited(&self, py: Python<'_>, record: &PyJobRecord) -> PyResult<()> {
        let job = self.unsettled(py, record)?;
        self.shared()?.rate_limited(job.clone());
        Ok(())
    }

    fn held_ids(&self) -> PyResult<Vec<String>> {
        Ok(self.shared()?.lanes.all().iter().flat_map(|lane| lane.locks.ids()).collect())
    }

    fn record_start(&self, record: &PyJobRecord) -> PyResult<Option<Pending>> {
        let shared = self.shared()?.clone();
        let Some(job) = record.held_job().filter(|job| job.unstamped().is_some()).cloned() else { return Ok(None) };
        let core = Core::current();
        let link = {
            let _runtime = core.enter();
            core.pool.command(&self.endpoint)
        };
        Ok(Some(Pending::start(async move {
            stamp_jobs(&link, &shared.options, &[job]).await?;
            Ok(Output::Nothing)
        })))
    }
}
