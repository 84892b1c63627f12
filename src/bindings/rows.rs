//! Jobs that were read, as Arrow data.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyTuple;
use redis::Value;

use super::arrow;
use super::errors::to_py_err;
use bullrush_arrow::jobs::Rows;
use bullrush_arrow::read::{decode, Plan, Row};

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

/// JSON objects as one column `data` of structs, and the column `_corrupt` with the texts that are no such objects.
#[pyfunction]
#[pyo3(signature = (texts, schema))]
pub fn json_as_rows(py: Python<'_>, texts: Vec<PyBackedBytes>, schema: &Bound<'_, PyAny>) -> PyResult<PyRows> {
    let data = Field::new_struct("data", arrow::schema(schema)?.fields().clone(), true);
    let columns = Schema::new(vec![data, Field::new("_corrupt", DataType::Utf8, true)]);
    let plan = Plan::new(&columns, None).map_err(|error| to_py_err(py, &error))?;
    let row = |text: &PyBackedBytes| {
        let value = |field: &&str| if *field == "data" { Value::BulkString(text.to_vec()) } else { Value::Nil };
        Row { id: Vec::new(), state: "", values: plan.fields().iter().map(value).collect() }
    };
    let rows = texts.iter().map(row).collect();
    Ok(PyRows::new(Arc::new(plan), Rows { rows, removed: 0 }))
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
