//! The options of jobs as Python compiled them: `CompiledOptions` and what it consists of.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The parent of a job.
#[derive(Clone, Debug, FromPyObject)]
pub struct Parent {
    pub key: String,
    /// What the job's field `parent` holds.
    pub json: String,
}

/// The deduplication of a job.
#[derive(Clone, Debug, FromPyObject)]
pub struct Deduplication {
    pub id: String,
    /// In ms; 0 is none.
    pub ttl: i64,
    /// The letters e, r, k for extend, replace and keepLastIfActive.
    pub flags: String,
}

/// What relates a job to others by its options.
#[derive(Clone, Debug, Default, FromPyObject)]
pub struct Relations {
    pub parent: Option<Parent>,
    pub deduplication: Option<Deduplication>,
}

/// What relates a job to others: by its options, or as a part of a flow.
#[derive(Clone, Debug, Default)]
pub struct Link {
    pub relations: Relations,
    /// The beginning of the keys of its queue, with the colon; "" is the queue of the call.
    pub queue: String,
    /// Its id was generated, and is not stored in its options.
    pub made: bool,
    /// It waits for children.
    pub is_parent: bool,
}

/// A job without relations.
pub static NO_LINK: Link = Link {
    relations: Relations { parent: None, deduplication: None },
    queue: String::new(),
    made: false,
    is_parent: false,
};

/// The options of one or more jobs, as they are sent.
pub struct Compiled {
    pub stored: Vec<u8>,
    pub timestamp: i64,
    pub delay: i64,
    pub priority: i64,
    pub lifo: bool,
    pub size_limit: Option<u64>,
    pub link: Option<Arc<Link>>,
    pub job_id: Option<String>,
}

#[derive(FromPyObject)]
struct Options<'py> {
    stored: Bound<'py, PyBytes>,
    timestamp: i64,
    delay: i64,
    priority: i64,
    lifo: bool,
    size_limit: Option<u64>,
    relations: Option<Relations>,
}

impl Compiled {
    /// Reads `(CompiledOptions, id)`.
    pub fn of(compiled: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (options, job_id): (Options<'_>, Option<String>) = compiled.extract()?;
        let Options { stored, timestamp, delay, priority, lifo, size_limit, relations } = options;
        let link = relations.map(|relations| Arc::new(Link { relations, ..Link::default() }));
        let job_id = job_id.filter(|id| !id.is_empty());
        Ok(Self { stored: stored.as_bytes().to_vec(), timestamp, delay, priority, lifo, size_limit, link, job_id })
    }

    /// The time of the add: its own, or `now`.
    pub fn timestamp(&self, now: i64) -> i64 {
        if self.timestamp == 0 {
            now
        } else {
            self.timestamp
        }
    }
}
