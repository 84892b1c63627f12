//! Encodes many jobs of Python.

use std::rc::Rc;
use std::sync::Arc;

use memchr::memmem;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::compiled::Compiled;
use super::new_job::{with_job, PyLink, PyNewJob};
use super::sent::Sent;
use crate::protocol::NewJob;

const NO_DATA: &[u8] = b"{}";
const NULL: &[u8] = b"null";

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

    /// A value as JSON; `None` when it is not JSON, or may contain NaN or an infinity, which orjson writes as null.
    fn call(&self, value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
        let json = self.dumps.call1((value, value.py().None(), &self.options)).ok()?.cast_into::<PyBytes>().ok()?;
        let suspicious = !value.is_none() && memmem::find(json.as_bytes(), NULL).is_some();
        (!suspicious).then_some(json)
    }
}

/// Makes the jobs from Python's objects, in one pass.
pub(super) struct Maker<'a, 'py> {
    sent: Sent,
    timestamp: i64,
    encode: Encode<'py>,
    compile: &'a Bound<'py, PyAny>,
    plain: Rc<Compiled>,
    reusable: bool,
    last: Option<(Bound<'py, PyAny>, Rc<Compiled>)>,
    left_out: Vec<usize>,
}

impl<'a, 'py> Maker<'a, 'py> {
    /// The jobs, and the positions of those that `prepare` left out.
    pub fn make(
        jobs: &Bound<'py, PyAny>,
        timestamp: i64,
        compile: &'a Bound<'py, PyAny>,
        prepare: &Bound<'py, PyAny>,
    ) -> PyResult<(Sent, Vec<usize>)> {
        let mut maker = Maker {
            sent: Sent::default(),
            timestamp,
            encode: Encode::new(jobs.py())?,
            compile,
            plain: Rc::new(Compiled::of(&compile.call1((PyDict::new(jobs.py()),))?)?),
            // A generator may change the same options between two jobs.
            reusable: jobs.is_exact_instance_of::<PyList>(),
            last: None,
            left_out: Vec::new(),
        };
        for job in jobs.try_iter()? {
            let job = job?;
            if !maker.push(&job)? {
                maker.push_prepared(&prepare.call1((job, timestamp))?)?;
            }
        }
        Ok((maker.sent, maker.left_out))
    }

    /// Appends a plain job; false, with nothing done, for a job that `prepare` has to handle.
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
            Some(opts) if opts.is_truthy()? => match self.compiled(opts)? {
                Some(compiled) => compiled,
                None => return Ok(false),
            },
            _ => self.plain.clone(),
        };
        if compiled.size_limit.is_some_and(|limit| data.len() as u64 > limit) {
            return Ok(false);
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
        self.sent.push(job, compiled.link.as_ref());
        Ok(true)
    }

    /// `None` for the options of a job with a target, which goes to another queue.
    fn compiled(&mut self, opts: Bound<'py, PyAny>) -> PyResult<Option<Rc<Compiled>>> {
        if let Some((_, compiled)) = self.last.as_ref().filter(|(last, _)| self.reusable && last.is(&opts)) {
            return Ok(Some(compiled.clone()));
        }
        match opts.cast::<PyDict>() {
            Ok(known) if !known.contains(intern!(opts.py(), "target"))? => {}
            _ => return Ok(None),
        }
        let compiled = Rc::new(Compiled::of(&self.compile.call1((&opts,))?)?);
        self.last = Some((opts, compiled.clone()));
        Ok(Some(compiled))
    }

    fn push_prepared(&mut self, prepared: &Bound<'py, PyAny>) -> PyResult<()> {
        if prepared.is_none() {
            self.left_out.push(self.sent.batch.len() + self.left_out.len());
            return Ok(());
        }
        let (job, link): (PyNewJob<'_>, Option<PyLink>) = prepared.extract()?;
        with_job(&job, |job| self.sent.push(job, link.map(Arc::new).as_ref()))
    }
}
