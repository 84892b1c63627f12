//! One operation in flight, awaited by a thread or by an event loop.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;

use super::completions::{Completions, Ready};
use super::convert::Reply;
use super::errors::to_py_err;
use super::runtime::{Core, OwnedByProcess};
use crate::error::Result;
use crate::lock::{Condvar, Mutex};

/// How often a waiting thread looks for signals.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);

enum Slot {
    Running(Vec<(Arc<Ready>, u64)>),
    Done(Arc<Result<Reply>>),
}

struct Operation {
    slot: Mutex<Slot>,
    done: Condvar,
}

#[pyclass(frozen, generic, module = "bullrush._core")]
pub struct Pending(OwnedByProcess<Arc<Operation>>);

impl Pending {
    /// Start `future` on the native thread.
    pub fn start<F>(future: F) -> Self
    where
        F: Future<Output = Result<Reply>> + Send + 'static,
    {
        let operation = Arc::new(Operation { slot: Mutex::new(Slot::Running(Vec::new())), done: Condvar::new() });
        let finished = operation.clone();
        Core::current().spawn(async move {
            let result = future.await;
            let listeners = std::mem::replace(&mut *finished.slot.lock(), Slot::Done(Arc::new(result)));
            finished.done.notify_all();
            if let Slot::Running(listeners) = listeners {
                for (ready, token) in listeners {
                    ready.push(token);
                }
            }
        });
        Self(OwnedByProcess::new(operation))
    }

    fn operation(&self) -> PyResult<&Arc<Operation>> {
        self.0.get().ok_or_else(|| {
            PyRuntimeError::new_err("this operation was started before the fork and belongs to the parent process")
        })
    }
}

impl Operation {
    fn is_done(&self) -> bool {
        matches!(*self.slot.lock(), Slot::Done(_))
    }

    /// Wait up to `limit`; true when done.
    fn wait(&self, limit: Duration) -> bool {
        let mut slot = self.slot.lock();
        if matches!(*slot, Slot::Running(_)) {
            (slot, _) = self.done.wait(slot, limit);
        }
        matches!(*slot, Slot::Done(_))
    }
}

#[pymethods]
impl Pending {
    #[pyo3(signature = (timeout_ms=None))]
    fn wait<'py>(&self, py: Python<'py>, timeout_ms: Option<u64>) -> PyResult<Bound<'py, PyAny>> {
        let operation = self.operation()?;
        let deadline = timeout_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        while !operation.is_done() {
            let left = deadline.map_or(SIGNAL_CHECK, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(PyTimeoutError::new_err("not done in time; the operation goes on"));
            }
            if !py.detach(|| operation.wait(left.min(SIGNAL_CHECK))) {
                py.check_signals()?;
            }
        }
        self.result(py)
    }

    fn done(&self) -> PyResult<bool> {
        Ok(self.operation()?.is_done())
    }

    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // Cloned out of the lock: building Python objects may run other Python code, which may ask for this slot.
        let result = match &*self.operation()?.slot.lock() {
            Slot::Running(_) => return Err(PyRuntimeError::new_err("the operation is still running")),
            Slot::Done(result) => result.clone(),
        };
        match &*result {
            Ok(reply) => reply.to_python(py),
            Err(error) => Err(to_py_err(py, error)),
        }
    }

    fn notify(&self, completions: &Completions, token: u64) -> PyResult<()> {
        let mut slot = self.operation()?.slot.lock();
        match &mut *slot {
            Slot::Running(listeners) => listeners.push((completions.0.clone(), token)),
            Slot::Done(_) => completions.0.push(token),
        }
        Ok(())
    }
}
