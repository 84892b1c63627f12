//! Columns that are no data: names, ids, and what differs from job to job.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::{cast, cast_with_options, CastOptions};
use arrow_schema::{DataType, TimeUnit};

use super::{index_of, json, Invalid, RowPlan, Texts};
use bullrush::error::Error;

/// The largest whole number that Node represents exactly.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// What the columns say about each job; `None` = the column is null there, or there is no such column.
#[derive(Debug, Default)]
pub struct RowOptions {
    opts: Option<Vec<Option<String>>>,
    priority: Option<Vec<Option<i64>>>,
    delay: Option<Vec<Option<i64>>>,
    parent: Option<Vec<Option<Parent>>>,
}

/// The id of a job's parent, and its queue with the prefix; `None` = the queue of the job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parent {
    pub id: String,
    pub queue: Option<String>,
}

/// The options of one job that its row gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwnOptions<'a> {
    /// A JSON object.
    pub opts: Option<&'a str>,
    pub priority: Option<i64>,
    pub parent: Option<&'a Parent>,
    pub delay: Option<i64>,
}

impl RowOptions {
    /// Read the columns of the plan; `None` when it names none of them.
    pub(super) fn read(batch: &RecordBatch, plan: &RowPlan, invalid: &mut Invalid) -> Result<Option<Self>, Error> {
        let RowPlan { opts, priority, delay, parent, .. } = plan;
        if [opts, priority, delay, parent].iter().all(|column| column.is_none()) {
            return Ok(None);
        }
        Ok(Some(Self {
            opts: opts.as_deref().map(|column| objects(batch, column)).transpose()?,
            priority: priority.as_deref().map(|column| whole(batch, column, "priority", invalid)).transpose()?,
            delay: delay.as_deref().map(|column| whole(batch, column, "delay", invalid)).transpose()?,
            parent: parent.as_deref().map(|column| parents(batch, column, invalid)).transpose()?,
        }))
    }

