//! What a history is written from: the events of many queues.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use pyo3::IntoPyObjectExt;

use super::endpoint::{endpoint, keys};
use super::errors::{inherited, to_py_err};
use super::output::{Found, Output};
use super::pending::Pending;
use super::runtime::{Core, OwnedByProcess};
use bullrush::recorder::{Batch, Followed, Kind, Reader, Seen};

#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreRecorder {
    reader: OwnedByProcess<Arc<Reader>>,
    url: String,
    prefix: String,
}

#[pymethods]
impl CoreRecorder {
    #[new]
    #[pyo3(signature = (url, prefix, *, client_name, events_per_second))]
    fn new(url: String, prefix: String, client_name: String, events_per_second: u32) -> Self {
        let reader = OwnedByProcess::new(Arc::new(Reader::new(client_name, events_per_second)));
        Self { reader, url, prefix }
    }

    fn follow(&self, py: Python<'_>, queues: Vec<(String, Option<String>)>) -> PyResult<()> {
        let followed = queues.into_iter().map(|(name, after)| {
            let keys = keys(py, &self.prefix, &name)?;
            Ok(Followed { endpoint: endpoint(py, &self.url, &keys)?, keys, after })
        });
        let followed = followed.collect::<PyResult<_>>()?;
        let _runtime = Core::current().enter();
        self.reader.get().ok_or_else(inherited)?.follow(followed);
        Ok(())
    }

    fn next(&self, timeout_ms: u64) -> PyResult<Pending> {
        let reader = self.reader.get().ok_or_else(inherited)?.clone();
        Ok(Pending::start(async move { Ok(Output::of(Read(reader.next(Duration::from_millis(timeout_ms)).await))) }))
    }

    fn close(&self) {
        if let Some(reader) = self.reader.get() {
            reader.close();
        }
    }
}

impl Drop for CoreRecorder {
    fn drop(&mut self) {
        self.close();
    }
}

/// What was read of one queue.
#[pyclass(frozen, get_all, name = "SeenEvents", module = "bullrush._core")]
pub struct PySeenEvents {
    queue: String,
    position: String,
    /// Each is a tuple; made once, however often Python looks at it.
    events: Py<PyList>,
    minutes: Vec<(i64, Vec<u64>)>,
    gap: Option<(i64, i64)>,
    since: Option<i64>,
    share: u32,
    error: Option<Py<PyAny>>,
}

impl PySeenEvents {
    fn of(py: Python<'_>, seen: &Seen, kinds: &[Bound<'_, PyString>]) -> PyResult<Self> {
        let events = seen.events.iter().map(|event| (&kinds[event.kind as usize], &event.job, event.at, &event.text));
        Ok(Self {
            queue: seen.queue.clone(),
            position: seen.position.clone(),
            events: PyList::new(py, events.collect::<Vec<_>>())?.unbind(),
            minutes: seen.minutes.iter().map(|(minute, counts)| (*minute, counts.to_vec())).collect(),
            gap: seen.gap,
            since: seen.since,
            share: seen.share,
            error: seen.error.as_ref().map(|error| to_py_err(py, error).into_value(py).into_any()),
        })
    }
}

/// The kinds of events by their places in the counts of a minute.
pub fn kinds() -> [&'static str; Kind::ALL.len()] {
    Kind::ALL.map(Kind::name)
}

struct Read(Option<Batch>);

impl Found for Read {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Some(batch) = &self.0 else { return py.None().into_bound_py_any(py) };
        let kinds = kinds().map(|kind| PyString::intern(py, kind));
        let seen = batch.seen.iter().map(|seen| PySeenEvents::of(py, seen, &kinds));
        (seen.collect::<PyResult<Vec<_>>>()?, batch.until).into_bound_py_any(py)
    }
}
