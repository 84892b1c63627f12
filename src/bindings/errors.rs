//! The exceptions of `bullrush.errors` for the errors of the core.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

use bullrush::error::Error;

/// The exceptions are Python classes, so that they can be pickled and subclassed.
static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Build the Python exception of a core error.
pub fn to_py_err(py: Python<'_>, error: &Error) -> PyErr {
    match build(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

fn build<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let errors = ERRORS.get_or_try_init(py, || py.import("bullrush.errors").map(Bound::unbind))?.bind(py);
    let text = error.to_string();
    match error {
        Error::Code { code, .. } => errors.call_method1("from_code", (*code, text)),
        Error::Server { code, message } => errors.getattr("RedisServerError")?.call1((code, message)),
        Error::ConnectionLost(_) => errors.getattr("ConnectionLostError")?.call1((text,)),
        Error::OutcomeUnknown(_) | Error::WrongShape(_) => errors.getattr("OutcomeUnknownError")?.call1((text,)),
        Error::QueueName(_) => errors.getattr("QueueNameError")?.call1((text,)),
        Error::InvalidOption(_) => errors.getattr("InvalidOptionError")?.call1((text,)),
        Error::LegacyQueue(_) => errors.getattr("LegacyQueueError")?.call1((text,)),
        Error::RedisVersion(_) => errors.getattr("RedisVersionError")?.call1((text,)),
        Error::RouteLimit(_) => errors.getattr("RouteLimitError")?.call1((text,)),
        Error::RouteCollision(_) => errors.getattr("RouteCollisionError")?.call1((text,)),
        Error::NotDurable(_) => errors.getattr("NotDurableError")?.call1((text,)),
        Error::TooLarge(_) => errors.getattr("TooLargeError")?.call1((text,)),
        Error::Refused(_) => errors.getattr("BullrushError")?.call1((text,)),
        Error::Closed => errors.getattr("ClosedError")?.call1((text,)),
    }
}

/// The error for an event reader or a connection watch in a forked child, which has to make a new one.
pub fn inherited() -> PyErr {
    PyRuntimeError::new_err("this event reader belongs to the process that made it")
}

/// The error for a worker in a forked child.
pub fn forked() -> PyErr {
    PyRuntimeError::new_err("this worker belongs to the process that made it; make a new Worker after the fork")
}
