//! Pausing, limiting, cancelling and closing a worker.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::super::output::Output;
use super::super::pending::Pending;
use super::CoreWorker;
use bullrush::worker::state::Closing;

#[pymethods]
impl CoreWorker {
    #[pyo3(signature = (id, reason))]
    fn cancel(&self, id: &str, reason: &str) -> PyResult<bool> {
        Ok(self.shared()?.cancel(id, None, reason))
    }

    fn set_concurrency(&self, concurrency: usize) -> PyResult<()> {
        let shared = self.shared()?;
        shared.concurrency.store(concurrency, Ordering::Relaxed);
        shared.wake.notify_one();
        Ok(())
    }

    fn report_outcomes(&self, wanted: bool) -> PyResult<()> {
        self.shared()?.report_outcomes.store(wanted, Ordering::Relaxed);
        Ok(())
    }

    fn report_failures(&self, wanted: bool) -> PyResult<()> {
        self.shared()?.report_failures.store(wanted, Ordering::Relaxed);
        Ok(())
    }

    fn pause(&self) -> PyResult<()> {
        let shared = self.shared()?;
        shared.paused.store(true, Ordering::Relaxed);
        shared.give_back_unstarted();
        Ok(())
    }

    fn limit(&self, ms: i64, queue: &str) -> PyResult<()> {
        self.shared()?.limit(ms, queue);
        Ok(())
    }

    fn resume(&self) -> PyResult<()> {
        let shared = self.shared()?;
        shared.paused.store(false, Ordering::Relaxed);
        shared.wake.notify_one();
        Ok(())
    }

    #[pyo3(signature = (timeout_ms, force))]
    fn close(&self, timeout_ms: Option<u64>, force: bool) -> PyResult<Pending> {
        let shared = self.shared()?.clone();
        let deadline = timeout_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        let closing = if force { Closing::Now } else { Closing::Gracefully { deadline } };
        shared.close(closing);
        let started = self.started.load(Ordering::Acquire);
        if !started {
            shared.ready_queue.close();
        }
        Ok(Pending::start(async move {
            if started {
                shared.lifecycle.ended().await?;
            }
            Ok(Output::Nothing)
        }))
    }
}
