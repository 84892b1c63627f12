//! Many jobs on their way in: made from Python's objects in one pass, in one buffer, which the records of the jobs share.

use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use memchr::memmem;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::super::output::Output;
use super::new_job::{with_job, PyLink, PyNewJob, NO_LINK};
use crate::protocol::{JobBatch, NewJob};

const NO_DATA: &[u8] = b"{}";
const NULL: &[u8] = b"null";

/// What was sent, and the ids once they are known.
#[derive(Default)]
pub struct Sent {
    pub batch: JobBatch,
    /// Of the few jobs that belong to others: position and link.
    pub links: Vec<(usize, Arc<PyLink>)>,
    pub ids: OnceLock<Vec<String>>,
}

impl Sent {
    fn push(&mut self, job: NewJob<'_>, link: Option<&Arc<PyLink>>) {
        self.links.extend(link.map(|link| (self.batch.len(), link.clone())));
        self.batch.push(job);
    }

    pub fn arrived(&self, ids: Vec<String>) -> Output {
        // Empty so far: the same jobs are not added twice.
        let _ = self.ids.set(ids);
        Output::Nothing
    }

    pub fn link(&self, position: usize) -> Option<&PyLink> {
        let found = self.links.binary_search_by_key(&position, |(position, _)| *position).ok()?;
        Some(&self.links[found].1)
    }
}

#[pyclass(frozen, name = "NewJobs", module = "bullrush._core")]
pub struct PyNewJobs(pub Arc<Sent>);

#[pymethods]
impl PyNewJobs {
    /// `compile` turns options into `CompiledOptions` and an id; `prepare` takes the jobs that need a closer look.
    #[new]
    fn new(
        jobs: &Bound<'_, PyAny>,
        timestamp: i64,
        compile: &Bound<'_, PyAny>,
        prepare: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let mut maker = Maker {
            sent: Sent::default(),
            timestamp,
            encode: Encode::new(jobs.py())?,
            compile,
            plain: Rc::new(Compiled::of(&compile.call1((PyDict::new(jobs.py()),))?)?),
            // A generator may change the same options between two jobs.
            reusable: jobs.is_exact_instance_of::<PyList>(),
            last: None,
        };
        for job in jobs.try_iter()? {
            let job = job?;
            if !maker.push(&job)? {
                maker.push_prepared(&prepare.call1((job, timestamp))?)?;
            }
        }
        Ok(Self(Arc::new(maker.sent)))
    }

    fn __len__(&self) -> usize {
        self.0.batch.len()
    }

    /// The names of the first jobs.
    fn names(&self, most: usize) -> Vec<String> {
        (0..self.0.batch.len().min(most)).map(|position| self.0.batch.job(position).name.to_owned()).collect()
    }

    /// A record per job; their ids are known once the jobs were added.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let records = (0..self.0.batch.len()).map(|position| PyNewJobRecord { sent: self.0.clone(), position });
        let records: PyResult<Vec<_>> = records.map(|record| Bound::new(py, record)).collect();
        PyList::new(py, records?)
    }
}

/// Options as they are sent with each of their jobs.
struct Compiled<'py> {
    stored: Bound<'py, PyBytes>,
    timestamp: i64,
    delay: i64,
    priority: i64,
    lifo: bool,
    size_limit: Option<u64>,
    link: Option<Arc<PyLink>>,
    job_id: Option<String>,
}

impl<'py> Compiled<'py> {
    fn of(compiled: &Bound<'py, PyAny>) -> PyResult<Self> {
        type Options<'py> = (Bound<'py, PyBytes>, i64, i64, i64, bool, Option<u64>, Option<PyLink>);
        let (options, job_id): (Options<'py>, _) = compiled.extract()?;
        let (stored, timestamp, delay, priority, lifo, size_limit, link) = options;
        Ok(Self { stored, timestamp, delay, priority, lifo, size_limit, link: link.map(Arc::new), job_id })
    }
}

/// orjson, called as `bullrush.values.encoding` calls it.
struct Encode<'py> {
    dumps: Bound<'py, PyAny>,
    options: Bound<'py, PyAny>,
}

impl<'py> Encode<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        let orjson = py.import("orjson")?;
        Ok(Self { dumps: orjson.getattr("dumps")?, options: orjson.getattr("OPT_PASSTHROUGH_DATETIME")? })
    }

    /// A value as JSON; `None` when it is not JSON, or may have a number in it that is none.
    fn call(&self, value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
        let json = self.dumps.call1((value, value.py().None(), &self.options)).ok()?.cast_into::<PyBytes>().ok()?;
        let suspicious = !value.is_none() && memmem::find(json.as_bytes(), NULL).is_some();
        (!suspicious).then_some(json)
    }
}

