//! Reads without a script. What each of them asks stands in `src/reads`, and how its result looks in Python in
//! `_core/queue.pyi`.

use std::future::Future;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::super::errors::to_py_err;
use super::super::output::{Found, Output};
use super::super::pending::Pending;
use super::CoreQueue;
use bullrush::clock::now_ms;
use bullrush::error::{Error, Result};
use bullrush::events::{ends, entries_between};
use bullrush::protocol::Keys;
use bullrush::queue::QueueHandle;
use bullrush::reads::children::Kind;
use bullrush::reads::due_work::DueWork;
use bullrush::reads::finished::Span;
use bullrush::reads::job_end::JobState;
use bullrush::reads::metrics::Metrics;
use bullrush::reads::overview::Overview;
use bullrush::reads::place::Place;
use bullrush::reads::workers::Purpose;
use bullrush::reads::{
    batches, children, counts, due_work, finished, hashes, job_end, job_fields, locks, metrics, overview, place,
    profiles, runs, schedulers, servers, workers,
};

impl CoreQueue {
    fn read<T, F, Fut>(&self, ask: F) -> Pending
    where
        F: FnOnce(Arc<QueueHandle>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
        T: Found + 'static,
    {
        self.start(|queue| async move { Ok(Output::of(ask(queue).await?)) })
    }

    /// As `read`; with `checked` false it does not matter whose keys these are, and whether the user may look at them.
    fn read_checked<T, F, Fut>(&self, checked: bool, ask: F) -> Pending
    where
        F: FnOnce(Arc<QueueHandle>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
        T: Found + 'static,
    {
        if checked {
            return self.read(ask);
        }
        self.start_unchecked(|queue| async move { Ok(Output::of(ask(queue).await?)) })
    }

    /// The keys of queues on the same server, with the same prefix.
    fn queues(&self, py: Python<'_>, names: &[String]) -> PyResult<Vec<Keys>> {
        let keys = |name: &String| Keys::new(self.keys.prefix(), name).map_err(|error| to_py_err(py, &error));
        names.iter().map(keys).collect()
    }

    /// The keys of another queue on the same server, with the same prefix, if one is named.
    fn other(&self, py: Python<'_>, name: Option<String>) -> PyResult<Option<Keys>> {
        let keys = name.map(|name| Keys::new(self.keys.prefix(), &name).map_err(|error| to_py_err(py, &error)));
        keys.transpose()
    }
}

fn kind(name: &str) -> PyResult<Kind> {
    Kind::named(name).ok_or_else(|| PyValueError::new_err(format!("there is no kind of children {name:?}")))
}

fn kinds(names: &[String]) -> PyResult<Vec<Kind>> {
    names.iter().map(|name| kind(name)).collect()
}

/// The children of jobs.
#[pymethods]
impl CoreQueue {
    fn children(&self, id: String, kinds_of: Vec<String>) -> PyResult<Pending> {
        let kinds = kinds(&kinds_of)?;
        Ok(self.read(|queue| async move { children::children(queue.link(), queue.keys(), &id, &kinds).await }))
    }

    fn pages_of_children(&self, id: String, pages: Vec<(String, u64, u64)>) -> PyResult<Pending> {
        let page = |(name, cursor, count): &(String, u64, u64)| Ok((kind(name)?, *cursor, *count));
        let pages = pages.iter().map(page).collect::<PyResult<Vec<_>>>()?;
        Ok(self.read(|queue| async move { children::pages_of_children(queue.link(), queue.keys(), &id, &pages).await }))
    }

    fn count_children(&self, id: String, kinds_of: Vec<String>) -> PyResult<Pending> {
        let kinds = kinds(&kinds_of)?;
        Ok(self.read(|queue| async move { children::count_children(queue.link(), queue.keys(), &id, &kinds).await }))
    }

    fn range_of_children(&self, id: String, of_kind: &str, start: i64, end: i64) -> PyResult<Pending> {
        let kind = kind(of_kind)?;
        Ok(self.read(move |queue| async move {
            let range = children::range_of_children(queue.link(), queue.keys(), &id, kind, start, end).await?;
            Ok((range.children, range.hashes, range.total))
        }))
    }

    fn keys_of_children(&self, jobs: Vec<String>, limit: u64) -> Pending {
        self.read(move |queue| async move { children::keys_of_children(queue.link(), &jobs, limit).await })
    }

    fn hashes(&self, keys: Vec<String>) -> Pending {
        self.read(|queue| async move { hashes(queue.link(), &keys).await })
    }
}

/// What waits, and how many jobs there are.
#[pymethods]
impl CoreQueue {
    #[pyo3(signature = (*, most=None, name=None, checked=true))]
    fn due_work(&self, py: Python<'_>, most: Option<i64>, name: Option<String>, checked: bool) -> PyResult<Pending> {
        let other = self.other(py, name)?;
        Ok(self.read_checked(checked, move |queue| async move {
            let keys = other.as_ref().unwrap_or(queue.keys());
            due_work::due_work(queue.link(), keys, now_ms(), most).await.map(PyDueWork::from)
        }))
    }

    /// Per queue what is found, or the code and the text of an error, or nothing on another server of a cluster.
    fn overviews(&self, py: Python<'_>, names: Vec<String>, lately: i64) -> PyResult<Pending> {
        let queues = self.queues(py, &names)?;
        Ok(self.read_checked(false, move |queue| async move {
            let found = overview::overviews(queue.link(), &queues, now_ms(), lately).await?;
            let line = |found: Result<Overview>| match found {
                Ok(found) => (Some(PyOverview::from(found)), None),
                Err(Error::Server { code, message }) => (None, Some((code, message))),
                Err(error) => (None, Some((String::new(), error.to_string()))),
            };
            Ok(found.into_iter().map(|found| found.map(line)).collect::<Vec<_>>())
        }))
    }

    #[pyo3(signature = (id, *, name=None))]
    fn place(&self, py: Python<'_>, id: String, name: Option<String>) -> PyResult<Pending> {
        let other = self.other(py, name)?;
        Ok(self.read(move |queue| async move {
            place::place(queue.link(), other.as_ref().unwrap_or(queue.keys()), &id).await.map(PyPlace::from)
        }))
    }

    fn count_states(&self, states: Vec<String>) -> Pending {
        self.read(|queue| async move {
            let states: Vec<&str> = states.iter().map(String::as_str).collect();
            counts::count_states(queue.link(), queue.keys(), &states).await
        })
    }

    fn count_per_priority(&self, priorities: Vec<i64>) -> Pending {
        self.read(|queue| async move { counts::count_per_priority(queue.link(), queue.keys(), &priorities).await })
    }

    fn count_due_before(&self, ms: i64) -> Pending {
        self.read(move |queue| async move { counts::count_due_before(queue.link(), queue.keys(), ms).await })
    }

    fn count_open(&self, py: Python<'_>, names: Vec<String>, horizon: i64) -> PyResult<Pending> {
        let queues = self.queues(py, &names)?;
        Ok(self.read(move |queue| async move {
            let until = servers::server_time(queue.link()).await?.saturating_add(horizon);
            counts::count_open(queue.link(), &queues, until).await
        }))
    }

    fn are_paused(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Pending> {
        let queues = self.queues(py, &names)?;
        Ok(self.read(|queue| async move { counts::are_paused(queue.link(), &queues).await }))
    }

    fn last_id(&self) -> Pending {
        self.read(|queue| async move { counts::last_id(queue.link(), queue.keys()).await })
    }

    #[pyo3(signature = (most=None))]
    fn rate_limit_ttl(&self, most: Option<i64>) -> Pending {
        self.read(move |queue| async move { counts::rate_limit_ttl(queue.link(), queue.keys(), most).await })
    }

    fn count_finished(&self, spans: Vec<Span>) -> Pending {
        self.read(|queue| async move { finished::count_finished(queue.link(), queue.keys(), &spans).await })
    }

    fn times_of_finished(&self, places: Vec<(String, i64)>) -> Pending {
        self.read(|queue| async move { finished::times_of_finished(queue.link(), queue.keys(), &places).await })
    }
}

/// How jobs end, and what is known of many of them.
#[pymethods]
impl CoreQueue {
    fn job_end(&self, id: String) -> Pending {
        self.read(|queue| async move {
            let text = |json: Vec<u8>| String::from_utf8_lossy(&json).into_owned();
            Ok(match job_end::job_end(queue.link(), queue.keys(), &id).await? {
                JobState::Gone => (false, None),
                JobState::Unfinished => (true, None),
                JobState::Completed(result) => (true, Some(("completed", text(result)))),
                JobState::Failed(reason) => (true, Some(("failed", text(reason)))),
            })
        })
    }

    fn job_fields(&self, ids: Vec<String>, fields: Vec<String>) -> Pending {
        self.read(|queue| async move { job_fields(queue.link(), queue.keys(), &ids, &fields).await })
    }

    fn locks(&self, ids: Vec<String>) -> Pending {
        self.read(|queue| async move { locks::locks(queue.link(), queue.keys(), &ids).await })
    }

    fn metrics(&self, kind: String, start: i64, end: i64) -> Pending {
        self.read(move |queue| async move {
            metrics::metrics(queue.link(), queue.keys(), &kind, start, end).await.map(PyMetrics::from)
        })
    }

    fn metric_totals(&self, py: Python<'_>, names: Vec<String>, kind: String) -> PyResult<Pending> {
        let queues = self.queues(py, &names)?;
        Ok(self.read(move |queue| async move { metrics::metric_totals(queue.link(), &queues, &kind).await }))
    }

    fn stream_entries(&self, after: String, until: String, count: u64) -> Pending {
        self.read(move |queue| async move {
            let entries = entries_between(queue.link(), queue.keys(), &after, &until, count).await?;
            Ok(entries.into_iter().map(|entry| (entry.id, entry.fields)).collect::<Vec<_>>())
        })
    }

    fn stream_ends(&self) -> Pending {
        self.read(|queue| async move {
            let ends = ends(queue.link(), queue.keys()).await?;
            Ok((ends.first, ends.last))
        })
    }
}

/// Workers, schedulers and runs.
#[pymethods]
impl CoreQueue {
    fn worker_connections(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Pending> {
        self.connections(py, names, Purpose::Worker)
    }

    fn event_connections(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Pending> {
        self.connections(py, names, Purpose::Events)
    }

    fn profiles(&self) -> Pending {
        self.read(|queue| async move { profiles::profiles(queue.link(), queue.keys()).await })
    }

    fn scheduler(&self, id: String) -> Pending {
        self.read(|queue| async move { schedulers::scheduler(queue.link(), queue.keys(), &id).await })
    }

    fn schedulers(&self, start: i64, end: i64, asc: bool) -> Pending {
        self.read(move |queue| async move { schedulers::schedulers(queue.link(), queue.keys(), start, end, asc).await })
    }

    fn count_schedulers(&self) -> Pending {
        self.read(|queue| async move { schedulers::count_schedulers(queue.link(), queue.keys()).await })
    }

    fn noted_crons(&self) -> Pending {
        self.read(|queue| async move { schedulers::noted_crons(queue.link(), queue.keys()).await })
    }

    fn run_lengths(&self, py: Python<'_>, names: Vec<String>, run: String) -> PyResult<Pending> {
        let queues = self.queues(py, &names)?;
        Ok(self.read(move |queue| async move { runs::run_lengths(queue.link(), &queues, &run).await }))
    }

    fn held_jobs(&self, run: String) -> Pending {
        self.read(|queue| async move { runs::held_jobs(queue.link(), queue.keys(), &run).await })
    }

    fn count_unfinished(&self, ids: Vec<String>) -> Pending {
        self.read(|queue| async move { runs::count_unfinished(queue.link(), queue.keys(), &ids).await })
    }

    fn batch_counts(&self, py: Python<'_>, names: Vec<String>, batch_id: String) -> PyResult<Pending> {
        let queues = self.queues(py, &names)?;
        Ok(self.read(move |queue| async move { batches::batch_counts(queue.link(), &queues, &batch_id).await }))
    }

    fn place_of_batch(&self, batch_id: String) -> Pending {
        self.read(|queue| async move { batches::place_of_batch(queue.link(), queue.keys(), &batch_id).await })
    }
}

impl CoreQueue {
    fn connections(&self, py: Python<'_>, names: Vec<String>, purpose: Purpose) -> PyResult<Pending> {
        let queues = self.queues(py, &names)?;
        Ok(self.read(move |queue| async move {
            let found = workers::connections(queue.link(), &queues, purpose).await?.into_iter();
            Ok(found.map(|one| (names[one.queue].clone(), one.fields)).collect::<Vec<_>>())
        }))
    }
}

/// The server.
#[pymethods]
impl CoreQueue {
    fn server_time(&self) -> Pending {
        self.read(|queue| async move { servers::server_time(queue.link()).await })
    }

    fn ping(&self) -> Pending {
        self.read(|queue| async move { servers::ping(queue.link()).await })
    }

    fn is_replica(&self) -> Pending {
        self.read(|queue| async move { servers::is_replica(queue.link()).await })
    }

    #[pyo3(signature = (*, checked=true))]
    fn masters(&self, checked: bool) -> Pending {
        self.read_checked(checked, |queue| async move { servers::masters(queue.link()).await })
    }

    #[pyo3(signature = (cursor, count, end, *, kind=None, checked=true))]
    fn scan_queues(&self, cursor: u64, count: u64, end: String, kind: Option<String>, checked: bool) -> Pending {
        let beginning = format!("{}:", self.keys.prefix());
        self.read_checked(checked, move |queue| async move {
            servers::scan(queue.link(), &beginning, &end, cursor, count, kind.as_deref()).await
        })
    }
}

/// A dict of Python with the fields of a struct of the core, under their names.
macro_rules! dict_of {
    ($core:ident as $py:ident { $($field:ident: $kind:ty),* $(,)? }) => {
        #[derive(Clone, IntoPyObject)]
        struct $py {
            $($field: $kind),*
        }

        impl From<$core> for $py {
            fn from(found: $core) -> Self {
                let $core { $($field),* } = found;
                Self { $($field: $field.into()),* }
            }
        }
    };
}

dict_of!(DueWork as PyDueWork {
    paused: bool,
    limited: bool,
    limited_by_workers: bool,
    slots: Option<i64>,
    rate: Option<(i64, i64)>,
    period_left: Option<i64>,
    rate_reached: bool,
    active: i64,
    abandoned: bool,
    waiting: i64,
    oldest_id: Option<String>,
    oldest_age: Option<i64>,
    last_start_age: Option<i64>,
});

dict_of!(Overview as PyOverview {
    active: i64,
    delayed: i64,
    waiting_children: i64,
    completed: i64,
    failed: i64,
    failed_lately: i64,
    work: PyDueWork,
});

dict_of!(Place as PyPlace {
    now: i64,
    state: Option<&'static str>,
    ahead: Option<i64>,
    due: Option<i64>,
    lock_ttl: Option<i64>,
    open_children: i64,
});

/// What `Queue.get_metrics` returns.
#[derive(Clone, IntoPyObject)]
struct PyMetrics {
    meta: PyMetricsMeta,
    data: Vec<i64>,
    count: i64,
}

#[derive(Clone, IntoPyObject)]
struct PyMetricsMeta {
    count: i64,
    prev_ts: i64,
    prev_count: i64,
}

impl From<Metrics> for PyMetrics {
    fn from(found: Metrics) -> Self {
        let Metrics { count, prev_ts, prev_count, data, length } = found;
        Self { meta: PyMetricsMeta { count, prev_ts, prev_count }, data, count: length }
    }
}
