//! Arrow data from and for any Python library, through the Arrow PyCapsule interface.

use std::ffi::CStr;
use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyTuple};

use super::errors::to_py_err;
use bullrush::error::Error;
use bullrush::mutex::Mutex;
use bullrush_arrow::{self, AutoIds, Batches, RowPlan, Rows};

/// The automatic ids of one partition, shared by all its batches.
#[pyclass(frozen, name = "AutoIds", module = "bullrush._core")]
pub struct PyAutoIds(Mutex<AutoIds>);

#[pymethods]
impl PyAutoIds {
    #[new]
    fn new(py: Python<'_>, scope: &str) -> PyResult<Self> {
        let ids = AutoIds::new(scope).map_err(|error| to_py_err(py, &error))?;
        Ok(Self(Mutex::new(ids)))
    }
}

/// Encode all rows of `source`.
///
/// Batches are read and dropped while attached to the interpreter, because the producer may be Python code and its
/// buffers may be Python objects; they are encoded while detached. The rows own their bytes and may move to any thread.
///
/// # Errors
/// `TypeError` when `source` is not Arrow data, `InvalidOptionError` when its rows cannot be jobs.
pub fn rows(source: &Bound<'_, PyAny>, plan: &RowPlan, auto: Option<&PyAutoIds>) -> PyResult<Vec<Rows>> {
    let py = source.py();
    let raise = |error: Error| to_py_err(py, &error);
    let mut encoded = Vec::new();
    for batch in Source::import(source)? {
        let batch = batch.map_err(raise)?;
        let rows = py.detach(|| {
            // Locked only while detached: a thread that waits for this lock never blocks the interpreter.
            let mut auto = auto.map(|ids| ids.0.lock());
            bullrush_arrow::encode(&batch, plan, auto.as_deref_mut())
        });
        encoded.push(rows.map_err(raise)?);
    }
    Ok(encoded)
}

/// The data that `CoreQueue.add_arrow` stores for each row.
#[pyfunction]
#[pyo3(signature = (source, columns))]
pub fn rows_as_json<'py>(source: &Bound<'py, PyAny>, columns: Option<Vec<String>>) -> PyResult<Bound<'py, PyList>> {
    let plan = RowPlan { data: columns, ..RowPlan::default() };
    let encoded = rows(source, &plan, None)?;
    let texts = encoded.iter().flat_map(|rows| (0..rows.len()).map(|row| PyBytes::new(source.py(), rows.data(row))));
    PyList::new(source.py(), texts.collect::<Vec<_>>())
}

enum Source {
    Batch(Option<RecordBatch>),
    Stream(Batches),
}

impl Source {
    fn import(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = source.py();
        if source.hasattr("__arrow_c_stream__")? {
            let capsule = source.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
            let pointer = content(&capsule, c"arrow_array_stream")?;
            // SAFETY: the name promises the type; the move leaves a released struct, so the capsule frees nothing.
            let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
            return Ok(Self::Stream(bullrush_arrow::stream(stream).map_err(|error| to_py_err(py, &error))?));
        }
        if source.hasattr("__arrow_c_array__")? {
            let pair = source.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
            let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
            let (schema, array) = (content(&schema, c"arrow_schema")?, content(&array, c"arrow_array")?);
            // SAFETY: as above, for both structs.
            let batch = unsafe {
                let schema = FFI_ArrowSchema::from_raw(schema.as_ptr());
                bullrush_arrow::batch(FFI_ArrowArray::from_raw(array.as_ptr()), &schema)
            };
            return Ok(Self::Batch(Some(batch.map_err(|error| to_py_err(py, &error))?)));
        }
        let kind = source.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "needs an Arrow table, batch or stream (__arrow_c_stream__ or __arrow_c_array__), not {kind}"
        )))
    }
}

/// Read the schema of anything that has `__arrow_c_schema__`.
///
/// # Errors
/// `TypeError` when it has none, `InvalidOptionError` when it is not a schema of tables.
pub fn schema(source: &Bound<'_, PyAny>) -> PyResult<Schema> {
    if !source.hasattr("__arrow_c_schema__")? {
        let kind = source.get_type().name()?;
        return Err(PyTypeError::new_err(format!("needs an Arrow schema (__arrow_c_schema__), not {kind}")));
    }
    let capsule = source.call_method0("__arrow_c_schema__")?.cast_into::<PyCapsule>()?;
    let pointer = content::<FFI_ArrowSchema>(&capsule, c"arrow_schema")?;
    // SAFETY: the name promises the type; it is only read, and the capsule lives until the end of this function.
    let schema = bullrush_arrow::schema(unsafe { pointer.as_ref() });
    schema.map_err(|error| to_py_err(source.py(), &error))
}

/// Return a batch as the two capsules of `__arrow_c_array__`: its schema and its data.
///
/// # Errors
/// `InvalidOptionError` when the batch cannot be exported; not expected.
pub fn capsules(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyTuple>> {
    let (array, schema) = bullrush_arrow::export(batch).map_err(|error| to_py_err(py, &error))?;
    // Each struct releases its memory when it is dropped, unless the reader has moved it out of the capsule.
    let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
    let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
    PyTuple::new(py, [schema, array])
}

/// Return the pointer of a capsule that has the expected name.
fn content<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

impl Iterator for Source {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Batch(batch) => batch.take().map(Ok),
            Self::Stream(stream) => stream.next(),
        }
    }
}
