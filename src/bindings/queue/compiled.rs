//! The options of jobs as Python compiled them.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::new_job::PyLink;

/// The options of one or more jobs, as they are sent.
pub struct Compiled {
    pub stored: Vec<u8>,
    pub timestamp: i64,
    pub delay: i64,
    pub priority: i64,
    pub lifo: bool,
    pub size_limit: Option<u64>,
    pub link: Option<Arc<PyLink>>,
    pub job_id: Option<String>,
}

impl Compiled {
    /// Reads `(CompiledOptions, id)`.
    pub fn of(compiled: &Bound<'_, PyAny>) -> PyResult<Self> {
        type Options<'py> = (Bound<'py, PyBytes>, i64, i64, i64, bool, Option<u64>, Option<PyLink>);
        let (options, job_id): (Options<'_>, _) = compiled.extract()?;
        let (stored, timestamp, delay, priority, lifo, size_limit, link) = options;
        let stored = stored.as_bytes().to_vec();
        Ok(Self { stored, timestamp, delay, priority, lifo, size_limit, link: link.map(Arc::new), job_id })
    }

    /// The time of the add: its own, or `now`.
    pub fn timestamp(&self, now: i64) -> i64 {
        if self.timestamp == 0 {
            now
        } else {
            self.timestamp
        }
    }
}
