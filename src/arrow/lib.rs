//! Rows of Arrow batches as jobs: data JSON, names and ids of all rows in three buffers, without an allocation per row.
//!
//! The JSON rules (`json`) and the id rules (`ids`) are part of the public contract: automatic ids are hashes of the
//! encoded row, so a change of one byte would make a retried task add its jobs a second time.

mod columns;
mod ids;
mod import;
mod intervals;
mod json;
pub mod jobs;
pub mod read;
#[cfg(test)]
mod tests;
mod utf8;
mod variant;

use std::collections::{BTreeSet, HashSet};

use arrow_array::RecordBatch;

pub use columns::{OwnOptions, Parent, RowOptions};
pub use ids::AutoIds;
pub use import::{batch, export, schema, stream, Batches};

use bullrush::error::Error;
use bullrush::protocol::NewJob;

/// Where the name of a job comes from.
#[derive(Debug, Clone)]
pub enum JobName {
    Common(String),
    Column(String),
}

/// What becomes of the columns.
#[derive(Debug, Clone)]
pub struct RowPlan {
    pub name: JobName,
    /// Column with the custom job id.
    pub id: Option<String>,
    /// Columns of the job data, in this order; `None` = all columns.
    pub data: Option<Vec<String>>,
    /// Column with more options of each job, as a struct or as JSON.
    pub opts: Option<String>,
    pub priority: Option<String>,
    pub delay: Option<String>,
    pub parent: Option<String>,
    /// Write 64-bit integers as strings, since Node rounds numbers beyond 2^53.
    pub longs_as_strings: bool,
    /// Leave out rows that cannot be a job, instead of refusing the batch.
    pub skip_invalid: bool,
}

impl Default for RowPlan {
    fn default() -> Self {
        RowPlan {
            name: JobName::Common(String::new()),
            id: None,
            data: None,
            opts: None,
            priority: None,
            delay: None,
            parent: None,
            longs_as_strings: false,
            skip_invalid: false,
        }
    }
}

impl RowPlan {
    /// Return whether a column becomes a part of the jobs.
    fn uses(&self, column: &str) -> bool {
        let name = match &self.name {
            JobName::Column(name) => Some(name),
            JobName::Common(_) => None,
        };
        let others = [self.id.as_ref(), self.opts.as_ref(), self.priority.as_ref(), self.delay.as_ref()];
        let mut roles = others.into_iter().chain([self.parent.as_ref(), name]).flatten();
        let is_data = |columns: &Vec<String>| columns.iter().any(|known| known == column);
        self.data.as_ref().is_none_or(is_data) || roles.any(|role| role == column)
    }
}

/// The rows that cannot be jobs.
#[derive(Debug, Default)]
pub struct Invalid {
    skip: bool,
    rows: BTreeSet<usize>,
}

impl Invalid {
    /// Note a row; an error if such rows are not to be left out.
    ///
    /// # Errors
    /// `InvalidOption` with the reason.
    pub fn add(&mut self, row: usize, why: impl FnOnce() -> String) -> Result<(), Error> {
        if !self.skip {
            return Err(Error::InvalidOption(why()));
        }
        self.rows.insert(row);
        Ok(())
    }

    /// Return whether a row is left out.
    pub fn has(&self, row: usize) -> bool {
        self.rows.contains(&row)
    }

    /// Return how many rows are left out.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Return whether no row is left out.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The jobs of one batch. Owns its bytes: another thread may send it after the batch was dropped.
#[derive(Debug)]
pub struct Rows {
    data: Texts,
    names: Option<Texts>,
    ids: Option<Texts>,
    pub options: Option<RowOptions>,
    pub invalid: Invalid,
}

impl Rows {
    /// Return the number of jobs.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Return whether there is no job.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return whether the data of no job is longer than this.
    pub fn fit(&self, limit: Option<u64>) -> bool {
        let Some(limit) = limit else { return true };
        self.data.bytes.len() as u64 <= limit || (0..self.len()).all(|row| self.data(row).len() as u64 <= limit)
    }

    /// Return the data JSON of one job.
    pub fn data(&self, row: usize) -> &[u8] {
        self.data.get(row).as_bytes()
    }

