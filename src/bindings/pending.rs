//! One operation on the native thread, awaited by a thread or by an event loop.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use tokio::sync::watch;

use super::completions::{Completions, Ready};
use super::errors::to_py_err;
use super::output::Output;
use super::runtime::{Core, OwnedByProcess};
use bullrush::error::Result;
use bullrush::mutex::{Condvar, Mutex};

/// How often a waiting thread looks for signals.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);

enum Slot {
    Running(Waiters),
    Done(Arc<Result<Output>>),
}

/// The loops and threads to wake when the operation is done.
#[derive(Default)]
struct Waiters {
    loops: Vec<(Arc<Ready>, u64)>,
    threads: usize,
}

struct Operation {
    slot: Mutex<Slot>,
    is_done: AtomicBool,
    done: Condvar,
    recall: Option<Recall>,
}

type PutBack = dyn Fn(&Result<Output>) + Send + Sync;

/// What to do with a result that nobody will take: the job or the events in it must not be lost.
struct Recall {
    /// Changed only while the slot is locked.
    given_up: watch::Sender<bool>,
    put_back: Box<PutBack>,
}

#[pyclass(frozen, generic, module = "bullrush._core")]
pub struct Pending(OwnedByProcess<Arc<Operation>>);

impl Pending {
    /// Start `future` on the native thread.
    pub fn start<F>(future: F) -> Self
    where
        F: Future<Output = Result<Output>> + Send + 'static,
    {
        let (pending, sender) = Self::open();
        Core::current().spawn(async move { sender.send(future.await) });
        pending
    }

    /// As [`Pending::start`], for an operation whose result must not be lost. `begin` gets a flag that turns true when
    /// nobody waits any more; then `put_back` gets the result.
    pub fn start_recallable<F>(
        begin: impl FnOnce(watch::Receiver<bool>) -> F,
        put_back: impl Fn(&Result<Output>) + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Output>> + Send + 'static,
    {
        let (given_up, waiting) = watch::channel(false);
        let operation = Arc::new(Operation::new(Some(Recall { given_up, put_back: Box::new(put_back) })));
        let (running, future) = (operation.clone(), begin(waiting));
        Core::current().spawn(async move { running.finish(future.await) });
        Self(OwnedByProcess::new(operation))
    }

    /// An operation that is done when the sender is used.
    pub fn open() -> (Self, ResultSender) {
        let operation = Arc::new(Operation::new(None));
        (Self(OwnedByProcess::new(operation.clone())), ResultSender(operation))
    }

    fn operation(&self) -> PyResult<&Arc<Operation>> {
        self.0.get().ok_or_else(|| {
            PyRuntimeError::new_err("this operation was started before the fork and belongs to the parent process")
        })
    }
}

/// Sends the result of an operation.
pub struct ResultSender(Arc<Operation>);

impl ResultSender {
    pub fn send(self, result: Result<Output>) {
        self.0.finish(result);
    }
}

impl Operation {
    fn new(recall: Option<Recall>) -> Self {
        let slot = Mutex::new(Slot::Running(Waiters::default()));
        Self { slot, is_done: AtomicBool::new(false), done: Condvar::new(), recall }
    }

    fn finish(&self, result: Result<Output>) {
        let mut slot = self.slot.lock();
        if let Some(recall) = self.recall.as_ref().filter(|recall| *recall.given_up.borrow()) {
            (recall.put_back)(&result);
        }
        let before = std::mem::replace(&mut *slot, Slot::Done(Arc::new(result)));
        drop(slot);
        self.is_done.store(true, Ordering::Release);
        let Slot::Running(Waiters { loops, threads }) = before else { return };
        if threads > 0 {
            self.done.notify_all();
        }
        for (ready, token) in loops {
            ready.push(token);
        }
    }

    fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Nobody will take the result.
    fn abandon(&self) {
        let Some(recall) = &self.recall else { return };
        let slot = self.slot.lock();
        let was_given_up = recall.given_up.send_replace(true);
        if let (Slot::Done(result), false) = (&*slot, was_given_up) {
            (recall.put_back)(result);
        }
    }

    /// Wait up to `limit`; true when done.
    fn wait(&self, limit: Duration) -> bool {
        let (began, spin_wait) = (Instant::now(), &Core::current().spin_wait);
        spin_wait.spin(began, || self.is_done());
        let done = self.sleep(limit);
        spin_wait.end(began);
        done
    }

    fn sleep(&self, limit: Duration) -> bool {
        let mut slot = self.slot.lock();
        if let Slot::Running(waiting) = &mut *slot {
            waiting.threads += 1;
            (slot, _) = self.done.wait(slot, limit);
        }
        match &mut *slot {
            Slot::Running(waiting) => {
                waiting.threads -= 1;
                false
            }
            Slot::Done(_) => true,
        }
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
                py.check_signals().inspect_err(|_| operation.abandon())?;
            }
        }
        self.result(py)
    }

    fn done(&self) -> PyResult<bool> {
        Ok(self.operation()?.is_done())
    }

    fn abandon(&self) -> PyResult<()> {
        self.operation()?.abandon();
        Ok(())
    }

    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // Cloned, so that the lock is free: building Python objects may run other Python code, which may use this slot.
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
            Slot::Running(waiting) => waiting.loops.push((completions.0.clone(), token)),
            Slot::Done(_) => completions.0.push(token),
        }
        Ok(())
    }
}
