//! The events of a worker.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::super::record::PyJobRecord;
use super::{CoreWorker, SIGNAL_CHECK};
use crate::worker::listeners::Details;
use crate::worker::listeners::Event;

/// Kind, job, text, numbers, stack traces, what the handler's side passed on as `details`, class of an error that the core made.
type WorkerEvent =
    (&'static str, Option<PyJobRecord>, String, (i64, i64), Option<Vec<u8>>, Option<Py<PyAny>>, Option<&'static str>);

#[pymethods]
impl CoreWorker {
    fn next_event(&self, py: Python<'_>, wait_ms: u64) -> PyResult<Option<WorkerEvent>> {
        let shared = self.shared()?;
        let deadline = Instant::now() + Duration::from_millis(wait_ms);
        loop {
            if let Some(event) = shared.next_event(Duration::ZERO) {
                return Ok(Some(describe(event)));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if let Some(event) = py.detach(|| shared.next_event(left.min(SIGNAL_CHECK))) {
                return Ok(Some(describe(event)));
            }
            py.check_signals()?;
        }
    }
}

fn describe(event: Event) -> WorkerEvent {
    let outcome = |kind, job, text, numbers, stack, details: Details| {
        let left = details.handler_value.and_then(|left| left.downcast::<Py<PyAny>>().ok()).map(|left| *left);
        (kind, Some(PyJobRecord::held(job)), text, numbers, stack, left, details.error_class)
    };
    let (kind, text) = match event {
        Event::Completed { job, value, finished_on, details } => {
            let value = String::from_utf8(value).unwrap_or_default();
            return outcome("completed", job, value, (finished_on, 0), None, details);
        }
        Event::Failed { job, reason, stacktrace, finished_on, details } => {
            return outcome("failed", job, reason, (finished_on, 0), Some(stacktrace), details);
        }
        Event::Retried { job, reason, stacktrace, delay, next_run_at, details } => {
            return outcome("retried", job, reason, (delay, next_run_at), Some(stacktrace), details);
        }
        Event::Refused { job } => return outcome("refused", job, String::new(), (0, 0), None, Details::default()),
        Event::RouteUnmatched { route, waiting, age } => {
            return ("route_unmatched", None, route, (waiting, age), None, None, None);
        }
        Event::Warning { text } => ("warning", text),
        Event::Rights { missing } => ("rights", missing),
        Event::Notice { text } => ("notice", text),
        Event::Stalled { id, queue } => ("stalled", format!("{queue}:{id}")),
        Event::SchedulerRepaired { id } => ("scheduler_repaired", id),
        Event::Drained => ("drained", String::new()),
        Event::Error { text } => ("error", text),
        Event::Cancelled { id, token } => ("cancelled", format!("{token} {id}")),
        Event::LockLost { id, token } => ("lock_lost", format!("{token} {id}")),
        Event::Ready => ("ready", String::new()),
        Event::Reconnecting { text } => ("reconnecting", text),
        Event::Connected => ("connected", String::new()),
        Event::Evicts { policy } => ("evicts", policy),
        Event::ChecksSkipped { percent } => ("checks_skipped", percent.to_string()),
        Event::Closed => ("closed", String::new()),
        Event::Dropped { count } => ("dropped", count.to_string()),
    };
    (kind, None, text, (0, 0), None, None, None)
}