    /// Return the name of one job, `None` when the plan has no name column.
    pub fn name(&self, row: usize) -> Option<&str> {
        self.names.as_ref().map(|names| names.get(row))
    }

    /// Return the custom id of one job, `None` when Redis' counter gives the ids.
    pub fn id(&self, row: usize) -> Option<&str> {
        self.ids.as_ref().map(|ids| ids.get(row))
    }

    /// Return the job of one row; `common` gives the values that the row does not have.
    pub fn job<'a>(&'a self, row: usize, common: NewJob<'a>) -> NewJob<'a> {
        NewJob {
            name: self.name(row).unwrap_or(common.name),
            data: self.data(row),
            id: self.id(row).or(common.id),
            ..common
        }
    }
}

/// Many strings in one buffer.
#[derive(Debug, Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    fn with_capacity(rows: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(rows) }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    /// End the string that was written to `bytes`.
    fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.end();
    }

    /// Return the same texts, empty in the rows that are left out.
    fn without(&self, invalid: &Invalid) -> Self {
        let mut out = Self::with_capacity(self.len(), self.bytes.len());
        (0..self.len()).for_each(|row| out.push(if invalid.has(row) { "" } else { self.get(row) }));
        out
    }

    fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        // Every writer of `bytes` writes complete UTF-8 strings; anything else is a bug.
        std::str::from_utf8(&self.bytes[start..self.ends[row]]).expect("job texts are UTF-8")
    }
}

/// Encode one batch.
///
/// `auto` gives the rows ids that depend on their content and not on their order; it must be the same over all batches
/// of one partition. An id column is preferred.
///
/// # Errors
/// `InvalidOption` when a column is missing or there twice, is null where a name or id is needed, or has a type that
/// JSON cannot hold; when a string is no UTF-8; and when an id is not a valid BullMQ id. Then the whole batch is
/// refused.
pub fn encode(batch: &RecordBatch, plan: &RowPlan, auto: Option<&mut AutoIds>) -> Result<Rows, Error> {
    refuse_twins(batch)?;
    let mut invalid = Invalid { skip: plan.skip_invalid, ..Invalid::default() };
    let without_bad = utf8::check(batch, plan, &mut invalid)?;
    let batch = without_bad.as_ref().unwrap_or(batch);
    let (common, names) = match &plan.name {
        JobName::Common(name) => (name.as_str(), None),
        JobName::Column(column) => ("", Some(columns::texts(batch, column, "name", &mut invalid)?)),
    };
    let mut data = match &plan.data {
        None => json::encode(batch, plan.longs_as_strings)?,
        Some(columns) => json::encode(&project(batch, columns)?, plan.longs_as_strings)?,
    };
    if without_bad.is_some() {
        // So that they do not count among rows of nulls when ids are given.
        data = data.without(&invalid);
    }
    let ids = match (&plan.id, auto) {
        (Some(column), _) => {
            Some(ids::from_column(column, &columns::texts(batch, column, "id", &mut invalid)?, &mut invalid)?)
        }
        (None, Some(auto)) => Some(auto.assign(&data, common, names.as_ref())),
        (None, None) => None,
    };
    let options = RowOptions::read(batch, plan, &mut invalid)?;
    Ok(Rows { data, names, ids, options, invalid })
}

fn refuse_twins(batch: &RecordBatch) -> Result<(), Error> {
    let schema = batch.schema();
    let mut seen = HashSet::new();
    match schema.fields().iter().find(|field| !seen.insert(field.name())) {
        None => Ok(()),
        Some(twin) => Err(Error::InvalidOption(format!("Two columns are named {:?}", twin.name()))),
    }
}

fn project(batch: &RecordBatch, columns: &[String]) -> Result<RecordBatch, Error> {
    let indices = columns.iter().map(|column| index_of(batch, column)).collect::<Result<Vec<_>, _>>()?;
    batch.project(&indices).map_err(|error| Error::InvalidOption(error.to_string()))
}

fn index_of(batch: &RecordBatch, column: &str) -> Result<usize, Error> {
    batch.schema().index_of(column).map_err(|_| {
        let schema = batch.schema();
        let known: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        Error::InvalidOption(format!("No column {column:?}; there are {}", known.join(", ")))
    })
}