    /// Return what one row says.
    pub fn of(&self, row: usize) -> OwnOptions<'_> {
        OwnOptions {
            opts: self.opts.as_ref().and_then(|values| values[row].as_deref()),
            priority: self.priority.as_ref().and_then(|values| values[row]),
            parent: self.parent.as_ref().and_then(|values| values[row].as_ref()),
            delay: self.delay.as_ref().and_then(|values| values[row]),
        }
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn wrong(column: &str, role: &str, kind: &DataType) -> Error {
    Error::InvalidOption(format!("Column {column:?} cannot be the job {role}: it holds {kind}"))
}

fn strings(array: &dyn Array) -> Result<StringArray, Error> {
    let strings = cast(array, &DataType::Utf8).map_err(|error| Error::InvalidOption(error.to_string()))?;
    Ok(strings.as_string().clone())
}

/// Return a column of strings or integers as strings; a null is an invalid row.
pub(super) fn texts(batch: &RecordBatch, column: &str, role: &str, invalid: &mut Invalid) -> Result<Texts, Error> {
    let array: &ArrayRef = batch.column(index_of(batch, column)?);
    let value_type = match array.data_type() {
        DataType::Dictionary(_, value) => value.as_ref(),
        other => other,
    };
    let usable = is_text(value_type) || (role == "id" && value_type.is_integer());
    if !usable {
        return Err(wrong(column, role, value_type));
    }
    let strings = strings(array)?;
    let mut out = Texts::with_capacity(strings.len(), strings.values().len());
    for row in 0..strings.len() {
        if strings.is_null(row) {
            invalid.add(row, || format!("Column {column:?} is null in row {row}: each job needs its {role}"))?;
        }
        // Under a null there may be any bytes.
        out.push(if strings.is_null(row) { "" } else { strings.value(row) });
    }
    Ok(out)
}

/// Options as JSON texts, from a column of such texts or of structs.
fn objects(batch: &RecordBatch, column: &str) -> Result<Vec<Option<String>>, Error> {
    let at = index_of(batch, column)?;
    let array = batch.column(at);
    match array.data_type() {
        kind if is_text(kind) => {
            let strings = strings(array)?;
            Ok(strings.iter().map(|text| text.map(str::to_owned)).collect())
        }
        DataType::Struct(_) | DataType::Map(_, _) => {
            let encoded =
                json::encode(&batch.project(&[at]).map_err(|error| Error::InvalidOption(error.to_string()))?, false)?;
            let head = format!("{{{}:", serde_json::Value::from(column)).len();
            let inner = |row| encoded.get(row)[head..encoded.get(row).len() - 1].to_owned();
            Ok((0..encoded.len()).map(|row| array.is_valid(row).then(|| inner(row))).collect())
        }
        DataType::Null => Ok(vec![None; array.len()]),
        other => Err(wrong(column, "options (a struct or JSON text)", other)),
    }
}

/// Whole numbers, as checked by `bullrush.values.checks`; a delay may also be a duration.
fn whole(batch: &RecordBatch, column: &str, role: &str, invalid: &mut Invalid) -> Result<Vec<Option<i64>>, Error> {
    let array = batch.column(index_of(batch, column)?);
    let mut out = Vec::with_capacity(array.len());
    match array.data_type() {
        kind if kind.is_integer() => {
            let strict = CastOptions { safe: false, ..CastOptions::default() };
            let numbers = cast_with_options(array, &DataType::Int64, &strict)
                .map_err(|error| Error::InvalidOption(format!("{role}: {error}")))?;
            out.extend(numbers.as_primitive::<Int64Type>().iter());
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let numbers = cast(array, &DataType::Float64).map_err(|error| Error::InvalidOption(error.to_string()))?;
            for (row, number) in numbers.as_primitive::<Float64Type>().iter().enumerate() {
                if let Some(number) = number.filter(|number| number.fract() != 0.0) {
                    invalid.add(row, || format!("{role} must be a whole number, not {number} (row {row})"))?;
                }
                out.push(number.map(|number| number as i64));
            }
        }
        DataType::Duration(unit) if role == "delay" => {
            let per_ms = match unit {
                TimeUnit::Second => 0.001,
                TimeUnit::Millisecond => 1.0,
                TimeUnit::Microsecond => 1e3,
                TimeUnit::Nanosecond => 1e6,
            };
            let numbers = cast(array, &DataType::Int64).map_err(|error| Error::InvalidOption(error.to_string()))?;
            let numbers = numbers.as_primitive::<Int64Type>().iter();
            out.extend(numbers.map(|number| number.map(|number| (number as f64 / per_ms).round_ties_even() as i64)));
        }
        DataType::Null => out.resize(array.len(), None),
        other => return Err(wrong(column, role, other)),
    }
    for (row, number) in out.iter().enumerate() {
        if let Some(number) = number.filter(|number| !(-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(number)) {
            invalid.add(row, || format!("{role} must be a whole number up to 2^53, not {number} (row {row})"))?;
        }
    }
    Ok(out)
}

/// Parents: the id as text (in the same queue), or a struct of `id` and `queue`.
fn parents(batch: &RecordBatch, column: &str, invalid: &mut Invalid) -> Result<Vec<Option<Parent>>, Error> {
    let array = batch.column(index_of(batch, column)?);
    match array.data_type() {
        kind if is_text(kind) => {
            let ids = strings(array)?;
            Ok(ids.iter().map(|id| id.map(|id| Parent { id: id.to_owned(), queue: None })).collect())
        }
        DataType::Struct(fields) => {
            let mut names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            names.sort_unstable();
            let [Some(ids), Some(queues)] = ["id", "queue"].map(|name| array.as_struct().column_by_name(name)) else {
                return Err(wrong(column, "parent (a text, or a struct of id and queue)", array.data_type()));
            };
            if names.len() != 2 || !is_text(ids.data_type()) || !is_text(queues.data_type()) {
                return Err(wrong(column, "parent (a text, or a struct of id and queue)", array.data_type()));
            }
            let (ids, queues) = (strings(ids)?, strings(queues)?);
            let mut out = Vec::with_capacity(array.len());
            for row in 0..array.len() {
                let complete = ids.is_valid(row) && queues.is_valid(row);
                if array.is_valid(row) && !complete {
                    invalid.add(row, || format!("parent needs the id and the queue of the parent job (row {row})"))?;
                }
                out.push(
                    (array.is_valid(row) && complete)
                        .then(|| Parent { id: ids.value(row).to_owned(), queue: Some(queues.value(row).to_owned()) }),
                );
            }
            Ok(out)
        }
        DataType::Null => Ok(vec![None; array.len()]),
        other => Err(wrong(column, "parent (a text, or a struct of id and queue)", other)),
    }
}
