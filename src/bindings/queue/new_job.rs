//! One job to add, as Python passes it.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::protocol::NewJob;

/// One job of Python: name, data, opts, id, timestamp, delay, priority, lifo.
pub(super) type PyNewJob<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<Bound<'py, PyAny>>, i64, i64, i64, bool);

/// The relations of a job: the queue's prefix with the colon ("" = this queue), whether the client made its id, whether it waits for
/// children, the parent's key and JSON, the deduplication's id, ttl and flags.
pub(super) type PyLink = (String, bool, bool, Option<(String, String)>, Option<(String, i64, String)>);

/// A job without relations.
pub(super) static NO_LINK: PyLink = (String::new(), false, false, None, None);

/// Calls `take` with the job of the core.
pub(super) fn with_job<T>(job: &PyNewJob<'_>, take: impl FnOnce(NewJob<'_>) -> T) -> PyResult<T> {
    let (name, data, opts, id, timestamp, delay, priority, lifo) = job;
    let id = id.as_ref().map(|id| id.extract::<Cow<'_, str>>()).transpose()?;
    Ok(take(NewJob {
        name: &name.extract::<Cow<'_, str>>()?,
        data: data.as_bytes(),
        opts: opts.as_bytes(),
        id: id.as_deref().filter(|id| !id.is_empty()),
        timestamp: *timestamp,
        delay: *delay,
        priority: *priority,
        lifo: *lifo,
    }))
}
