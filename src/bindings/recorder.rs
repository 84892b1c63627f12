//! What a history is written from: the events of many queues.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::IntoPyObjectExt;
use tokio::sync::watch;

use super::endpoint::{endpoint, keys};
use super::errors::{inherited, to_py_err};
use super::output::{Found, Output};
use super::pending::Pending;
use super::runtime::OwnedByProcess;
use bullrush::recorder::{Batch, Event, Followed, Kind, Reader, Seen};

#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreRecorder {
    reader: OwnedByProcess<Arc<Reader>>,
    closed: watch::Sender<bool>,
    url: String,
    prefix: String,
}

#[pymethods]
impl CoreRecorder {
    #[new]
    #[pyo3(signature = (url, prefix, *, client_name, events_per_second))]
    fn new(url: String, prefix: String, client_name: String, events_per_second: u32) -> Self {
        let reader = OwnedByProcess::new(Arc::new(Reader::new(client_name, events_per_second)));
        Self { reader, closed: watch::Sender::new(false), url, prefix }
    }

    fn follow(&self, py: Python<'_>, queues: Vec<(String, Option<String>)>) -> PyResult<()> {
        let followed = queues.into_iter().map(|(name, after)| {
            let keys = keys(py, &self.prefix, &name)?;
            Ok(Followed { endpoint: endpoint(py, &self.url, &keys)?, keys, after })
        });
        self.reader.get().ok_or_else(inherited)?.follow(followed.collect::<PyResult<_>>()?);
        Ok(())
    }

    fn next(&self, timeout_ms: u64) -> PyResult<Pending> {
        let reader = self.reader.get().ok_or_else(inherited)?.clone();
        let mut closed = self.closed.subscribe();
        Ok(Pending::start(async move {
            tokio::select! {
                _ = closed.wait_for(|closed| *closed) => Ok(Output::of(Read(Batch::default()))),
                read = reader.next(Duration::from_millis(timeout_ms)) => Ok(Output::of(Read(read))),
            }
        }))
    }

    fn close(&self) {
        self.closed.send_replace(true);
    }
}

/// What was read of one queue.
#[pyclass(frozen, get_all, name = "SeenEvents", module = "bullrush._core")]
pub struct PySeenEvents {
    queue: String,
    position: String,
    events: Vec<(&'static str, String, i64, Option<String>)>,
    minutes: Vec<(i64, Vec<u64>)>,
    gap: Option<(i64, i64)>,
    since: Option<i64>,
    share: u32,
    error: Option<Py<PyAny>>,
}

impl PySeenEvents {
    fn of(py: Python<'_>, seen: &Seen) -> Self {
        let event = |event: &Event| (event.kind.name(), event.job.clone(), event.at, event.text.clone());
        Self {
            queue: seen.queue.clone(),
            position: seen.position.clone(),
            events: seen.events.iter().map(event).collect(),
            minutes: seen.minutes.iter().map(|(minute, counts)| (*minute, counts.to_vec())).collect(),
            gap: seen.gap,
            since: seen.since,
            share: seen.share,
            error: seen.error.as_ref().map(|error| to_py_err(py, error).into_value(py).into_any()),
        }
    }
}

/// The kinds of events by their places in the counts of a minute.
pub fn kinds() -> [&'static str; Kind::ALL.len()] {
    Kind::ALL.map(Kind::name)
}

struct Read(Batch);

impl Found for Read {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let seen: Vec<PySeenEvents> = self.0.seen.iter().map(|seen| PySeenEvents::of(py, seen)).collect();
        (seen, self.0.until).into_bound_py_any(py)
    }
}
