//! Listening to channels and publishing on them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tokio::sync::watch;

use super::endpoint::endpoint_of_all;
use super::errors::inherited;
use super::output::Output;
use super::pending::Pending;
use super::runtime::{Core, OwnedByProcess};
use bullrush::connection::{Endpoint, First, Inbox, Listening, Retry};
use bullrush::error::Error;
use bullrush::mutex::Mutex;
use bullrush::protocol::{reply, Channel};

/// Some listeners of one process, with the inbox that they share.
#[pyclass(frozen, module = "bullrush._core")]
pub struct CoreNotifications {
    endpoint: Arc<Endpoint>,
    prefix: String,
    listeners: OwnedByProcess<Arc<Listeners>>,
}

struct Listeners {
    inbox: Arc<Inbox>,
    by_number: Mutex<HashMap<u64, Arc<Listening>>>,
    closed: watch::Sender<bool>,
}

impl CoreNotifications {
    pub fn open(endpoint: Arc<Endpoint>, prefix: String) -> Self {
        let (inbox, closed) = (Inbox::new(), watch::Sender::new(false));
        let listeners = Arc::new(Listeners { inbox, by_number: Mutex::default(), closed });
        Self { endpoint, prefix, listeners: OwnedByProcess::new(listeners) }
    }

    fn listeners(&self) -> PyResult<&Arc<Listeners>> {
        self.listeners.get().ok_or_else(inherited)
    }

    fn channel(&self, name: &str) -> PyResult<String> {
        let channel = Channel::ALL.into_iter().find(|channel| channel.name() == name);
        let channel = channel.ok_or_else(|| PyValueError::new_err(format!("there is no channel {name:?}")))?;
        Ok(channel.of(&self.prefix))
    }
}

#[pymethods]
impl CoreNotifications {
    #[new]
    fn new(py: Python<'_>, url: &str, prefix: String) -> PyResult<Self> {
        Ok(Self::open(endpoint_of_all(py, url, &prefix)?, prefix))
    }

    #[pyo3(signature = (channel, key, *, quiet))]
    fn listen(&self, channel: &str, key: &str, quiet: bool) -> PyResult<u64> {
        let (channel, listeners) = (self.channel(channel)?, self.listeners()?);
        let core = Core::current();
        let subscriber = {
            let _runtime = core.enter();
            core.pool.subscriber(&self.endpoint)
        };
        let first = if quiet { First::Quiet } else { First::Notice };
        let listening = subscriber.listen(&channel, key, &listeners.inbox, first);
        let number = listening.number();
        listeners.by_number.lock().insert(number, Arc::new(listening));
        Ok(number)
    }

    fn confirmed(&self, number: u64, timeout_ms: u64) -> PyResult<Pending> {
        let listeners = self.listeners()?;
        let listening = listeners.by_number.lock().get(&number).cloned();
        let mut closed = listeners.closed.subscribe();
        Ok(Pending::start(async move {
            let listening = listening.ok_or(Error::Closed)?;
            tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => return Err(Error::Closed),
                confirmed = listening.confirmed(Duration::from_millis(timeout_ms)) => confirmed?,
            }
            Ok(Output::Nothing)
        }))
    }

    fn stop(&self, number: u64) {
        if let Some(listeners) = self.listeners.get() {
            let stopped = listeners.by_number.lock().remove(&number);
            drop(stopped);
        }
    }

    #[pyo3(signature = (timeout_ms=None))]
    fn next(&self, timeout_ms: Option<u64>) -> PyResult<Pending> {
        let listeners = self.listeners()?.clone();
        let limit = timeout_ms.map_or(Duration::MAX, Duration::from_millis);
        Ok(Pending::start(async move {
            let mut closed = listeners.closed.subscribe();
            tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => Ok(Output::Nothing),
                notices = listeners.inbox.next() => {
                    let numbers = notices.into_iter().filter_map(|(number, _)| i64::try_from(number).ok());
                    Ok(Output::Numbers(numbers.collect()))
                }
                () = tokio::time::sleep(limit) => Ok(Output::Numbers(Vec::new())),
            }
        }))
    }

    fn publish(&self, channel: &str, message: String, timeout_ms: u64) -> PyResult<Pending> {
        let channel = self.channel(channel)?;
        let core = Core::current();
        let link = {
            let _runtime = core.enter();
            core.pool.command(&self.endpoint)
        };
        let link = link.with_call_timeout(Some(Duration::from_millis(timeout_ms)));
        Ok(Pending::start(async move {
            let mut publish = redis::cmd("PUBLISH");
            publish.arg(channel).arg(message);
            Ok(Output::Number(reply::integer(link.call(&publish, Retry::Safe).await?)?))
        }))
    }

    fn close(&self) {
        if let Some(listeners) = self.listeners.get() {
            listeners.closed.send_replace(true);
            listeners.by_number.lock().clear();
        }
    }
}
