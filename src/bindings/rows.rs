//! Jobs that were read, as Arrow data.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::arrow;
use super::errors::to_py_err;
use crate::arrow::read::{decode, Plan};
use crate::queue::read::Rows;

/// Jobs that were read; they become Arrow data when somebody takes it.
#[pyclass(frozen, name = "CoreRows", module = "bullrush._core", skip_from_py_object)]
#[derive(Clone)]
pub struct PyRows {
    plan: Arc<Plan>,
    rows: Arc<Rows>,
}

impl PyRows {
    pub fn new(plan: Arc<Plan>, rows: Rows) -> Self {
        Self { plan, rows: Arc::new(rows) }
    }
}

#[pymethods]
impl PyRows {
    fn __len__(&self) -> usize {
        self.rows.rows.len()
    }

    #[getter]
    fn removed(&self) -> usize {
        self.rows.removed
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The interface allows to give the own schema whatever is asked for.
        drop(requested_schema);
        let batch = py.detach(|| decode(&self.plan, &self.rows.rows));
        arrow::capsules(py, batch.map_err(|error| to_py_err(py, &error))?)
    }
}
