//! Results of operations as Python objects.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use pyo3::IntoPyObjectExt;
use redis::Value;

use super::record::PyJobRecord;
use super::rows::PyRows;
use bullrush::events::{Entry, JobEnd};
use bullrush::protocol::JobRecord;
use bullrush::worker::held::HeldJob;
use bullrush::worker::manual::FailedAttempt;

/// The result of an operation.
pub enum Output {
    Nothing,
    Flag(bool),
    Number(i64),
    Text(String),
    Texts(Vec<String>),
    Numbers(Vec<i64>),
    Pairs(Vec<(String, String)>),
    Job(Option<Arc<JobRecord>>),
    Jobs(Vec<Option<Arc<JobRecord>>>),
    /// The next job of `ManualWork`.
    Held(Option<Arc<HeldJob>>),
    Failed(FailedAttempt),
    /// Ids in order, and the positions that existed already.
    AddedJobs(Vec<String>, Vec<usize>),
    Logs(Vec<String>, i64),
    /// Entries of the event stream; `None` once the feed has ended.
    Entries(Option<Arc<Vec<Entry>>>),
    JobEnd(Option<JobEnd>),
    /// Replies of plain commands.
    Values(Vec<Value>),
    /// Jobs that were read for a table; `None` at the end.
    Rows(Option<PyRows>),
    /// What a read found.
    Found(Box<dyn Found>),
}

/// A value that becomes a Python object when somebody takes it, perhaps more than once.
pub trait Found: Send + Sync {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl<T> Found for T
where
    T: Clone + Send + Sync + for<'py> IntoPyObject<'py>,
{
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.clone().into_bound_py_any(py)
    }
}

impl Output {
    pub fn of(found: impl Found + 'static) -> Self {
        Self::Found(Box::new(found))
    }

    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Nothing => Ok(py.None().into_bound(py)),
            Self::Flag(flag) => flag.into_bound_py_any(py),
            Self::Number(number) => number.into_bound_py_any(py),
            Self::Text(text) => text.into_bound_py_any(py),
            Self::Texts(texts) => texts.into_bound_py_any(py),
            Self::Numbers(numbers) => numbers.into_bound_py_any(py),
            Self::Pairs(pairs) => {
                let dict = PyDict::new(py);
                for (key, value) in pairs {
                    dict.set_item(key, value)?;
                }
                Ok(dict.into_any())
            }
            Self::Job(job) => job_object(py, job.as_ref()),
            Self::Jobs(jobs) => {
                let list = PyList::empty(py);
                for job in jobs {
                    list.append(job_object(py, job.as_ref())?)?;
                }
                Ok(list.into_any())
            }
            Self::Held(job) => held_object(py, job.as_ref()),
            Self::Failed(FailedAttempt { retry, reason, stacktrace, next }) => {
                let retry = retry.map(|retry| (retry.delay, retry.at));
                (retry, reason, stacktrace, held_object(py, next.as_ref())?).into_bound_py_any(py)
            }
            Self::AddedJobs(ids, duplicates) => (ids, duplicates).into_bound_py_any(py),
            Self::Logs(rows, count) => {
                let logs = PyTuple::new(py, [rows.into_bound_py_any(py)?, count.into_bound_py_any(py)?])?;
                Ok(logs.into_any())
            }
            Self::Entries(None) => Ok(py.None().into_bound(py)),
            Self::Entries(Some(entries)) => {
                let list = PyList::empty(py);
                for Entry { id, fields } in entries.iter() {
                    let dict = PyDict::new(py);
                    for (name, value) in fields {
                        dict.set_item(name, value)?;
                    }
                    list.append((id, dict))?;
                }
                Ok(list.into_any())
            }
            Self::JobEnd(end) => end.clone().into_bound_py_any(py),
            Self::Values(values) => list(py, values),
            Self::Rows(rows) => rows.clone().into_bound_py_any(py),
            Self::Found(found) => found.to_python(py),
        }
    }
}

fn job_object<'py>(py: Python<'py>, job: Option<&Arc<JobRecord>>) -> PyResult<Bound<'py, PyAny>> {
    match job {
        Some(record) => PyJobRecord::stored(record.clone()).into_bound_py_any(py),
        None => Ok(py.None().into_bound(py)),
    }
}

fn held_object<'py>(py: Python<'py>, job: Option<&Arc<HeldJob>>) -> PyResult<Bound<'py, PyAny>> {
    match job {
        Some(job) => PyJobRecord::held(job.clone()).into_bound_py_any(py),
        None => Ok(py.None().into_bound(py)),
    }
}

/// A reply as Redis sent it: int, bytes, list or None. A map is a flat list, as in RESP2.
fn value_object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Int(number) => number.into_bound_py_any(py),
        Value::BulkString(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        Value::SimpleString(text) => Ok(PyBytes::new(py, text.as_bytes()).into_any()),
        Value::Okay => Ok(PyBytes::new(py, b"OK").into_any()),
        Value::Double(number) => Ok(PyBytes::new(py, number.to_string().as_bytes()).into_any()),
        Value::Array(items) | Value::Set(items) => list(py, items),
        Value::Map(pairs) => {
            let flat = PyList::empty(py);
            for (key, value) in pairs {
                flat.append(value_object(py, key)?)?;
                flat.append(value_object(py, value)?)?;
            }
            Ok(flat.into_any())
        }
        _ => Ok(py.None().into_bound(py)),
    }
}

fn list<'py>(py: Python<'py>, items: &[Value]) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for item in items {
        list.append(value_object(py, item)?)?;
    }
    Ok(list.into_any())
}
