//! Producer and inspection calls on one queue.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrow::{self, PyAutoIds};
use super::convert::Reply;
use super::endpoint::{endpoint, keys};
use super::pending::Pending;
use super::runtime::{Core, OwnedByProcess};
use crate::arrow::RowPlan;
use crate::connection::Endpoint;
use crate::error::Result;
use crate::lock::Mutex;
use crate::protocol::{JobBatch, Keys, NewJob};
use crate::queue::{QueueHandle, QueueOptions};
use crate::scripts::{finish, inspect, lock, manage};
use crate::timers::now_ms;

#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreQueue {
    endpoint: Arc<Endpoint>,
    keys: Keys,
    options: QueueOptions,
    /// How long a call waits for a connection.
    patience: Option<Duration>,
    /// Locked only while attached: a fork happens attached, so no child inherits it locked.
    handle: Mutex<Option<OwnedByProcess<Arc<QueueHandle>>>>,
}

/// What Python passes per job: name, data, opts, id, timestamp, delay, priority, lifo.
type PyNewJob<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<Bound<'py, PyAny>>, i64, i64, i64, bool);

impl CoreQueue {
    /// The handle of this process; a forked child gets one of its own.
    fn handle(&self) -> Arc<QueueHandle> {
        let mut slot = self.handle.lock();
        if let Some(handle) = slot.as_ref().and_then(OwnedByProcess::get) {
            return handle.clone();
        }
        let core = Core::current();
        let _runtime = core.enter();
        let link = core.pool.command(&self.endpoint).with_patience(self.patience);
        let bulk = core.pool.bulk(&self.endpoint).with_patience(self.patience);
        let handle = Arc::new(QueueHandle::new(link, bulk, self.keys.clone(), self.options));
        *slot = Some(OwnedByProcess::new(handle.clone()));
        handle
    }

    /// Run `operation` on the native thread, after the checks of the queue's first use.
    pub(super) fn start<F, Fut>(&self, operation: F) -> Pending
    where
        F: FnOnce(Arc<QueueHandle>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Reply>> + Send + 'static,
    {
        let queue = self.handle();
        Pending::start(async move {
            queue.ready().await?;
            operation(queue).await
        })
    }
}

#[pymethods]
impl CoreQueue {
    #[new]
    #[pyo3(signature = (url, prefix, name, *, max_len_events=10_000, skip_metas_update=false, timeout_ms=Some(10_000)))]
    fn new(
        py: Python<'_>,
        url: &str,
        prefix: &str,
        name: &str,
        max_len_events: i64,
        skip_metas_update: bool,
        timeout_ms: Option<u64>,
    ) -> PyResult<Self> {
        Ok(Self {
            endpoint: endpoint(py, url)?,
            keys: keys(py, prefix, name)?,
            options: QueueOptions { max_len_events, skip_metas_update },
            patience: timeout_ms.map(Duration::from_millis),
            handle: Mutex::new(None),
        })
    }

    fn prepare(&self) -> Pending {
        self.start(|_| async { Ok(Reply::Nothing) })
    }

