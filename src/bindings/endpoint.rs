//! From what Python passes (URL, prefix, queue name) to the core's values.

use std::sync::Arc;

use pyo3::prelude::*;

use super::errors::to_py_err;
use bullrush::connection::Endpoint;
use bullrush::protocol::keys::{hash_tag, slot};
use bullrush::protocol::Keys;

/// What a URL says, without its password.
#[pyclass(frozen, get_all, name = "UrlParts")]
pub struct PyUrlParts {
    address: String,
    user: Option<String>,
    database: i64,
    is_cluster: bool,
}

/// Reads the URL of a server, or of several.
#[pyfunction]
pub fn read_url(py: Python<'_>, url: &str) -> PyResult<PyUrlParts> {
    let endpoint = Endpoint::parse(url).map_err(|error| to_py_err(py, &error))?;
    let user = endpoint.user().map(str::to_owned);
    let (database, is_cluster) = (endpoint.database(), endpoint.is_cluster());
    Ok(PyUrlParts { address: endpoint.to_string(), user, database, is_cluster })
}

/// The URL without its password, for logs and `repr`.
#[pyfunction]
pub fn mask_url(url: &str) -> String {
    Endpoint::masked(url)
}

/// Where a queue is: on a cluster, the owner of its slot.
pub fn endpoint(py: Python<'_>, url: &str, keys: &Keys) -> PyResult<Arc<Endpoint>> {
    pinned(py, url, keys.slot())
}

/// Where the keys are that begin like this; on a cluster that of their hash tag, or any master if they have none.
pub fn endpoint_of_all(py: Python<'_>, url: &str, beginning: &str) -> PyResult<Arc<Endpoint>> {
    let beginning = format!("{beginning}:");
    pinned(py, url, hash_tag(&beginning).map_or(0, slot))
}

fn pinned(py: Python<'_>, url: &str, slot: u16) -> PyResult<Arc<Endpoint>> {
    Endpoint::parse(url).map(|endpoint| Arc::new(endpoint.pinned(slot))).map_err(|error| to_py_err(py, &error))
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
