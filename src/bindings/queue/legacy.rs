//! Queues of Bull, BullMQ's predecessor.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::super::endpoint::keys;
use super::super::output::Output;
use super::super::pending::Pending;
use super::command::Argument;
use super::CoreQueue;
use bullrush::queue::legacy::listeners::clients;
use bullrush::queue::legacy::Users;
use bullrush::scripts::legacy::{by_name, Batch};
use bullrush::scripts::ALL;

#[pymethods]
impl CoreQueue {
    /// Who uses the queue: the flavour and what shows it, or "" and ""; "1" if BullMQ's keys are there.
    fn legacy_users(&self) -> Pending {
        self.start(|queue| async move {
            let Users { bull, bullmq } = Users::read(queue.link(), queue.keys()).await?;
            let (flavour, shown_by) = bull.map(|found| (found.flavour.name(), found.shown_by)).unwrap_or_default();
            Ok(Output::Texts(vec![flavour.to_owned(), shown_by, if bullmq { "1" } else { "" }.to_owned()]))
        })
    }

    /// The connections of programs with Bull: each address and role.
    fn legacy_clients(&self) -> Pending {
        self.start(|queue| async move {
            let found = clients(queue.link(), queue.keys()).await?;
            Ok(Output::Texts(found.into_iter().flat_map(|one| [one.address, one.role.to_owned()]).collect()))
        })
    }

    #[pyo3(signature = (script, calls, other=None))]
    fn legacy_calls(
        &self,
        py: Python<'_>,
        script: &str,
        calls: Vec<Vec<Argument>>,
        other: Option<(String, String)>,
    ) -> PyResult<Pending> {
        let name = ALL.iter().filter_map(|known| known.name.strip_prefix("legacy/")).find(|known| *known == script);
        let name = name.ok_or_else(|| PyValueError::new_err(format!("no script legacy/{script}")))?;
        let other = other.map(|(prefix, name)| keys(py, &prefix, &name)).transpose()?;
        let calls: Vec<Vec<Vec<u8>>> =
            calls.into_iter().map(|call| call.into_iter().map(|argument| argument.0).collect()).collect();
        Ok(self.write(move |queue| async move {
            let batch = Batch { link: queue.link(), keys: queue.keys(), other: other.as_ref(), calls: &calls };
            by_name(name, &batch).await.map(Output::Values)
        }))
    }
}
