//! From what Python passes (URL, prefix, queue name) to the core's values.

use std::sync::Arc;

use pyo3::prelude::*;

use super::errors::to_py_err;
use crate::connection::Endpoint;
use crate::protocol::Keys;

pub fn endpoint(py: Python<'_>, url: &str) -> PyResult<Arc<Endpoint>> {
    Endpoint::parse(url).map(Arc::new).map_err(|error| to_py_err(py, &error))
}

pub fn keys(py: Python<'_>, prefix: &str, name: &str) -> PyResult<Keys> {
    Keys::new(prefix, name).map_err(|error| to_py_err(py, &error))
}

/// The name of a worker's blocking connection, by which `getWorkers` finds it (protocol: lifecycle 5.1).
pub fn client_name(keys: &Keys, worker: Option<&str>) -> String {
    let plain = keys.client_name();
    // CLIENT SETNAME refuses anything but printable ASCII without spaces; an unnamed worker is still counted.
    match worker.filter(|name| name.bytes().all(|byte| byte.is_ascii_graphic())) {
        Some(name) => format!("{plain}:w:{name}"),
        None => plain,
    }
}
