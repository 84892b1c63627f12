//! The interface between the core and Python.

mod arrow;
mod completions;
mod endpoint;
mod errors;
mod events;
mod failure;
mod keys;
mod hard_exit;
mod notes;
mod notifications;
mod options;
mod output;
mod pending;
mod queue;
mod reader;
mod record;
mod recorder;
mod route;
mod rows;
mod runtime;
mod watch;
mod worker;

use pyo3::prelude::*;

// Free-threaded Pythons turn the GIL on for it: our Python code counts on it, and was never run without.
#[pymodule(gil_used = true)]
mod _core {
    use std::collections::HashMap;

    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    use super::options::names;
    use super::queue::GivenOptions;
    use bullrush::heartbeat::WorkerLoop;
    use bullrush::worker::options::WorkerOptions;

    #[pymodule_export]
    use super::arrow::{rows_as_json, PyAutoIds};
    #[pymodule_export]
    use super::completions::Completions;
    #[pymodule_export]
    use super::endpoint::{mask_url, read_url, PyUrlParts};
    #[pymodule_export]
    use super::events::{CoreEvents, CoreListening};
    #[pymodule_export]
    use super::hard_exit::{exit_after_signals, give_back_held};
    #[pymodule_export]
    use super::keys::PyQueueKey;
    #[pymodule_export]
    use super::notes::take_notes;
    #[pymodule_export]
    use super::notifications::CoreNotifications;
    #[pymodule_export]
    use super::pending::Pending;
    #[pymodule_export]
    use super::queue::{fits, CoreQueue, PyNewJobRecord, PyNewJobs, PyRowPlan};
    #[pymodule_export]
    use super::reader::{CoreReader, CoreReading};
    #[pymodule_export]
    use super::record::PyJobRecord;
    #[pymodule_export]
    use super::recorder::{CoreRecorder, PySeenEvents};
    #[pymodule_export]
    use super::route::{PyProfile, PyTarget};
    #[pymodule_export]
    use super::rows::{json_as_rows, PyRows};
    #[pymodule_export]
    use super::watch::ConnectionWatch;
    #[pymodule_export]
    use super::worker::{CoreWorker, PyWorkerEvent};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::notes::keep();
        module.add("QUEUE_KEYS", super::keys::table(module.py())?)?;
        module.add("BULLMQ_VERSION", bullrush::queue::VERSION)?;
        module.add("QUEUE_OPTIONS", PyTuple::new(module.py(), names::<GivenOptions>())?)?;
        module.add("WORKER_OPTIONS", PyTuple::new(module.py(), names::<WorkerOptions>())?)?;
        module.add("WORKER_LOOPS", PyTuple::new(module.py(), WorkerLoop::ALL.map(WorkerLoop::name))?)?;
        module.add("RECORDED_EVENTS", PyTuple::new(module.py(), super::recorder::kinds())?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// The wall clock in ms.
    #[pyfunction]
    fn now_ms() -> i64 {
        bullrush::clock::now_ms()
    }

    #[pyfunction]
    #[pyo3(signature = (at))]
    fn stop_clock(at: Option<i64>) {
        bullrush::clock::stop(at);
    }

    #[pyfunction]
    fn advance_clock(ms: i64) {
        bullrush::clock::advance(ms);
    }

    /// Check a pattern and a time zone as for a job scheduler.
    #[pyfunction]
    fn check_cron(py: Python<'_>, pattern: String, tz: String) -> PyResult<()> {
        let repeat =
            bullrush::protocol::schedule::Repeat { pattern: Some(pattern), tz: Some(tz), ..Default::default() };
        repeat.check(bullrush::clock::now_ms()).map_err(|error| super::errors::to_py_err(py, &error))
    }

    /// When a cron pattern fires next after a moment, both in ms.
    #[pyfunction]
    #[pyo3(signature = (pattern, tz, after, skips_lost_midnights=false))]
    fn cron_next(
        py: Python<'_>,
        pattern: &str,
        tz: Option<&str>,
        after: i64,
        skips_lost_midnights: bool,
    ) -> PyResult<Option<i64>> {
        let cron = bullrush::protocol::cron::Cron::parse(pattern, tz);
        let cron = cron.map_err(|error| super::errors::to_py_err(py, &error))?;
        Ok(cron.skipping_lost_midnights(skips_lost_midnights).next_after(after))
    }

    #[pyfunction]
    fn route_base(queue: &str) -> Option<&str> {
        bullrush::protocol::route::split_name(queue).map(|(base, _)| base)
    }

    #[pyfunction]
    fn in_sample(job_id: &str, share: u32) -> bool {
        bullrush::recorder::in_sample(job_id, share)
    }

    /// The slot of a key on a cluster.
    #[pyfunction]
    fn key_slot(key: &str) -> u16 {
        bullrush::protocol::keys::slot(key)
    }

    #[pyfunction]
    fn is_reserved_id(id: &str) -> bool {
        bullrush::protocol::key_table::is_reserved(id)
    }

    #[pyfunction]
    fn is_key_of_queue(name: &str) -> bool {
        bullrush::protocol::key_table::is_of_the_queue(name)
    }

    #[pyfunction]
    fn owner_of_key(name: &str) -> &str {
        bullrush::protocol::key_table::owner_of(name)
    }

    #[pyfunction]
    fn script_sources() -> HashMap<String, (&'static str, &'static str)> {
        let scripts = bullrush::scripts::ALL.iter();
        scripts.map(|script| (script.name.to_owned(), (script.source(), script.sha()))).collect()
    }

    #[pyfunction]
    fn script_contracts() -> HashMap<String, &'static str> {
        bullrush::scripts::ALL.iter().map(|script| (script.name.to_owned(), script.contract)).collect()
    }
}
