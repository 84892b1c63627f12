//! The one encoder of jobs that Python adds, one or many, and their records, which share one buffer.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use memchr::memmem;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::super::errors::to_py_err;
use super::compiled::{Compiled, Link, NO_LINK};
use super::sent::Sent;
use bullrush::error::Error;
use bullrush::mutex::Mutex;
use bullrush::protocol::NewJob;

const NO_DATA: &[u8] = b"{}";
const NULL: &[u8] = b"null";

/// A job of a flow: where it goes, and how it stands in the flow.
#[derive(FromPyObject)]
struct FlowNode {
    queue: String,
    made_id: Option<String>,
    is_parent: bool,
}

/// The parts of a job that Python looked at.
#[derive(FromPyObject)]
struct Checked<'py> {
    name: Bound<'py, PyAny>,
    data: Bound<'py, PyAny>,
    options: Bound<'py, PyAny>,
}

enum State {
    Open(Sent),
    Sent(Arc<Sent>),
}

/// Jobs to add. It takes jobs until it is sent.
#[pyclass(frozen, name = "NewJobs", module = "bullrush._core")]
pub struct PyNewJobs {
    /// Never locked while Python code runs.
    state: Mutex<State>,
    timestamp: i64,
    /// Checks a name and encodes data where the quick way does not: it returns both, or raises.
    check: Py<PyAny>,
    left_out: Mutex<Vec<usize>>,
}

#[pymethods]
impl PyNewJobs {
    #[new]
    fn new(check: Py<PyAny>, timestamp: i64) -> Self {
        Self { state: Mutex::new(State::Open(Sent::default())), timestamp, check, left_out: Mutex::default() }
    }

    #[pyo3(signature = (name, data, options, node=None))]
    fn add(
        &self,
        name: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        options: &Bound<'_, PyAny>,
        node: Option<FlowNode>,
    ) -> PyResult<()> {
        let mut compiled = Compiled::of(options)?;
        if let Some(FlowNode { queue, made_id, is_parent }) = node {
            let relations = compiled.link.as_ref().map(|link| link.relations.clone()).unwrap_or_default();
            let made = compiled.job_id.is_none();
            compiled.link = Some(Arc::new(Link { relations, queue, made, is_parent }));
            compiled.job_id = compiled.job_id.or(made_id);
        }
        self.building(name.py(), |encoder, sent| encoder.push(sent, name, Some(data), &compiled))
    }

    /// `compile` turns options into `CompiledOptions` and an id. `odd` gets each job that is not a plain dict of name,
    /// data and opts, or that has a target: it returns the parts of the job, or `None` for a job that it has put
    /// elsewhere.
    fn extend(&self, jobs: &Bound<'_, PyAny>, compile: &Bound<'_, PyAny>, odd: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut left_out = Vec::new();
        self.building(jobs.py(), |encoder, sent| {
            let mut options = KnownOptions::new(compile, jobs.is_exact_instance_of::<PyList>())?;
            for job in jobs.try_iter()? {
                let job = job?;
                if encoder.push_plain(sent, &job, &mut options)? {
                    continue;
                }
                match odd.call1((job,))?.extract()? {
                    None => left_out.push(sent.batch.len() + left_out.len()),
                    Some(Checked { name, data, options }) => {
                        encoder.push(sent, &name, Some(&data), &Compiled::of(&options)?)?;
                    }
                }
            }
            Ok(())
        })?;
        *self.left_out.lock() = left_out;
        Ok(())
    }

    fn __len__(&self) -> usize {
        match &*self.state.lock() {
            State::Open(sent) => sent.batch.len(),
            State::Sent(sent) => sent.batch.len(),
        }
    }

    /// The positions of the jobs that `odd` has put elsewhere.
    fn left_out(&self) -> Vec<usize> {
        self.left_out.lock().clone()
    }

    /// The names of the first jobs.
    fn names(&self, most: usize) -> Vec<String> {
        let sent = self.seal();
        (0..sent.batch.len().min(most)).map(|position| sent.batch.job(position).name.to_owned()).collect()
    }

    /// The record of a job; it has an id once the jobs are added.
    fn record(&self, position: usize) -> PyNewJobRecord {
        PyNewJobRecord { sent: self.seal(), position }
    }

