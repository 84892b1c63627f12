//! Rows of Arrow batches as jobs: data JSON, names and ids of all rows in three buffers, without an allocation per row.
//!
//! The JSON rules (`json`) and the id rules (`ids`) are part of the public contract: automatic ids are hashes of the
//! encoded row, so a change of one byte would make a retried task add its jobs a second time.

mod ids;
mod import;
mod json;
pub mod read;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;

pub use ids::AutoIds;
pub use import::{batch, export, schema, stream, Batches};

use crate::error::Error;
use crate::protocol::NewJob;

/// Which columns hold the name, the id and the data.
#[derive(Debug, Clone, Default)]
pub struct RowPlan {
    /// Column with the job name; without it all jobs have the caller's name.
    pub name: Option<String>,
    /// Column with the custom job id.
    pub id: Option<String>,
    /// Columns of the job data, in this order; `None` = all columns.
    pub data: Option<Vec<String>>,
}

/// The jobs of one batch. Owns its bytes: another thread may send it after the batch was dropped.
#[derive(Debug)]
pub struct Rows {
    data: Texts,
    names: Option<Texts>,
    ids: Option<Texts>,
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

    /// Iterate over the jobs; `common` gives the values that the rows do not have.
    pub fn jobs<'a>(&'a self, common: NewJob<'a>) -> impl ExactSizeIterator<Item = NewJob<'a>> + 'a {
        (0..self.len()).map(move |row| NewJob {
            name: self.name(row).unwrap_or(common.name),
            data: self.data(row),
            id: self.id(row).or(common.id),
            ..common
        })
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
/// `InvalidOption` when a column is missing or there twice, is null where a name or id is needed, or has a type that JSON
/// cannot hold; and when an id is not a valid BullMQ id. Then the whole batch is refused.
pub fn encode(batch: &RecordBatch, plan: &RowPlan, auto: Option<&mut AutoIds>) -> Result<Rows, Error> {
    refuse_twins(batch)?;
    let names = plan.name.as_deref().map(|column| texts(batch, column, "name")).transpose()?;
    let data = match &plan.data {
        None => json::encode(batch)?,
        Some(columns) => json::encode(&project(batch, columns)?)?,
    };
    let ids = match (&plan.id, auto) {
        (Some(column), _) => Some(ids::from_column(column, &texts(batch, column, "id")?)?),
        (None, Some(auto)) => Some(auto.assign(&data, names.as_ref())),
        (None, None) => None,
    };
    Ok(Rows { data, names, ids })
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

/// Return a column of strings or integers as strings, without nulls.
fn texts(batch: &RecordBatch, column: &str, role: &str) -> Result<Texts, Error> {
    let array: &ArrayRef = batch.column(index_of(batch, column)?);
    let value_type = match array.data_type() {
        DataType::Dictionary(_, value) => value.as_ref(),
        other => other,
    };
    let usable = match value_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        other => role == "id" && other.is_integer(),
    };
    if !usable {
        return Err(Error::InvalidOption(format!("Column {column:?} cannot be the job {role}: it holds {value_type}")));
    }
    let strings = cast(array, &DataType::Utf8).map_err(|error| Error::InvalidOption(error.to_string()))?;
    let strings: &StringArray = strings.as_string();
    if let Some(row) = (0..strings.len()).find(|&row| strings.is_null(row)) {
        return Err(Error::InvalidOption(format!("Column {column:?} is null in row {row}: every job needs a {role}")));
    }
    let mut out = Texts::with_capacity(strings.len(), strings.values().len());
    for row in 0..strings.len() {
        out.push(strings.value(row));
    }
    Ok(out)
}
