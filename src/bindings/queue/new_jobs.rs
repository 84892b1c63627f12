//! Many jobs to add, and their records, which share one buffer.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::maker::Maker;
use super::new_job::NO_LINK;
use super::sent::Sent;
use crate::protocol::NewJob;

#[pyclass(frozen, name = "NewJobs", module = "bullrush._core")]
pub struct PyNewJobs(pub Arc<Sent>, Vec<usize>);

#[pymethods]
impl PyNewJobs {
    /// `compile` turns options into `CompiledOptions` and an id; `prepare` handles jobs that are not plain dicts of a name and JSON,
    /// or have a target; `None` leaves a job out.
    #[new]
    fn new(
        jobs: &Bound<'_, PyAny>,
        timestamp: i64,
        compile: &Bound<'_, PyAny>,
        prepare: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        Maker::make(jobs, timestamp, compile, prepare).map(|(sent, left_out)| Self(Arc::new(sent), left_out))
    }

    fn __len__(&self) -> usize {
        self.0.batch.len()
    }

    /// The positions of the jobs that `prepare` left out.
    fn left_out(&self) -> Vec<usize> {
        self.1.clone()
    }

    /// The names of the first jobs.
    fn names(&self, most: usize) -> Vec<String> {
        (0..self.0.batch.len().min(most)).map(|position| self.0.batch.job(position).name.to_owned()).collect()
    }

    /// A record per job; it has an id once the jobs are added.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let records = (0..self.0.batch.len()).map(|position| PyNewJobRecord { sent: self.0.clone(), position });
        let records: PyResult<Vec<_>> = records.map(|record| Bound::new(py, record)).collect();
        PyList::new(py, records?)
    }
}

/// One job of many as it was sent.
#[pyclass(frozen, name = "NewJobRecord", module = "bullrush._core")]
pub struct PyNewJobRecord {
    sent: Arc<Sent>,
    position: usize,
}

impl PyNewJobRecord {
    fn job(&self) -> NewJob<'_> {
        self.sent.batch.job(self.position)
    }
}

#[pymethods]
impl PyNewJobRecord {
    #[classattr]
    #[pyo3(name = "token")]
    const TOKEN: Option<&'static str> = None;
    #[classattr]
    #[pyo3(name = "cancelled")]
    const CANCELLED: bool = false;
    #[classattr]
    #[pyo3(name = "cancel_reason")]
    const CANCEL_REASON: Option<&'static str> = None;

    #[getter]
    fn id(&self) -> &str {
        self.sent.ids.get().and_then(|ids| ids.get(self.position)).map_or("", String::as_str)
    }

    #[getter]
    fn name(&self) -> &str {
        self.job().name
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.job().data)
    }

    /// As the script stores them: the shared options with the id of the job.
    #[getter]
    fn opts<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let NewJob { opts, id, .. } = self.job();
        match id {
            None => PyBytes::new(py, opts),
            Some(id) => {
                let id = serde_json::Value::from(id);
                PyBytes::new(py, &[&opts[..opts.len() - 1], format!(",\"jobId\":{id}}}").as_bytes()].concat())
            }
        }
    }

    fn get<'py>(&self, py: Python<'py>, field: &str) -> Option<Bound<'py, PyBytes>> {
        let NewJob { timestamp, delay, priority, .. } = self.job();
        let (_, _, _, parent, deduplication) = self.sent.link(self.position).unwrap_or(&NO_LINK);
        let value = match field {
            "timestamp" => timestamp.to_string(),
            "delay" => delay.to_string(),
            "priority" => priority.to_string(),
            "parentKey" => parent.as_ref()?.0.clone(),
            "parent" => parent.as_ref()?.1.clone(),
            "deid" => deduplication.as_ref()?.0.clone(),
            _ => return None,
        };
        Some(PyBytes::new(py, value.as_bytes()))
    }
}