    /// A record per job; see `record`.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let sent = self.seal();
        let records = (0..sent.batch.len()).map(|position| PyNewJobRecord { sent: sent.clone(), position });
        let records: PyResult<Vec<_>> = records.map(|record| Bound::new(py, record)).collect();
        PyList::new(py, records?)
    }
}

impl PyNewJobs {
    /// The jobs as they are sent; no job can be added after this.
    pub fn seal(&self) -> Arc<Sent> {
        let mut state = self.state.lock();
        let sent = match &mut *state {
            State::Sent(sent) => return sent.clone(),
            State::Open(sent) => Arc::new(std::mem::take(sent)),
        };
        *state = State::Sent(sent.clone());
        sent
    }

    fn building<'py>(
        &self,
        py: Python<'py>,
        build: impl FnOnce(&Encoder<'py>, &mut Sent) -> PyResult<()>,
    ) -> PyResult<()> {
        let mut sent = match &mut *self.state.lock() {
            State::Open(sent) => std::mem::take(sent),
            State::Sent(_) => return Err(PyRuntimeError::new_err("these jobs were sent already")),
        };
        build(&Encoder::new(py, self)?, &mut sent)?;
        *self.state.lock() = State::Open(sent);
        Ok(())
    }
}

/// The options of a job among many: those of the job before are often the same object.
struct KnownOptions<'a, 'py> {
    compile: &'a Bound<'py, PyAny>,
    none: Rc<Compiled>,
    last: Option<(Bound<'py, PyAny>, Rc<Compiled>)>,
    /// A generator may change the same options between two jobs.
    reusable: bool,
}

impl<'a, 'py> KnownOptions<'a, 'py> {
    fn new(compile: &'a Bound<'py, PyAny>, reusable: bool) -> PyResult<Self> {
        let none = Rc::new(Compiled::of(&compile.call1((PyDict::new(compile.py()),))?)?);
        Ok(Self { compile, none, last: None, reusable })
    }

    /// `None` for options that are no dict, and for those of a job with a target, which goes to another queue.
    fn of(&mut self, opts: Option<Bound<'py, PyAny>>) -> PyResult<Option<Rc<Compiled>>> {
        let Some(opts) = opts else { return Ok(Some(self.none.clone())) };
        if let Some((_, compiled)) = self.last.as_ref().filter(|(last, _)| self.reusable && last.is(&opts)) {
            return Ok(Some(compiled.clone()));
        }
        if !opts.is_truthy()? {
            return Ok(Some(self.none.clone()));
        }
        match opts.cast::<PyDict>() {
            Ok(known) if !known.contains(intern!(opts.py(), "target"))? => {}
            _ => return Ok(None),
        }
        let compiled = Rc::new(Compiled::of(&self.compile.call1((&opts,))?)?);
        self.last = Some((opts, compiled.clone()));
        Ok(Some(compiled))
    }
}

/// Checks and encodes jobs.
struct Encoder<'py> {
    py: Python<'py>,
    dumps: &'py Py<PyAny>,
    dumps_options: &'py Py<PyAny>,
    check: Py<PyAny>,
    timestamp: i64,
}

impl<'py> Encoder<'py> {
    fn new(py: Python<'py>, jobs: &PyNewJobs) -> PyResult<Self> {
        // As `bullrush.values.encoding` calls it.
        static ORJSON: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();
        let (dumps, dumps_options) = ORJSON.get_or_try_init(py, || {
            let orjson = py.import("orjson")?;
            PyResult::Ok((orjson.getattr("dumps")?.unbind(), orjson.getattr("OPT_PASSTHROUGH_DATETIME")?.unbind()))
        })?;
        Ok(Self { py, dumps, dumps_options, check: jobs.check.clone_ref(py), timestamp: jobs.timestamp })
    }

    /// A value as JSON; `None` when it is not JSON, or may contain NaN or an infinity, which orjson writes as null.
    fn json(&self, value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
        let json = self.dumps.bind(self.py).call1((value, self.py.None(), self.dumps_options)).ok()?;
        let json = json.cast_into::<PyBytes>().ok()?;
        let suspicious = !value.is_none() && memmem::find(json.as_bytes(), NULL).is_some();
        (!suspicious).then_some(json)
    }