    fn add_jobs(&self, jobs: Vec<PyNewJob<'_>>) -> PyResult<Pending> {
        let mut batch = JobBatch::new();
        for (name, data, opts, id, timestamp, delay, priority, lifo) in &jobs {
            let id = id.as_ref().map(|id| id.extract::<std::borrow::Cow<'_, str>>()).transpose()?;
            batch.push(NewJob {
                name: &name.extract::<std::borrow::Cow<'_, str>>()?,
                data: data.as_bytes(),
                opts: opts.as_bytes(),
                id: id.as_deref(),
                timestamp: *timestamp,
                delay: *delay,
                priority: *priority,
                lifo: *lifo,
            });
        }
        Ok(self.add_batch(batch))
    }

    #[pyo3(signature = (source, name, name_column, data_columns, id_column, auto_ids, opts, timestamp, delay, priority, lifo))]
    #[allow(clippy::too_many_arguments)]
    fn add_arrow(
        &self,
        source: &Bound<'_, PyAny>,
        name: Option<&str>,
        name_column: Option<String>,
        data_columns: Option<Vec<String>>,
        id_column: Option<String>,
        auto_ids: Option<&PyAutoIds>,
        opts: &Bound<'_, PyBytes>,
        timestamp: i64,
        delay: i64,
        priority: i64,
        lifo: bool,
    ) -> PyResult<Pending> {
        let plan = RowPlan { name: name_column, id: id_column, data: data_columns };
        let rows = arrow::rows(source, &plan, auto_ids)?;
        // Unused when a column gives the names.
        let name = name.unwrap_or_default();
        let common = NewJob { name, data: b"", opts: opts.as_bytes(), id: None, timestamp, delay, priority, lifo };
        let batch = source.py().detach(|| {
            let bytes = rows.iter().map(|rows| rows.len() * 128).sum();
            let mut batch = JobBatch::with_capacity(rows.iter().map(|rows| rows.len()).sum(), bytes);
            rows.iter().flat_map(|rows| rows.jobs(common)).for_each(|job| batch.push(job));
            batch
        });
        Ok(self.add_batch(batch))
    }

    fn get_job(&self, id: String) -> Pending {
        self.start(|queue| async move { Ok(Reply::Job(queue.get_job(&id).await?.map(Arc::new))) })
    }

    fn get_jobs(&self, types: Vec<String>, start: i64, end: i64, asc: bool) -> Pending {
        self.start(move |queue| async move {
            let jobs = queue.get_jobs(&texts(&types), start, end, asc).await?;
            Ok(Reply::Jobs(jobs.into_iter().map(|job| job.map(Arc::new)).collect()))
        })
    }

    fn get_ranges(&self, types: Vec<String>, start: i64, end: i64, asc: bool) -> Pending {
        self.start(move |queue| async move {
            Ok(Reply::Texts(inspect::get_ranges(queue.link(), queue.keys(), start, end, asc, &texts(&types)).await?))
        })
    }

    fn get_counts(&self, types: Vec<String>) -> Pending {
        self.start(|queue| async move {
            Ok(Reply::Numbers(inspect::get_counts(queue.link(), queue.keys(), &texts(&types)).await?))
        })
    }

    fn get_state(&self, id: String) -> Pending {
        self.start(|queue| async move { Ok(Reply::Text(inspect::get_state(queue.link(), queue.keys(), &id).await?)) })
    }

    fn get_job_logs(&self, id: String, start: i64, end: i64, asc: bool) -> Pending {
        self.start(move |queue| async move {
            let (rows, count) = queue.get_job_logs(&id, start, end, asc).await?;
            Ok(Reply::Logs(rows, count))
        })
    }

    fn is_paused(&self) -> Pending {
        self.start(|queue| async move { Ok(Reply::Flag(queue.is_paused().await?)) })
    }

    fn get_meta(&self) -> Pending {
        self.start(|queue| async move { Ok(Reply::Pairs(queue.get_meta().await?)) })
    }

    fn rate_limit(&self, expire_ms: u64) -> Pending {
        self.start(move |queue| async move {
            queue.rate_limit(Duration::from_millis(expire_ms)).await.map(|()| Reply::Nothing)
        })
    }

    #[pyo3(signature = (concurrency))]
    fn set_global_concurrency(&self, concurrency: Option<i64>) -> Pending {
        self.start(move |queue| async move { queue.set_global_concurrency(concurrency).await.map(|()| Reply::Nothing) })
    }

    #[pyo3(signature = (limit))]
    fn set_global_rate_limit(&self, limit: Option<(i64, i64)>) -> Pending {
        self.start(move |queue| async move { queue.set_global_rate_limit(limit).await.map(|()| Reply::Nothing) })
    }

    fn pause(&self) -> Pending {
        self.start(|queue| async move { manage::pause(queue.link(), queue.keys()).await.map(|()| Reply::Nothing) })
    }

    fn resume(&self) -> Pending {
        self.start(|queue| async move { manage::resume(queue.link(), queue.keys()).await.map(|()| Reply::Nothing) })
    }

    fn update_data(&self, id: String, data: Vec<u8>) -> Pending {
        self.start(|queue| async move {
            manage::update_data(queue.link(), queue.keys(), &id, &data).await.map(|()| Reply::Nothing)
        })
    }

    fn update_progress(&self, id: String, progress: Vec<u8>) -> Pending {
        self.start(|queue| async move {
            manage::update_progress(queue.link(), queue.keys(), &id, &progress).await.map(|()| Reply::Nothing)
        })
    }

    #[pyo3(signature = (id, row, keep))]
    fn add_log(&self, id: String, row: String, keep: Option<i64>) -> Pending {
        self.start(move |queue| async move {
            Ok(Reply::Number(manage::add_log(queue.link(), queue.keys(), &id, &row, keep).await?))
        })
    }

    #[pyo3(signature = (id, keep))]
    fn clear_logs(&self, id: String, keep: Option<i64>) -> Pending {
        self.start(move |queue| async move {
            manage::clear_logs(queue.link(), queue.keys(), &id, keep).await.map(|()| Reply::Nothing)
        })
    }

    fn change_delay(&self, id: String, delay: i64) -> Pending {
        self.start(move |queue| async move {
            manage::change_delay(queue.link(), queue.keys(), now_ms(), &id, delay).await.map(|()| Reply::Nothing)
        })
    }

    fn change_priority(&self, id: String, priority: i64, lifo: bool) -> Pending {
        self.start(move |queue| async move {
            manage::change_priority(queue.link(), queue.keys(), &id, priority, lifo).await.map(|()| Reply::Nothing)
        })
    }

    fn promote(&self, id: String) -> Pending {
        self.start(
            |queue| async move { manage::promote(queue.link(), queue.keys(), &id).await.map(|()| Reply::Nothing) },
        )
    }

    fn promote_jobs(&self, count: i64) -> Pending {
        self.start(move |queue| async move { queue.promote_all(count).await.map(|()| Reply::Nothing) })
    }

    fn remove(&self, id: String, remove_children: bool) -> Pending {
        self.start(move |queue| async move {
            Ok(Reply::Number(manage::remove(queue.link(), queue.keys(), &id, remove_children).await?))
        })
    }

    fn retry(&self, id: String, state: String, lifo: bool) -> Pending {
        self.start(move |queue| async move {
            manage::retry(queue.link(), queue.keys(), &id, &state, lifo).await.map(|()| Reply::Nothing)
        })
    }

    fn retry_jobs(&self, state: String, count: i64, timestamp: i64) -> Pending {
        self.start(move |queue| async move { queue.retry_all(&state, count, timestamp).await.map(|()| Reply::Nothing) })
    }

    fn drain(&self, delayed: bool) -> Pending {
        self.start(move |queue| async move {
            manage::drain(queue.link(), queue.keys(), delayed).await.map(|()| Reply::Nothing)
        })
    }

    fn obliterate(&self, force: bool, count: i64) -> Pending {
        self.start(move |queue| async move { queue.obliterate(count, force).await.map(|()| Reply::Nothing) })
    }

    fn move_to_delayed(&self, id: String, token: String, delay: i64) -> Pending {
        self.start(move |queue| async move {
            let (link, keys) = (queue.link(), queue.keys());
            finish::move_to_delayed(link, keys, now_ms(), &id, &token, delay, true, None).await.map(|()| Reply::Nothing)
        })
    }

    fn move_to_wait(&self, id: String, token: String) -> Pending {
        self.start(move |queue| async move {
            Ok(Reply::Number(finish::move_to_wait(queue.link(), queue.keys(), &id, &token).await?))
        })
    }

    fn extend_lock(&self, id: String, token: String, duration: i64) -> Pending {
        self.start(move |queue| async move {
            let locks = [(id.as_str(), token.as_str())];
            let refused = lock::extend_locks(queue.link(), queue.keys(), duration, locks).await?;
            Ok(Reply::Flag(refused.is_empty()))
        })
    }
}

impl CoreQueue {
    fn add_batch(&self, batch: JobBatch) -> Pending {
        self.start(|queue| async move {
            let added = queue.add_jobs(batch).await?;
            Ok(Reply::Added(added.ids, added.duplicates))
        })
    }
}

fn texts(types: &[String]) -> Vec<&str> {
    types.iter().map(String::as_str).collect()
}
