//! A job as Python sees it: raw bytes, which the caller decodes when needed.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use bullrush::protocol::JobRecord;
use bullrush::worker::held::HeldJob;

/// The fields that the start of a job changes after its fetch.
const START_FIELDS: [&str; 3] = ["ats", "processedOn", "pb"];

enum Source {
    Stored(Arc<JobRecord>),
    Held(Arc<HeldJob>),
}

#[pyclass(frozen, name = "JobRecord", module = "bullrush._core")]
pub struct PyJobRecord(Source);

impl PyJobRecord {
    pub fn stored(record: Arc<JobRecord>) -> Self {
        Self(Source::Stored(record))
    }

    pub fn held(job: Arc<HeldJob>) -> Self {
        Self(Source::Held(job))
    }

    fn record(&self) -> &JobRecord {
        match &self.0 {
            Source::Stored(record) => record,
            Source::Held(job) => &job.record,
        }
    }

    /// The held job, if a worker of this process holds it.
    pub fn held_job(&self) -> Option<&Arc<HeldJob>> {
        match &self.0 {
            Source::Held(job) => Some(job),
            Source::Stored(_) => None,
        }
    }
}

#[pymethods]
impl PyJobRecord {
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, &self.record().id)
    }

    #[getter]
    fn name(&self) -> Cow<'_, str> {
        self.record().name()
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.record().data())
    }

    #[getter]
    fn opts<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.record().opts())
    }

    #[getter]
    fn token(&self) -> Option<&str> {
        self.held_job().map(|job| &*job.token)
    }

    #[getter]
    fn queue_name(&self) -> Option<&str> {
        self.held_job().map(|job| job.lane.queue())
    }

    #[getter]
    fn cancelled(&self) -> bool {
        self.held_job().is_some_and(|job| job.lease.is_lost() || job.lease.cancel_reason().is_some())
    }

    #[getter]
    fn cancel_reason(&self) -> Option<&str> {
        self.held_job().and_then(|job| job.lease.cancel_reason())
    }

    #[getter]
    fn settled(&self) -> bool {
        self.held_job().is_some_and(|job| job.is_settled())
    }

    #[getter]
    fn overdue(&self) -> bool {
        self.held_job().is_some_and(|job| job.overdue.load(Ordering::Acquire))
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        for (name, value) in self.record().fields() {
            fields.set_item(String::from_utf8_lossy(name), PyBytes::new(py, value))?;
        }
        for name in START_FIELDS {
            if let Some(value) = self.held_job().and_then(|job| job.stamp(name)) {
                fields.set_item(name, PyBytes::new(py, value.as_bytes()))?;
            }
        }
        Ok(fields)
    }

    fn get<'py>(&self, py: Python<'py>, field: &str) -> Option<Bound<'py, PyBytes>> {
        let stamp = self.held_job().filter(|_| START_FIELDS.contains(&field)).and_then(|job| job.stamp(field));
        match stamp {
            Some(value) => Some(PyBytes::new(py, value.as_bytes())),
            None => self.record().get(field).map(|value| PyBytes::new(py, value)),
        }
    }

    fn __repr__(&self) -> String {
        format!("JobRecord(id={:?})", self.record().id)
    }
}
