//! The producer and getter calls of one queue, a file per family.

mod add;
mod by_hand;
mod command;
mod compiled;
mod finish;
mod getters;
mod legacy;
mod limits;
mod manage;
mod new_jobs;
mod reads;
mod row_plan;
mod schedulers;
mod search;
mod sent;
mod writes;

pub use new_jobs::{PyNewJobRecord, PyNewJobs};
pub use row_plan::PyRowPlan;
pub use search::fits;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use serde::Deserialize;

use super::endpoint::{endpoint, keys};
use super::events::CoreEvents;
use super::notifications::CoreNotifications;
use super::options;
use super::output::Output;
use super::pending::Pending;
use super::route::PyTarget;
use super::runtime::{Core, OwnedByProcess};
use bullrush::connection::{Endpoint, Retry};
use bullrush::error::Result;
use bullrush::mutex::Mutex;
use bullrush::protocol::Keys;
use bullrush::queue::{Compat, Durable, QueueHandle, QueueOptions, Registration};
use bullrush::scripts::hint::Wake;
use bullrush::worker::manual::Manual;
use bullrush::worker::options::WorkerOptions;

#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreQueue {
    endpoint: Arc<Endpoint>,
    keys: Keys,
    options: QueueOptions,
    /// The base queue and the target, if the queue is a route.
    route: Option<(Keys, Py<PyTarget>)>,
    /// How long a call may take: connecting, and each reply.
    timeout: Option<Duration>,
    durable: Option<Durable>,
    /// The most bytes of the data that a call gives a job.
    pub(super) payload_limit: Option<usize>,
    /// The options with which jobs are taken and finished by hand.
    worker: WorkerOptions,
    /// Locked only while attached to the interpreter, as the next one. A fork happens while attached, too, so no child
    /// inherits it locked.
    handle: Mutex<Option<OwnedByProcess<Arc<QueueHandle>>>>,
    manual: Mutex<Option<OwnedByProcess<Arc<Manual>>>>,
}

impl CoreQueue {
    /// The handle of this process; a forked child makes its own.
    pub fn handle(&self) -> Arc<QueueHandle> {
        let mut slot = self.handle.lock();
        if let Some(handle) = slot.as_ref().and_then(OwnedByProcess::get) {
            return handle.clone();
        }
        let core = Core::current();
        let _runtime = core.enter();
        let link = core.pool.command(&self.endpoint).with_call_timeout(self.timeout);
        let bulk = core.pool.bulk(&self.endpoint).with_call_timeout(self.timeout);
        let registration = self.route.as_ref().map(|(base, target)| {
            let PyTarget { target, fallback } = target.get();
            Registration::new(base.clone(), target.clone(), fallback.clone())
        });
        let handle = QueueHandle::new(link, bulk, self.keys.clone(), self.options).with_registration(registration);
        let durable = |wanted| (core.pool.durable(&self.endpoint).with_call_timeout(self.timeout), wanted);
        let handle = handle.with_durability(self.durable.map(durable));
        let handle = Arc::new(handle);
        *slot = Some(OwnedByProcess::new(handle.clone()));
        handle
    }

    /// Run `operation`, which adds or changes something, after the queue was checked and its `meta` written.
    pub(super) fn write<F, Fut>(&self, operation: F) -> Pending
    where
        F: FnOnce(Arc<QueueHandle>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Output>> + Send + 'static,
    {
        self.start(|queue| async move {
            queue.writable().await?;
            operation(queue).await
        })
    }

    /// Run `operation` on the native thread, after the checks of the queue's first use.
    pub(super) fn start<F, Fut>(&self, operation: F) -> Pending
    where
        F: FnOnce(Arc<QueueHandle>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Output>> + Send + 'static,
    {
        self.start_unchecked(|queue| async move {
            queue.ready().await?;
            operation(queue).await
        })
    }

    /// Run `operation` on the native thread. It does not matter whose keys these are.
    pub(super) fn start_unchecked<F, Fut>(&self, operation: F) -> Pending
    where
        F: FnOnce(Arc<QueueHandle>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Output>> + Send + 'static,
    {
        let queue = self.handle();
        Pending::start(async move {
            let link = queue.link().clone();
            let result = operation(queue).await;
            // Scripts have looked at their replies before: what comes here is a read.
            link.believe(Retry::Look, result)
        })
    }
}

/// The options of a queue by the names that they have in Python, which has checked them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenOptions {
    #[serde(rename = "streams", default = "max_len_events")]
    max_len_events: i64,
    /// Only queues of programs write them.
    #[serde(default = "yes")]
    skip_metas_update: bool,
    #[serde(default)]
    allow_legacy: bool,
    #[serde(default)]
    compat: Option<Compat>,
    /// In ms.
    #[serde(default = "timeout")]
    timeout: Option<u64>,
    #[serde(default)]
    fan_out: bool,
    #[serde(default)]
    notify: bool,
    #[serde(default)]
    durable: Option<Durable>,
    #[serde(default = "payload_limit")]
    payload_limit: Option<usize>,
}

// What objects have that are no queues of programs, such as a worker's queue or the schedulers of one.

fn max_len_events() -> i64 {
    QueueOptions::default().max_len_events
}

fn yes() -> bool {
    true
}

fn timeout() -> Option<u64> {
    Some(10_000)
}

fn payload_limit() -> Option<usize> {
    Some(10_000_000)
}

#[pymethods]
impl CoreQueue {
    #[new]
    #[pyo3(signature = (url, prefix, name, options, *, target=None, worker=None))]
    fn new(
        py: Python<'_>,
        url: &str,
        prefix: &str,
        name: &str,
        options: &[u8],
        target: Option<Py<PyTarget>>,
        worker: Option<&[u8]>,
    ) -> PyResult<Self> {
        let options: GivenOptions = options::read(py, options)?;
        let base = keys(py, prefix, name)?;
        let route = target.filter(|target| !target.get().target.is_empty());
        Ok(Self {
            endpoint: endpoint(py, url, &base)?,
            keys: match &route {
                None => base.clone(),
                Some(target) => keys(py, prefix, &target.get().queue_of(name))?,
            },
            route: route.map(|target| (base, target)),
            options: QueueOptions {
                max_len_events: options.max_len_events,
                skip_metas_update: options.skip_metas_update,
                allow_legacy: options.allow_legacy,
                compat: options.compat,
                wake: Wake { fan_out: options.fan_out, notify: options.notify },
            },
            timeout: options.timeout.map(Duration::from_millis),
            payload_limit: options.payload_limit,
            durable: options.durable,
            worker: match worker {
                Some(options) => options::read(py, options)?,
                None => WorkerOptions::by_hand(),
            },
            handle: Mutex::new(None),
            manual: Mutex::new(None),
        })
    }

    fn redis_version(&self) -> Option<String> {
        self.handle().link().server().map(|server| server.version)
    }

    /// For messages about jobs of this queue.
    fn notifications(&self) -> CoreNotifications {
        CoreNotifications::open(self.endpoint.clone(), self.keys.prefix().to_owned())
    }

    /// The event stream of this queue, read once for all callers of this process.
    fn events(&self) -> CoreEvents {
        CoreEvents::shared(self.endpoint.clone(), self.keys.clone())
    }

    #[pyo3(signature = (*, last_event_id, blocking_timeout))]
    fn new_events(&self, last_event_id: Option<String>, blocking_timeout: u64) -> CoreEvents {
        CoreEvents::own(self.handle(), last_event_id, Duration::from_millis(blocking_timeout))
    }

    fn prepare(&self) -> Pending {
        self.write(|_| async { Ok(Output::Nothing) })
    }
}
