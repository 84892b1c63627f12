//! Adding jobs.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::super::arrow::{self, PyAutoIds};
use super::super::convert::Reply;
use super::super::pending::Pending;
use super::CoreQueue;
use crate::arrow::RowPlan;
use crate::protocol::{JobBatch, NewJob};

/// What Python passes per job: name, data, opts, id, timestamp, delay, priority, lifo.
type PyNewJob<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<Bound<'py, PyAny>>, i64, i64, i64, bool);

#[pymethods]
impl CoreQueue {
    fn add_jobs(&self, jobs: Vec<PyNewJob<'_>>) -> PyResult<Pending> {
        let mut batch = JobBatch::new();
        for (name, data, opts, id, timestamp, delay, priority, lifo) in &jobs {
            let id = id.as_ref().map(|id| id.extract::<std::borrow::Cow<'_, str>>()).transpose()?;
            batch.push(NewJob {
                name: &name.extract::<std::borrow::Cow<'_, str>>()?,
                data: data.as_bytes(),
                opts: opts.as_bytes(),
                id: id.as_deref(),
                timestamp: *timestamp,
                delay: *delay,
                priority: *priority,
                lifo: *lifo,
            });
        }
        Ok(self.add_batch(batch))
    }

    #[pyo3(signature = (source, name, name_column, data_columns, id_column, auto_ids, opts, timestamp, delay, priority, lifo))]
    #[allow(clippy::too_many_arguments)]
    fn add_arrow(
        &self,
        source: &Bound<'_, PyAny>,
        name: Option<&str>,
        name_column: Option<String>,
        data_columns: Option<Vec<String>>,
        id_column: Option<String>,
        auto_ids: Option<&PyAutoIds>,
        opts: &Bound<'_, PyBytes>,
        timestamp: i64,
        delay: i64,
        priority: i64,
        lifo: bool,
    ) -> PyResult<Pending> {
        let plan = RowPlan { name: name_column, id: id_column, data: data_columns };
        let rows = arrow::rows(source, &plan, auto_ids)?;
        // Unused when a column gives the names.
        let name = name.unwrap_or_default();
        let common = NewJob { name, data: b"", opts: opts.as_bytes(), id: None, timestamp, delay, priority, lifo };
        let batch = source.py().detach(|| {
            let bytes = rows.iter().map(|rows| rows.len() * 128).sum();
            let mut batch = JobBatch::with_capacity(rows.iter().map(|rows| rows.len()).sum(), bytes);
            rows.iter().flat_map(|rows| rows.jobs(common)).for_each(|job| batch.push(job));
            batch
        });
        Ok(self.add_batch(batch))
    }
}

impl CoreQueue {
    fn add_batch(&self, batch: JobBatch) -> Pending {
        self.start(|queue| async move {
            let added = queue.add_jobs(batch).await?;
            Ok(Reply::Added(added.ids, added.duplicates))
        })
    }
}
