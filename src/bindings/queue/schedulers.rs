//! Job schedulers.

use pyo3::prelude::*;
use serde_json::{Map, Value};

use super::super::errors::to_py_err;
use super::super::output::Output;
use super::super::pending::Pending;
use super::CoreQueue;
use crate::clock::now_ms;
use crate::error::Error;
use crate::protocol::schedule::Repeat;
use crate::queue::schedulers::{upsert_job_scheduler, Scheduler};
use crate::scripts::manage;

fn object(py: Python<'_>, json: &[u8]) -> PyResult<Map<String, Value>> {
    serde_json::from_slice(json).map_err(|error| to_py_err(py, &Error::InvalidOption(error.to_string())))
}

#[pymethods]
impl CoreQueue {
    #[pyo3(signature = (id, repeat, immediately, name, data, opts, metadata=None))]
    #[allow(clippy::too_many_arguments)]
    fn upsert_job_scheduler(
        &self,
        py: Python<'_>,
        id: String,
        repeat: &[u8],
        immediately: bool,
        name: String,
        data: Vec<u8>,
        opts: &[u8],
        metadata: Option<&[u8]>,
    ) -> PyResult<Pending> {
        let metadata = metadata.and_then(|json| serde_json::from_slice(json).ok());
        let (repeat, opts) = (object(py, repeat)?, object(py, opts)?);
        let scheduler = Scheduler { id, repeat, immediately, name, data, opts, metadata };
        let now = now_ms();
        Repeat::read(&scheduler.repeat).check(now).map_err(|error| to_py_err(py, &error))?;
        Ok(self.write(move |queue| async move {
            let scheduled = queue.durably(|link| upsert_job_scheduler(link, queue.keys(), now, &scheduler)).await?;
            Ok(Output::Scheduled(scheduled))
        }))
    }

    #[pyo3(signature = (id, oldest_stem=None))]
    fn remove_job_scheduler(&self, id: String, oldest_stem: Option<String>) -> Pending {
        self.start(|queue| async move {
            let stem = oldest_stem.as_deref();
            Ok(Output::Flag(manage::remove_job_scheduler(queue.link(), queue.keys(), &id, stem).await?))
        })
    }
}
