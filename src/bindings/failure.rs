//! Why an attempt failed, as Python describes its exception.

use pyo3::prelude::*;

use bullrush::worker::outcome::Failure;

/// `bullrush.job.failure.Failure`.
#[derive(FromPyObject)]
pub struct PyFailure {
    reason: String,
    stack: String,
    retry: bool,
    delay: Option<i64>,
}

impl From<PyFailure> for Failure {
    fn from(PyFailure { reason, stack, retry, delay }: PyFailure) -> Self {
        Failure { reason, stack, retry, delay }
    }
}
