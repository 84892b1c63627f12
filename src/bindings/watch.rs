//! ConnectionOutages of the connection of a process and URL, for code that makes no call at the time.

use std::sync::Arc;

use pyo3::prelude::*;
use tokio::sync::{watch, Mutex};

use super::endpoint::endpoint_of_all;
use super::errors::inherited;
use super::output::Output;
use super::pending::Pending;
use super::runtime::{Core, OwnedByProcess};
use bullrush::connection::{ConnectionOutages, Link};
use bullrush::error::Error;

#[pyclass(frozen, module = "bullrush._core")]
pub struct ConnectionWatch(OwnedByProcess<Arc<Watch>>);

struct Watch {
    link: Link,
    outages: Mutex<ConnectionOutages>,
    closed: watch::Sender<bool>,
}

#[pymethods]
impl ConnectionWatch {
    #[new]
    fn new(py: Python<'_>, url: &str, beginning: &str) -> PyResult<Self> {
        let endpoint = endpoint_of_all(py, url, beginning)?;
        let core = Core::current();
        let _runtime = core.enter();
        let link = core.pool.command(&endpoint);
        let outages = Mutex::new(ConnectionOutages::of(&link));
        Ok(Self(OwnedByProcess::new(Arc::new(Watch { link, outages, closed: watch::Sender::new(false) }))))
    }

    fn next(&self) -> PyResult<Pending> {
        let watch = self.0.get().ok_or_else(inherited)?.clone();
        Ok(Pending::start(async move {
            let mut closed = watch.closed.subscribe();
            let outage = tokio::select! {
                _ = closed.wait_for(|closed| *closed) => None,
                outage = async { watch.outages.lock().await.next().await } => outage,
            };
            match outage {
                Some(cause) => {
                    let endpoint = watch.link.endpoint();
                    Err(Error::ConnectionLost(format!("no connection to Redis at {endpoint} ({cause})")))
                }
                None => Ok(Output::Nothing),
            }
        }))
    }

    fn close(&self) {
        if let Some(watch) = self.0.get() {
            watch.closed.send_replace(true);
        }
    }
}
