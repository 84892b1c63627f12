//! The table of a queue's keys, for Python.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use bullrush::protocol::key_table::{End, Key, Owner, KEYS};

/// One row of the table.
#[pyclass(frozen, get_all, name = "QueueKey", module = "bullrush._core")]
pub struct PyQueueKey {
    name: &'static str,
    /// What comes before the part of its own, in a family.
    family: Option<&'static str>,
    kind: &'static str,
    owner: &'static str,
    end: &'static str,
    content: &'static str,
    writer: &'static str,
    life: &'static str,
}

impl From<&Key> for PyQueueKey {
    fn from(key: &Key) -> Self {
        PyQueueKey {
            name: key.name,
            family: key.family(),
            kind: key.kind,
            owner: match key.owner {
                Owner::BullMq => "bullmq",
                Owner::OldBullMq => "old bullmq",
                Owner::Bull => "bull",
                Owner::Bullrush => "bullrush",
            },
            end: match key.end {
                End::Emptied => "emptied",
                End::Deleted => "deleted",
                End::WithItsMember => "with its member",
                End::Expires => "expires",
                End::Cleanup => "cleanup",
                End::Forgotten => "forgotten",
                End::Stays => "stays",
                End::WithTheScript => "with the script",
            },
            content: key.content,
            writer: key.writer,
            life: key.life,
        }
    }
}

/// All rows, in the order of the table.
pub fn table(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let rows = KEYS.iter().map(|key| Py::new(py, PyQueueKey::from(key))).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, rows)
}
