//! Targets of jobs and profiles of workers.

use pyo3::prelude::*;

use super::errors::to_py_err;
use bullrush::error::{Error, Result};
use bullrush::protocol::route::{self, Fallback, Mode, NewFallback, Profile, RouteEntry, Target};

/// What a job needs, and what is to become of its route's jobs that nobody takes.
#[pyclass(frozen, name = "CoreTarget", module = "bullrush._core")]
pub struct PyTarget {
    pub target: Target,
    pub fallback: NewFallback,
}

/// What a job needs, as Python checked it.
#[derive(FromPyObject)]
struct Criteria {
    server: Option<String>,
    stack: Vec<String>,
    capabilities: Vec<String>,
    region: Vec<String>,
    mode: String,
}

impl PyTarget {
    fn plain(target: Target) -> Self {
        Self { target, fallback: NewFallback::Unchanged }
    }

    fn of_entry(slug: &str, json: &str) -> Result<Self> {
        let RouteEntry { target, fallback } = RouteEntry::parse(slug, json)?;
        Ok(Self { target, fallback: fallback.map_or(NewFallback::Unchanged, NewFallback::Set) })
    }
}

#[pymethods]
impl PyTarget {
    #[new]
    #[pyo3(signature = (criteria, *, fallback_after=None, fallback=None))]
    fn new(py: Python<'_>, criteria: Criteria, fallback_after: Option<i64>, fallback: Option<&Self>) -> PyResult<Self> {
        let Criteria { server, stack, capabilities, region, mode } = criteria;
        let mode = Mode::parse(&mode).ok_or_else(|| Error::InvalidOption(format!("There is no mode {mode:?}")));
        let target = mode.and_then(|mode| Target::new(server, stack, capabilities, region, mode));
        let fallback = match fallback_after {
            None => NewFallback::Unchanged,
            Some(..=0) => NewFallback::Off,
            Some(after) => {
                NewFallback::Set(Fallback { after, to: fallback.map(|to| to.target.clone()).unwrap_or_default() })
            }
        };
        Ok(Self { target: target.map_err(|error| to_py_err(py, &error))?, fallback })
    }

    /// A route as the registry has it.
    #[staticmethod]
    fn parse(py: Python<'_>, slug: &str, json: &str) -> PyResult<Self> {
        Self::of_entry(slug, json).map_err(|error| to_py_err(py, &error))
    }

    #[getter]
    fn slug(&self) -> String {
        self.target.slug()
    }

    #[getter]
    fn canonical(&self) -> String {
        self.target.canonical()
    }

    #[getter]
    fn tier(&self) -> &'static str {
        self.target.tier().name()
    }

    #[getter]
    fn criteria(&self) -> usize {
        self.target.criteria()
    }

    #[getter]
    fn fallback_after(&self) -> Option<i64> {
        match &self.fallback {
            NewFallback::Unchanged => None,
            NewFallback::Off => Some(0),
            NewFallback::Set(fallback) => Some(fallback.after),
        }
    }

    #[getter]
    fn fallback(&self) -> Option<Self> {
        match &self.fallback {
            NewFallback::Set(fallback) => Some(Self::plain(fallback.to.clone())),
            _ => None,
        }
    }

    fn matches(&self, profile: &PyProfile) -> bool {
        self.target.matches(&profile.0)
    }

    fn implies(&self, other: &Self) -> bool {
        self.target.implies(&other.target)
    }

    pub fn queue_of(&self, base: &str) -> String {
        route::queue_of(base, &self.target.slug())
    }
}

/// What a worker has.
#[pyclass(frozen, name = "CoreProfile", module = "bullrush._core")]
pub struct PyProfile(pub Profile);

#[pymethods]
impl PyProfile {
    #[new]
    #[pyo3(signature = (server=None, stack=vec![], capabilities=vec![], region=vec![]))]
    fn new(
        py: Python<'_>,
        server: Option<String>,
        stack: Vec<String>,
        capabilities: Vec<String>,
        region: Vec<String>,
    ) -> PyResult<Self> {
        Profile::new(server, stack, capabilities, region).map(Self).map_err(|error| to_py_err(py, &error))
    }

    #[getter]
    fn canonical(&self) -> String {
        self.0.canonical()
    }

    fn self_routes(&self) -> Vec<PyTarget> {
        self.0.self_routes().into_iter().map(PyTarget::plain).collect()
    }
}
