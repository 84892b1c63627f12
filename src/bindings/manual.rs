//! Fetching and finishing jobs one call at a time, with the options of a worker.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::sync::watch;

use super::endpoint::{client_name, endpoint, keys};
use super::output::Output;
use super::pending::Pending;
use super::runtime::{Core, OwnedByProcess};
use super::worker::CoreWorkerOptions;
use crate::connection::{BlockingLink, Endpoint};
use crate::error::{Error, Result};
use crate::lock::Mutex;
use crate::protocol::{JobOptions, Keys};
use crate::queue::{QueueHandle, QueueOptions};
use crate::worker::custom_backoff;
use crate::worker::manual::{Attempt, FailedAttempt, Manual};
use crate::worker::options::WorkerOptions;
use crate::worker::outcome::Failure;

/// How long a call waits for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[pyclass(frozen, module = "bullrush._core")]
pub struct ManualWork {
    endpoint: Arc<Endpoint>,
    keys: Keys,
    options: WorkerOptions,
    /// Locked only while attached to the interpreter. A fork happens while attached, too, so no child inherits it locked.
    manual: Mutex<Option<OwnedByProcess<Arc<Manual>>>>,
}

impl ManualWork {
    /// The `Manual` of this process; a forked child makes its own.
    fn manual(&self) -> Arc<Manual> {
        let mut slot = self.manual.lock();
        if let Some(manual) = slot.as_ref().and_then(OwnedByProcess::get) {
            return manual.clone();
        }
        let core = Core::current();
        let _runtime = core.enter();
        let link = core.pool.command(&self.endpoint).with_connect_timeout(Some(CONNECT_TIMEOUT));
        let allow_legacy = self.options.allow_legacy;
        let options = QueueOptions { skip_metas_update: true, allow_legacy, ..QueueOptions::default() };
        let queue = QueueHandle::new(link.clone(), link, self.keys.clone(), options);
        let name = client_name(&self.keys, self.options.worker_name.as_deref());
        let blocking = BlockingLink::new(self.endpoint.clone(), Some(name));
        let manual = Arc::new(Manual::new(queue, blocking, self.options.clone()));
        *slot = Some(OwnedByProcess::new(manual.clone()));
        manual
    }
}

/// Start a call that may return a job. If its caller has gone, the job goes back to the queue.
fn returning_job<F>(manual: Arc<Manual>, begin: impl FnOnce(watch::Receiver<bool>) -> F) -> Pending
where
    F: Future<Output = Result<Output>> + Send + 'static,
{
    Pending::start_recallable(begin, move |reply| {
        let Ok(Output::Held(Some(job)) | Output::Failed(FailedAttempt { next: Some(job), .. })) = reply else { return };
        let (manual, job) = (manual.clone(), job.clone());
        // If this fails, the job runs again when its lock has expired.
        Core::current().spawn(async move { drop(manual.give_back(&job).await) });
    })
}

fn attempt(id: String, token: &str, opts: &[u8], made: i64, stacktrace: Option<Vec<u8>>) -> Attempt {
    Attempt { id, token: token.into(), options: JobOptions::parse(opts), made, stacktrace }
}

#[pymethods]
impl ManualWork {
    #[new]
    fn new(py: Python<'_>, url: &str, prefix: &str, name: &str, options: &CoreWorkerOptions) -> PyResult<Self> {
        let keys = keys(py, prefix, name)?;
        Ok(Self { endpoint: endpoint(py, url, &keys)?, keys, options: options.0.clone(), manual: Mutex::new(None) })
    }

    fn get_next_job(&self, token: &str, block: bool) -> Pending {
        let (manual, token) = (self.manual(), Arc::from(token));
        returning_job(manual.clone(), |given_up| async move {
            Ok(Output::Held(manual.get_next_job(token, block, given_up).await?))
        })
    }

    #[pyo3(signature = (id, token, opts, value, fetch_next))]
    fn move_to_completed(
        &self,
        id: String,
        token: &str,
        opts: &Bound<'_, PyBytes>,
        value: &Bound<'_, PyBytes>,
        fetch_next: bool,
    ) -> Pending {
        let manual = self.manual();
        let (attempt, value) = (attempt(id, token, opts.as_bytes(), 0, None), value.as_bytes().to_vec());
        let too_large = self.options.payload_limit.and_then(|limit| limit.result_error(value.len()));
        returning_job(manual.clone(), |_| async move {
            if let Some(reason) = too_large {
                return Err(Error::TooLarge(reason));
            }
            Ok(Output::Held(manual.move_to_completed(attempt, value, fetch_next).await?))
        })
    }

    #[pyo3(signature = (id, token, opts, made, stacktrace, reason, stack, retry, delay, fetch_next))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn move_to_failed(
        &self,
        id: String,
        token: &str,
        opts: &Bound<'_, PyBytes>,
        made: i64,
        stacktrace: Option<Vec<u8>>,
        reason: String,
        stack: String,
        retry: bool,
        delay: Option<i64>,
        fetch_next: bool,
    ) -> Pending {
        let manual = self.manual();
        let attempt = attempt(id, token, opts.as_bytes(), made, stacktrace);
        let failure = Failure { reason, stack, retry, delay };
        returning_job(manual.clone(), |_| async move {
            Ok(Output::Failed(manual.move_to_failed(attempt, failure, fetch_next).await?))
        })
    }

    #[staticmethod]
    fn needs_strategy(opts: &Bound<'_, PyBytes>, made: i64) -> Option<String> {
        custom_backoff(made, &JobOptions::parse(opts.as_bytes()))
    }

    fn take_warnings(&self) -> Vec<String> {
        self.manual().take_warnings()
    }

    fn extend_job_locks(&self) -> Pending {
        let manual = self.manual();
        Pending::start(async move { Ok(Output::Texts(manual.extend_job_locks().await?)) })
    }

    fn move_stalled_jobs_to_wait(&self) -> Pending {
        let manual = self.manual();
        Pending::start(async move { Ok(Output::Texts(manual.move_stalled_jobs_to_wait().await?)) })
    }

    fn register(&self) -> Pending {
        let manual = self.manual();
        Pending::start(async move { manual.connect().await.map(|()| Output::Nothing) })
    }

    fn unregister(&self) {
        if let Some(manual) = self.manual.lock().as_ref().and_then(OwnedByProcess::get).cloned() {
            Core::current().spawn(async move { manual.disconnect().await });
        }
    }

    fn close(&self) {
        if let Some(manual) = self.manual.lock().as_ref().and_then(OwnedByProcess::get).cloned() {
            Core::current().spawn(async move { manual.close().await });
        }
    }
}
