//! The event stream: batches of entries, and the ends of single jobs.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use tokio::sync::watch;

use super::endpoint::client_name;
use super::errors::inherited;
use super::output::Output;
use super::pending::Pending;
use super::runtime::{Core, OwnedByProcess};
use bullrush::connection::Endpoint;
use bullrush::events::{Feed, Listening, Message, OwnedFeed, Reader};
use bullrush::protocol::Keys;
use bullrush::queue::QueueHandle;

/// How long one read of a shared reader lasts.
const SHARED_BLOCK: Duration = Duration::from_secs(10);

#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreEvents {
    owned: OwnedByProcess<Arc<OwnedFeed>>,
    endpoint: Arc<Endpoint>,
    keys: Keys,
    block: Duration,
    /// Checks the queue; nothing if its users have done so.
    queue: Option<Arc<QueueHandle>>,
}

impl CoreEvents {
    /// The reader of this queue that all callers of this process share.
    pub fn shared(endpoint: Arc<Endpoint>, keys: Keys) -> Self {
        let owned = Core::current().feeds.get(&endpoint, &keys);
        Self { owned: OwnedByProcess::new(owned), endpoint, keys, block: SHARED_BLOCK, queue: None }
    }

    /// A reader of its own, which checks the queue when it has reached the server.
    pub fn own(queue: Arc<QueueHandle>, last_event_id: Option<String>, block: Duration) -> Self {
        let owned = OwnedByProcess::new(OwnedFeed::new(last_event_id));
        Self { owned, endpoint: queue.link().endpoint().clone(), keys: queue.keys().clone(), block, queue: Some(queue) }
    }

    fn owned(&self) -> PyResult<&Arc<OwnedFeed>> {
        self.owned.get().ok_or_else(inherited)
    }

    fn feed(&self) -> PyResult<&Arc<Feed>> {
        self.owned().map(|owned| &owned.feed)
    }
}

#[pymethods]
impl CoreEvents {
    fn start(&self) -> PyResult<bool> {
        let owned = self.owned()?;
        let starts = owned.starts();
        if starts {
            let feed = owned.feed.clone();
            let name = format!("{}:qe", client_name(&self.keys, None));
            let reader = Reader::new(self.endpoint.clone(), name, &self.keys, self.block);
            let queue = self.queue.clone();
            let check = move || {
                let queue = queue.clone();
                async move {
                    match queue {
                        Some(queue) => queue.ready().await,
                        None => Ok(()),
                    }
                }
            };
            Core::current().spawn(async move { feed.run(reader, check).await });
        }
        Ok(starts)
    }

    fn ready(&self, timeout_ms: u64) -> PyResult<Pending> {
        let feed = self.feed()?.clone();
        Ok(Pending::start(async move { feed.ready(Duration::from_millis(timeout_ms)).await.map(|()| Output::Nothing) }))
    }

    fn listen(&self) -> PyResult<CoreListening> {
        Ok(CoreListening(OwnedByProcess::new(Arc::new(self.feed()?.listen()))))
    }

    fn wait_until_finished(&self, job_id: String, timeout_ms: u64, late: bool) -> PyResult<Pending> {
        let end = self.feed()?.wait_until_finished(job_id, Duration::from_millis(timeout_ms), late);
        Ok(Pending::start(async move { Ok(Output::JobEnd(end.await?)) }))
    }

    fn close(&self) {
        if let Some(owned) = self.owned.get() {
            owned.feed.stop();
        }
    }
}

#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreListening(OwnedByProcess<Arc<Listening>>);

#[pymethods]
impl CoreListening {
    #[pyo3(signature = (timeout_ms=None))]
    fn next(&self, timeout_ms: Option<u64>) -> PyResult<Pending> {
        let listening = self.0.get().ok_or_else(inherited)?.clone();
        let source = listening.clone();
        let begin = move |mut given_up: watch::Receiver<bool>| async move {
            let limit = timeout_ms.map_or(Duration::MAX, Duration::from_millis);
            let nothing = Ok(Output::Entries(Some(Arc::default())));
            let message = tokio::select! {
                biased;
                _ = given_up.wait_for(|given_up| *given_up) => return nothing,
                message = tokio::time::timeout(limit, listening.next()) => message,
            };
            match message {
                Ok(Some(Message::Error(error))) => Err(error),
                Ok(Some(Message::Entries(entries))) => Ok(Output::Entries(Some(entries))),
                Ok(None) => Ok(Output::Entries(None)),
                Err(_) => nothing,
            }
        };
        Ok(Pending::start_recallable(begin, move |message| {
            if let Ok(Output::Entries(Some(entries))) = message {
                source.put_back(entries.clone());
            }
        }))
    }

    #[pyo3(signature = (seen=None))]
    fn leave(&self, seen: Option<String>) {
        if let Some(listening) = self.0.get() {
            listening.leave(seen);
        }
    }
}
