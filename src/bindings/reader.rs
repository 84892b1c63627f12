//! Reading jobs for tables.

use std::sync::Arc;

use pyo3::prelude::*;

use super::arrow;
use super::errors::to_py_err;
use super::output::Output;
use super::pending::Pending;
use super::queue::CoreQueue;
use super::rows::PyRows;
use super::runtime::OwnedByProcess;
use bullrush::error::Result;
use bullrush_arrow::jobs::{Reader, Reading};
use bullrush_arrow::read::Plan;

/// Reads jobs of a queue as the columns of one schema.
#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreReader {
    queue: Py<CoreQueue>,
    plan: Arc<Plan>,
    skip_removed: bool,
}

impl CoreReader {
    fn start(&self, py: Python<'_>, begin: impl FnOnce(Reader) -> Result<Reading>) -> PyResult<CoreReading> {
        let reader = Reader::new(self.queue.get().handle(), self.plan.clone(), self.skip_removed);
        let reading = begin(reader).map_err(|error| to_py_err(py, &error))?;
        let reading = Arc::new(tokio::sync::Mutex::new(reading));
        Ok(CoreReading { plan: self.plan.clone(), reading: OwnedByProcess::new(reading) })
    }
}

#[pymethods]
impl CoreReader {
    #[new]
    #[pyo3(signature = (queue, schema, returns, skip_removed))]
    fn new(
        py: Python<'_>,
        queue: Py<CoreQueue>,
        schema: &Bound<'_, PyAny>,
        returns: Option<&Bound<'_, PyAny>>,
        skip_removed: bool,
    ) -> PyResult<Self> {
        let schema = arrow::schema(schema)?;
        let returns = returns.map(arrow::schema).transpose()?;
        let plan = Plan::new(&schema, returns.as_ref()).map_err(|error| to_py_err(py, &error))?;
        Ok(Self { queue, plan: Arc::new(plan), skip_removed })
    }

    #[pyo3(signature = (run, start, stop))]
    fn run(&self, py: Python<'_>, run: &str, start: i64, stop: Option<i64>) -> PyResult<CoreReading> {
        self.start(py, |reader| reader.run(run, start, stop))
    }

    #[pyo3(signature = (state, start, stop))]
    fn ranks(&self, py: Python<'_>, state: &str, start: i64, stop: Option<i64>) -> PyResult<CoreReading> {
        self.start(py, |reader| reader.ranks(state, start, stop))
    }

    #[pyo3(signature = (state, after, until))]
    fn scores(&self, py: Python<'_>, state: &str, after: Option<i64>, until: Option<i64>) -> PyResult<CoreReading> {
        self.start(py, |reader| reader.scores(state, after, until))
    }

    fn jobs(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<CoreReading> {
        self.start(py, |reader| Ok(reader.jobs(ids)))
    }
}

/// Jobs that are being read.
#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreReading {
    plan: Arc<Plan>,
    reading: OwnedByProcess<Arc<tokio::sync::Mutex<Reading>>>,
}

#[pymethods]
impl CoreReading {
    fn next(&self) -> PyResult<Pending> {
        let Some(reading) = self.reading.get().cloned() else {
            return Err(pyo3::exceptions::PyRuntimeError::new_err(
                "this reading of jobs was started before the fork and belongs to the parent process",
            ));
        };
        let plan = self.plan.clone();
        Ok(Pending::start(async move {
            let rows = reading.lock().await.next().await?;
            Ok(Output::Rows(rows.map(|rows| PyRows::new(plan, rows))))
        }))
    }
}