    /// Appends a job of a plain dict; false, with nothing done, for another one.
    fn push_plain(
        &self,
        sent: &mut Sent,
        job: &Bound<'py, PyAny>,
        options: &mut KnownOptions<'_, 'py>,
    ) -> PyResult<bool> {
        let Ok(job) = job.cast_exact::<PyDict>() else { return Ok(false) };
        let name = job.get_item(intern!(self.py, "name"))?;
        let data = job.get_item(intern!(self.py, "data"))?;
        let opts = job.get_item(intern!(self.py, "opts"))?;
        if [&name, &data, &opts].into_iter().flatten().count() != job.len() {
            return Ok(false);
        }
        let Some(compiled) = options.of(opts)? else { return Ok(false) };
        let none = || self.py.None().into_bound(self.py);
        self.push(sent, &name.unwrap_or_else(none), data.as_ref(), &compiled)?;
        Ok(true)
    }

    fn push(
        &self,
        sent: &mut Sent,
        name: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        compiled: &Compiled,
    ) -> PyResult<()> {
        let quick_name = name.cast::<PyString>().ok().and_then(|name| name.to_str().ok());
        let quick_json = data.map(|data| self.json(data));
        match (quick_name, quick_json) {
            (Some(name), None) => self.append(sent, name, NO_DATA, compiled),
            (Some(name), Some(Some(json))) => self.append(sent, name, json.as_bytes(), compiled),
            _ => {
                let checked = self.check.bind(self.py).call1((name, data))?;
                let (name, json): (String, Bound<'py, PyBytes>) = checked.extract()?;
                self.append(sent, &name, json.as_bytes(), compiled)
            }
        }
    }

    fn append(&self, sent: &mut Sent, name: &str, data: &[u8], compiled: &Compiled) -> PyResult<()> {
        if let Some(limit) = compiled.size_limit.filter(|limit| data.len() as u64 > *limit) {
            let why = format!("The size of job {name} exceeds the limit {limit} bytes");
            return Err(to_py_err(self.py, &Error::TooLarge(why)));
        }
        let job = NewJob {
            name,
            data,
            opts: &compiled.stored,
            id: compiled.job_id.as_deref(),
            timestamp: compiled.timestamp(self.timestamp),
            delay: compiled.delay,
            priority: compiled.priority,
            lifo: compiled.lifo,
        };
        sent.push(job, compiled.link.as_ref());
        Ok(())
    }
}

/// One of the jobs as it was sent.
#[pyclass(frozen, name = "NewJobRecord", module = "bullrush._core", skip_from_py_object)]
#[derive(Clone)]
pub struct PyNewJobRecord {
    sent: Arc<Sent>,
    position: usize,
}

impl PyNewJobRecord {
    /// The record of the first job.
    pub fn first(sent: Arc<Sent>) -> Self {
        Self { sent, position: 0 }
    }

    fn job(&self) -> NewJob<'_> {
        self.sent.batch.job(self.position)
    }

    fn link(&self) -> &Link {
        self.sent.link(self.position).unwrap_or(&NO_LINK)
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

    /// As the script stores them: the shared options with the id of the job.
    #[getter]
    fn opts<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let NewJob { opts, id, .. } = self.job();
        match id.filter(|_| !self.link().made) {
            None => PyBytes::new(py, opts),
            Some(id) => {
                let id = serde_json::Value::from(id);
                PyBytes::new(py, &[&opts[..opts.len() - 1], format!(",\"jobId\":{id}}}").as_bytes()].concat())
            }
        }
    }

    fn get<'py>(&self, py: Python<'py>, field: &str) -> Option<Bound<'py, PyBytes>> {
        let NewJob { timestamp, delay, priority, .. } = self.job();
        let relations = &self.link().relations;
        let value: Cow<'_, str> = match field {
            "timestamp" => timestamp.to_string().into(),
            "delay" => delay.to_string().into(),
            "priority" => priority.to_string().into(),
            "parentKey" => relations.parent.as_ref()?.key.as_str().into(),
            "parent" => relations.parent.as_ref()?.json.as_str().into(),
            "deid" => relations.deduplication.as_ref()?.id.as_str().into(),
            "rjk" => self.sent.scheduler_id.as_deref()?.into(),
            _ => return None,
        };
        Some(PyBytes::new(py, value.as_bytes()))
    }
}