struct Maker<'a, 'py> {
    sent: Sent,
    timestamp: i64,
    encode: Encode<'py>,
    compile: &'a Bound<'py, PyAny>,
    plain: Rc<Compiled<'py>>,
    reusable: bool,
    last: Option<(Bound<'py, PyAny>, Rc<Compiled<'py>>)>,
}

impl<'py> Maker<'_, 'py> {
    /// Appends a job as most are; false, with nothing done, for one that needs a closer look.
    fn push(&mut self, job: &Bound<'py, PyAny>) -> PyResult<bool> {
        let py = job.py();
        let Ok(job) = job.cast_exact::<PyDict>() else { return Ok(false) };
        let name = job.get_item(intern!(py, "name"))?;
        let data = job.get_item(intern!(py, "data"))?;
        let opts = job.get_item(intern!(py, "opts"))?;
        let known = [&name, &data, &opts].into_iter().flatten().count();
        let Some(Ok(name)) = name.as_ref().map(|name| name.cast::<PyString>()?.to_str()) else { return Ok(false) };
        let json = data.as_ref().map(|value| self.encode.call(value));
        let data = match &json {
            None => NO_DATA,
            Some(Some(json)) => json.as_bytes(),
            Some(None) => return Ok(false),
        };
        if known != job.len() {
            return Ok(false);
        }
        let compiled = match opts {
            Some(opts) if opts.is_truthy()? => self.compiled(opts)?,
            _ => self.plain.clone(),
        };
        if compiled.size_limit.is_some_and(|limit| data.len() as u64 > limit) {
            return Ok(false);
        }
        let job = NewJob {
            name,
            data,
            opts: compiled.stored.as_bytes(),
            id: compiled.job_id.as_deref(),
            timestamp: if compiled.timestamp == 0 { self.timestamp } else { compiled.timestamp },
            delay: compiled.delay,
            priority: compiled.priority,
            lifo: compiled.lifo,
        };
        self.sent.push(job, compiled.link.as_ref());
        Ok(true)
    }

    fn compiled(&mut self, opts: Bound<'py, PyAny>) -> PyResult<Rc<Compiled<'py>>> {
        if let Some((_, compiled)) = self.last.as_ref().filter(|(last, _)| self.reusable && last.is(&opts)) {
            return Ok(compiled.clone());
        }
        let compiled = Rc::new(Compiled::of(&self.compile.call1((&opts,))?)?);
        self.last = Some((opts, compiled.clone()));
        Ok(compiled)
    }

    fn push_prepared(&mut self, prepared: &Bound<'py, PyAny>) -> PyResult<()> {
        let (job, link): (PyNewJob<'_>, Option<PyLink>) = prepared.extract()?;
        with_job(&job, |job| self.sent.push(job, link.map(Arc::new).as_ref()))
    }
}

/// One job of many as it was sent.
#[pyclass(frozen, name = "NewJobRecord", module = "bullrush._core")]
pub struct PyNewJobRecord {
    sent: Arc<Sent>,
    position: usize,
}

impl PyNewJobRecord {
    fn job(&self) -> NewJob<'_> {
        self.sent.batch.job(self.position)
    }
}

#[pymethods]
impl PyNewJobRecord {
    #[classattr]
    #[pyo3(name = "token")]
    const TOKEN: Option<&'static str> = None;
    #[classattr]
    #[pyo3(name = "cancelled")]
    const CANCELLED: bool = false;
    #[classattr]
    #[pyo3(name = "cancel_reason")]
    const CANCEL_REASON: Option<&'static str> = None;

    #[getter]
    fn id(&self) -> &str {
        self.sent.ids.get().and_then(|ids| ids.get(self.position)).map_or("", String::as_str)
    }

    #[getter]
    fn name(&self) -> &str {
        self.job().name
    }

    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.job().data)
    }

    /// As the script stores them, which takes the options of many jobs and the id of each.
    #[getter]
    fn opts<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let NewJob { opts, id, .. } = self.job();
        match id {
            None => PyBytes::new(py, opts),
            Some(id) => {
                let id = serde_json::Value::from(id);
                PyBytes::new(py, &[&opts[..opts.len() - 1], format!(",\"jobId\":{id}}}").as_bytes()].concat())
            }
        }
    }

    fn get<'py>(&self, py: Python<'py>, field: &str) -> Option<Bound<'py, PyBytes>> {
        let NewJob { timestamp, delay, priority, .. } = self.job();
        let (_, _, _, parent, deduplication) = self.sent.link(self.position).unwrap_or(&NO_LINK);
        let value = match field {
            "timestamp" => timestamp.to_string(),
            "delay" => delay.to_string(),
            "priority" => priority.to_string(),
            "parentKey" => parent.as_ref()?.0.clone(),
            "parent" => parent.as_ref()?.1.clone(),
            "deid" => deduplication.as_ref()?.0.clone(),
            _ => return None,
        };
        Some(PyBytes::new(py, value.as_bytes()))
    }
}
