//! Fetching and finishing jobs one call at a time, with the options of a worker.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::sync::watch;

use super::super::endpoint::client_name;
use super::super::failure::PyFailure;
use super::super::output::Output;
use super::super::pending::Pending;
use super::super::record::PyJobRecord;
use super::super::runtime::{Core, OwnedByProcess};
use super::CoreQueue;
use bullrush::connection::BlockingLink;
use bullrush::error::Error;
use bullrush::protocol::JobOptions;
use bullrush::queue::{QueueHandle, QueueOptions};
use bullrush::worker::admission::{not_admitted, NotAdmitted};
use bullrush::worker::manual;
use bullrush::worker::manual::{FailedAttempt, Manual};
use bullrush::worker::needs_strategy;

/// How long a call waits for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

impl CoreQueue {
    /// What takes and finishes jobs in this process; a forked child makes its own.
    fn manual(&self) -> Arc<Manual> {
        let mut slot = self.manual.lock();
        if let Some(manual) = slot.as_ref().and_then(OwnedByProcess::get) {
            return manual.clone();
        }
        let core = Core::current();
        let _runtime = core.enter();
        let link = core.pool.command(&self.endpoint).with_connect_timeout(Some(CONNECT_TIMEOUT));
        let allow_legacy = self.worker.allow_legacy;
        let options = QueueOptions { skip_metas_update: true, allow_legacy, ..QueueOptions::default() };
        let queue = QueueHandle::new(link.clone(), link, self.keys.clone(), options);
        let name = client_name(&self.keys, self.worker.worker_name.as_deref());
        let blocking = BlockingLink::new(self.endpoint.clone(), Some(name)).beside(queue.link());
        let manual = Arc::new(Manual::new(queue, blocking, self.worker.clone()));
        *slot = Some(OwnedByProcess::new(manual.clone()));
        manual
    }

    /// The same, if a call of this process has needed it.
    fn used_manual(&self) -> Option<Arc<Manual>> {
        self.manual.lock().as_ref().and_then(OwnedByProcess::get).cloned()
    }
}

/// An attempt of a job by hand.
#[derive(FromPyObject)]
struct Attempt<'py> {
    id: String,
    token: String,
    opts: Bound<'py, PyBytes>,
    made: i64,
    stacktrace: Option<Vec<u8>>,
}

impl From<Attempt<'_>> for manual::Attempt {
    fn from(attempt: Attempt<'_>) -> Self {
        let Attempt { id, token, opts, made, stacktrace } = attempt;
        Self { id, token: token.into(), options: JobOptions::parse(opts.as_bytes()), made, stacktrace }
    }
}

/// Start a call that may return a job. If its caller has gone, the job goes back to the queue.
fn returning_job<F>(manual: Arc<Manual>, begin: impl FnOnce(watch::Receiver<bool>) -> F) -> Pending
where
    F: Future<Output = bullrush::error::Result<Output>> + Send + 'static,
{
    Pending::start_recallable(begin, move |reply| {
        let Ok(Output::Held(Some(job)) | Output::Failed(FailedAttempt { next: Some(job), .. })) = reply else { return };
        let (manual, job) = (manual.clone(), job.clone());
        // If this fails, the job runs again when its lock has expired.
        Core::current().spawn(async move { drop(manual.give_back(&job).await) });
    })
}

#[pymethods]
impl CoreQueue {
    fn get_next_job(&self, token: &str, block: bool) -> Pending {
        let (manual, token) = (self.manual(), Arc::from(token));
        returning_job(manual.clone(), |given_up| async move {
            Ok(Output::Held(manual.get_next_job(token, block, given_up).await?))
        })
    }

    fn move_to_completed(&self, attempt: Attempt<'_>, value: &Bound<'_, PyBytes>, fetch_next: bool) -> Pending {
        let (manual, attempt, value) = (self.manual(), attempt.into(), value.as_bytes().to_vec());
        let too_large = self.worker.payload_limit.and_then(|limit| limit.result_error(value.len()));
        returning_job(manual.clone(), |_| async move {
            if let Some(reason) = too_large {
                return Err(Error::TooLarge(reason));
            }
            Ok(Output::Held(manual.move_to_completed(attempt, value, fetch_next).await?))
        })
    }

    fn move_to_failed(&self, attempt: Attempt<'_>, failure: PyFailure, fetch_next: bool) -> Pending {
        let (manual, attempt, failure) = (self.manual(), attempt.into(), failure.into());
        returning_job(manual.clone(), |_| async move {
            Ok(Output::Failed(manual.move_to_failed(attempt, failure, fetch_next).await?))
        })
    }

    /// The class and the reason of the error with which a job must fail that may not run.
    fn not_admitted(&self, record: &PyJobRecord) -> Option<(&'static str, String)> {
        let NotAdmitted { class, reason } = not_admitted(record.held_job()?, &self.worker)?;
        Some((class, reason))
    }

    #[staticmethod]
    fn needs_strategy(opts: &Bound<'_, PyBytes>, made: i64) -> Option<String> {
        needs_strategy(made, &JobOptions::parse(opts.as_bytes()))
    }

    fn take_warnings(&self) -> Vec<String> {
        self.used_manual().map(|manual| manual.take_warnings()).unwrap_or_default()
    }

    fn extend_job_locks(&self) -> Pending {
        let manual = self.manual();
        Pending::start(async move { Ok(Output::Texts(manual.extend_job_locks().await?)) })
    }

    fn move_stalled_jobs_to_wait(&self) -> Pending {
        let manual = self.manual();
        Pending::start(async move { Ok(Output::Texts(manual.move_stalled_jobs_to_wait().await?)) })
    }

    fn connect_worker(&self) -> Pending {
        let manual = self.manual();
        Pending::start(async move { manual.connect().await.map(|()| Output::Nothing) })
    }

    fn disconnect_worker(&self) {
        if let Some(manual) = self.used_manual() {
            Core::current().spawn(async move { manual.disconnect().await });
        }
    }

    fn end_waits(&self, hurries: bool) -> Option<Pending> {
        let manual = self.used_manual()?;
        Some(Pending::start(async move {
            manual.close(hurries).await;
            Ok(Output::Nothing)
        }))
    }
}
