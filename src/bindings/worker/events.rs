//! The events of a worker.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::super::record::PyJobRecord;
use super::{CoreWorker, SIGNAL_CHECK};
use bullrush::worker::held::HeldJob;
use bullrush::worker::listeners::{Details, Event};

/// One event: its kind, and what it is about. What an event does not have is empty.
#[pyclass(frozen, get_all, name = "WorkerEvent", module = "bullrush._core")]
#[derive(Default)]
pub struct PyWorkerEvent {
    kind: &'static str,
    /// The job, with the events about the end of a job.
    record: Option<Py<PyJobRecord>>,
    /// What the handler's side passed on with the outcome of the job.
    details: Option<Py<PyAny>>,
    /// The class of an error that the core made.
    error_class: Option<&'static str>,
    /// The id of a job or of a scheduler.
    id: String,
    /// The lock token of the job.
    token: String,
    queue: String,
    /// A result (JSON), a reason, or a text for the log.
    text: String,
    /// The code with which the server refuses; empty if it does not answer.
    code: String,
    /// Whether the run ends by it.
    ends: bool,
    stacktrace: Vec<u8>,
    finished_on: i64,
    delay: i64,
    next_run_at: i64,
    /// How many jobs, events or percent.
    count: i64,
    /// In ms.
    age: i64,
    rights: Vec<String>,
}

#[pymethods]
impl CoreWorker {
    fn next_event(&self, py: Python<'_>, wait_ms: u64) -> PyResult<Option<PyWorkerEvent>> {
        let shared = self.shared()?;
        let deadline = Instant::now() + Duration::from_millis(wait_ms);
        loop {
            if let Some(event) = shared.next_event(Duration::ZERO) {
                return describe(py, event).map(Some);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if let Some(event) = py.detach(|| shared.next_event(left.min(SIGNAL_CHECK))) {
                return describe(py, event).map(Some);
            }
            py.check_signals()?;
        }
    }
}

fn describe(py: Python<'_>, event: Event) -> PyResult<PyWorkerEvent> {
    let of = |kind| PyWorkerEvent { kind, ..PyWorkerEvent::default() };
    let said = |kind, text| PyWorkerEvent { text, ..of(kind) };
    let about = |kind, job: Arc<HeldJob>, details: Details| {
        let left = details.handler_value.and_then(|left| left.downcast::<Py<PyAny>>().ok());
        let record = Some(Py::new(py, PyJobRecord::held(job))?);
        PyResult::Ok(PyWorkerEvent {
            record,
            details: left.map(|left| *left),
            error_class: details.error_class,
            ..of(kind)
        })
    };
    Ok(match event {
        Event::Completed { job, value, finished_on, details } => {
            let text = String::from_utf8(value).unwrap_or_default();
            PyWorkerEvent { text, finished_on, ..about("completed", job, details)? }
        }
        Event::Failed { job, reason, stacktrace, finished_on, details } => {
            PyWorkerEvent { text: reason, stacktrace, finished_on, ..about("failed", job, details)? }
        }
        Event::Retried { job, reason, stacktrace, delay, next_run_at, details } => {
            PyWorkerEvent { text: reason, stacktrace, delay, next_run_at, ..about("retried", job, details)? }
        }
        Event::Refused { job } => about("refused", job, Details::default())?,
        Event::RouteUnmatched { route, waiting, age } => {
            PyWorkerEvent { queue: route, count: waiting, age, ..of("route_unmatched") }
        }
        Event::Warning { text } => said("warning", text),
        Event::Rights { missing } => PyWorkerEvent { rights: missing, ..of("rights") },
        Event::Notice { text } => said("notice", text),
        Event::Stalled { id, queue } => PyWorkerEvent { id, queue: queue.to_string(), ..of("stalled") },
        Event::SchedulerRepaired { id } => PyWorkerEvent { id, ..of("scheduler_repaired") },
        Event::Drained => of("drained"),
        Event::Error { text } => said("error", text),
        Event::Cancelled { id, token } => PyWorkerEvent { id, token: token.to_string(), ..of("cancelled") },
        Event::LockLost { id, token } => PyWorkerEvent { id, token: token.to_string(), ..of("lock_lost") },
        Event::Ready => of("ready"),
        Event::Reconnecting { text, ends } => PyWorkerEvent { code: code(&text), ends, ..said("reconnecting", text) },
        Event::Connected => of("connected"),
        Event::Evicts { policy } => said("evicts", policy),
        Event::ChecksSkipped { percent } => PyWorkerEvent { count: number(percent), ..of("checks_skipped") },
        Event::Closed => of("closed"),
        Event::Dropped { count } => PyWorkerEvent { count: number(count), ..of("dropped") },
    })
}

/// The code of a refusal, with which its text begins; empty for another text.
fn code(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let is_code = first.chars().any(char::is_uppercase) && !first.chars().any(char::is_lowercase);
    if is_code {
        first.to_owned()
    } else {
        String::new()
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
