//! How the rows of Arrow data become jobs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

use super::super::arrow::PyAutoIds;
use super::super::errors::to_py_err;
use super::super::options::read;
use super::compiled::Compiled;
use super::sent::Sent;
use bullrush::error::Error;
use bullrush::mutex::Mutex;
use bullrush::protocol::{due, JobBatch, NewJob};
use bullrush::queue::OomWait;
use bullrush_arrow::{JobName, OwnOptions, Parent, RowPlan, Rows};

/// Options that were compiled for earlier rows; it starts again empty when it has so many.
const MOST_KNOWN: usize = 10_000;

type Known = HashMap<(Option<String>, Option<i64>, Option<Parent>, bool), Arc<Compiled>>;

/// The plan of all batches of one writer.
#[pyclass(frozen, name = "RowPlan", module = "bullrush._core")]
pub struct PyRowPlan {
    pub plan: RowPlan,
    pub auto_ids: Option<Py<PyAutoIds>>,
    pub oom_wait: Option<Arc<OomWait>>,
    batch_id: Option<String>,
    /// Turns the options of a row into `CompiledOptions`.
    compile: Py<PyAny>,
    /// The options of rows that have none of their own.
    common: Arc<Compiled>,
    known: Mutex<Known>,
    skipped: AtomicU64,
}

/// Which columns rows have, and what all rows have in common.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Columns {
    name: Option<String>,
    name_column: Option<String>,
    data: Option<Vec<String>>,
    id_column: Option<String>,
    batch_id: Option<String>,
    opts_column: Option<String>,
    priority_column: Option<String>,
    delay_column: Option<String>,
    parent_column: Option<String>,
    longs_as_strings: bool,
    skip_invalid: bool,
    wait_for_memory: bool,
}

#[pymethods]
impl PyRowPlan {
    #[new]
    #[pyo3(signature = (compile, columns, auto_ids=None))]
    fn new(compile: &Bound<'_, PyAny>, columns: &[u8], auto_ids: Option<Py<PyAutoIds>>) -> PyResult<Self> {
        let given: Columns = read(compile.py(), columns)?;
        let name = match given.name_column {
            Some(column) => JobName::Column(column),
            None => JobName::Common(given.name.unwrap_or_default()),
        };
        let plan = RowPlan {
            name,
            id: given.id_column,
            data: given.data,
            opts: given.opts_column,
            priority: given.priority_column,
            delay: given.delay_column,
            parent: given.parent_column,
            longs_as_strings: given.longs_as_strings,
            skip_invalid: given.skip_invalid,
        };
        Ok(Self {
            plan,
            auto_ids,
            oom_wait: given.wait_for_memory.then(Arc::default),
            batch_id: given.batch_id,
            common: Arc::new(self::compile(compile, &OwnOptions::default())?),
            compile: compile.clone().unbind(),
            known: Mutex::default(),
            skipped: AtomicU64::new(0),
        })
    }

    /// How many rows were left out.
    #[getter]
    fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    /// Whether a call has waited for memory of the server since the last look.
    fn has_waited(&self) -> bool {
        let waited = self.oom_wait.as_ref().is_some_and(|oom_wait| oom_wait.has_waited());
        self.oom_wait.iter().for_each(|oom_wait| oom_wait.forget());
        waited
    }
}

impl PyRowPlan {
    /// Makes the jobs of encoded rows; `now` is the time of the add.
    ///
    /// # Errors
    /// `InvalidOptionError` when a row cannot be a job and is not to be left out.
    pub fn jobs(&self, py: Python<'_>, batches: &[Rows], now: i64) -> PyResult<Sent> {
        let rows = batches.iter().map(Rows::len).sum();
        let batch = JobBatch::with_capacity(rows, rows * 128).counted_as(self.batch_id.as_deref());
        let mut sent = Sent { batch, ..Sent::default() };
        for rows in batches {
            let before = sent.batch.len();
            if rows.options.is_none() && rows.fit(self.common.size_limit) {
                py.detach(|| self.push_all(rows, now, &mut sent));
            } else {
                self.push_each(py, rows, now, &mut sent)?;
            }
            self.skipped.fetch_add((before + rows.len() - sent.batch.len()) as u64, Ordering::Relaxed);
        }
        Ok(sent)
    }

    /// Appends the rows, which all have the same options.
    fn push_all(&self, rows: &Rows, now: i64, sent: &mut Sent) {
        let common = self.job_of(&self.common, now);
        for row in (0..rows.len()).filter(|row| !rows.invalid.has(*row)) {
            sent.push(rows.job(row, common), self.common.link.as_ref());
        }
    }

    fn push_each(&self, py: Python<'_>, rows: &Rows, now: i64, sent: &mut Sent) -> PyResult<()> {
        let mut last = (OwnOptions::default(), self.common.clone());
        let mut with_delay = Vec::new();
        for row in (0..rows.len()).filter(|row| !rows.invalid.has(*row)) {
            let own = rows.options.as_ref().map(|options| options.of(row)).unwrap_or_default();
            let shared = OwnOptions { delay: own.delay.map(|_| 0), ..own.clone() };
            let pushed = (|| {
                if last.0 != shared {
                    last = (shared.clone(), self.compiled(py, &shared)?);
                }
                let compiled = &last.1;
                let mut job = rows.job(row, self.job_of(compiled, now));
                if let Some(delay) = own.delay {
                    with_delay.clear();
                    // Without the closing brace. There is always a member before: `attempts`.
                    with_delay.extend_from_slice(&compiled.stored[..compiled.stored.len() - 1]);
                    with_delay.extend_from_slice(format!(",\"delay\":{delay}}}").as_bytes());
                    (job.opts, job.delay) = (&with_delay, delay);
                    due::check_delay(job.timestamp, delay).map_err(|error| to_py_err(py, &error))?;
                }
                if let Some(limit) = compiled.size_limit.filter(|limit| job.data.len() as u64 > *limit) {
                    let why = format!("The size of job {} exceeds the limit {limit} bytes", job.name);
                    return Err(to_py_err(py, &Error::TooLarge(why)));
                }
                sent.push(job, compiled.link.as_ref());
                Ok(())
            })();
            match pushed {
                Err(error) if !self.plan.skip_invalid => return Err(with_row(py, &error, row)),
                Err(error) if !error.is_instance_of::<PyValueError>(py) => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn job_of<'a>(&'a self, compiled: &'a Compiled, now: i64) -> NewJob<'a> {
        let name = match &self.plan.name {
            JobName::Common(name) => name,
            JobName::Column(_) => "",
        };
        let Compiled { stored, delay, priority, lifo, .. } = compiled;
        let (timestamp, (delay, priority, lifo)) = (compiled.timestamp(now), (*delay, *priority, *lifo));
        NewJob { name, data: b"", opts: stored, id: None, timestamp, delay, priority, lifo }
    }

    /// The compiled options of a row, without its delay.
    fn compiled(&self, py: Python<'_>, own: &OwnOptions<'_>) -> PyResult<Arc<Compiled>> {
        let key = (own.opts.map(str::to_owned), own.priority, own.parent.cloned(), own.delay.is_some());
        if let Some(known) = self.known.lock().get(&key) {
            return Ok(known.clone());
        }
        let made = Arc::new(compile(self.compile.bind(py), own)?);
        let mut known = self.known.lock();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, made.clone());
        Ok(made)
    }
}

/// Calls Python's `compile(opts, priority, parent, delayed)`, which checks the options as those of one job.
fn compile(compile: &Bound<'_, PyAny>, own: &OwnOptions<'_>) -> PyResult<Compiled> {
    let parent = own.parent.map(|Parent { id, queue }| (id.as_str(), queue.as_deref()));
    Compiled::of(&compile.call1((own.opts, own.priority, parent, own.delay.is_some()))?)
}

/// The same error with the number of its row.
fn with_row(py: Python<'_>, error: &PyErr, row: usize) -> PyErr {
    let text = format!("{} (row {row} of its batch)", error.value(py));
    match error.get_type(py).call1((text,)) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
