//! Jobs as they were read, and their rows.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::DataType;
use redis::Value;

use super::column::Column;
use super::plan::{Plan, Source};
use super::scalar::Scalar;
use bullrush::error::Error;

/// One job as it was read.
#[derive(Debug)]
pub struct Row {
    pub id: Vec<u8>,
    /// Empty if the plan has no use for it.
    pub state: &'static str,
    /// A reply for each of the plan's fields; no reply at all if its key is no hash.
    pub values: Vec<Value>,
}

impl Row {
    #[must_use]
    pub fn get(&self, field: usize) -> Option<&[u8]> {
        match self.values.get(field)? {
            Value::BulkString(bytes) => Some(bytes),
            Value::SimpleString(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// Whether there is no such job: none of its fields has a value.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        !self.values.is_empty() && self.values.iter().all(|value| *value == Value::Nil)
    }
}

/// Turns jobs into a batch with the columns of `plan`.
///
/// # Errors
/// `InvalidOption` when Arrow cannot hold the values; not expected.
pub fn decode(plan: &Plan, rows: &[Row]) -> Result<RecordBatch, Error> {
    let mut corrupt: Vec<Option<usize>> = vec![None; rows.len()];
    let mut returns = match &plan.returns {
        None => Vec::new(),
        Some((data_type, field)) => returned(data_type, *field, rows, &mut corrupt)?,
    }
    .into_iter();
    let mut columns = Vec::with_capacity(plan.sources.len());
    for (source, field) in plan.sources.iter().zip(plan.schema.fields()) {
        columns.push(match source {
            Source::Return => returns.next(),
            // Filled last, when all JSON was read.
            Source::Corrupt => None,
            source => Some(column(*source, field.data_type(), rows, &mut corrupt)?),
        });
    }
    let arrays = columns.into_iter().zip(plan.schema.fields()).map(|(column, field)| {
        let column = match column {
            Some(column) => column,
            None => raw_texts(field.data_type(), rows, &corrupt)?,
        };
        column.finish().map_err(|error| Error::InvalidOption(error.to_string()))
    });
    let arrays = arrays.collect::<Result<Vec<ArrayRef>, Error>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(plan.schema.clone(), arrays, &options)
        .map_err(|error| Error::InvalidOption(error.to_string()))
}

fn column(source: Source, data_type: &DataType, rows: &[Row], corrupt: &mut [Option<usize>]) -> Result<Column, Error> {
    let mut column = Column::new(data_type)?;
    let is_text = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    for (row, corrupt) in rows.iter().zip(corrupt) {
        match source {
            Source::Id => push_text(&mut column, Some(&row.id)),
            Source::State => push_text(&mut column, Some(row.state.as_bytes())),
            Source::Text(field) => push_text(&mut column, row.get(field)),
            Source::Error(field) => push_text(&mut column, row.get(field).filter(|_| row.state == "failed")),
            Source::Number(field) => push_number(&mut column, row.get(field)),
            Source::AttemptsMade(field, older) => {
                let made = [field, older].into_iter().filter_map(|field| row.get(field));
                push_number(&mut column, made.max_by_key(|value| number(value)));
            }
            Source::Elapsed(from, to) => {
                let at = |field: usize| row.get(field).and_then(number);
                match at(to).zip(at(from)) {
                    Some((to, from)) => {
                        column.push(Scalar::Number(&to.saturating_sub(from).to_string()));
                    }
                    None => column.push_null(),
                }
            }
            Source::Json(field) if is_text => push_text(&mut column, row.get(field)),
            Source::Json(field) => push_json(&mut column, row, field, corrupt),
            Source::Return | Source::Corrupt => unreachable!("these have their own functions"),
        }
    }
    Ok(column)
}

fn push_text(column: &mut Column, value: Option<&[u8]>) {
    match value {
        Some(value) => {
            column.push(Scalar::Text(&String::from_utf8_lossy(value)));
        }
        None => column.push_null(),
    }
}

fn push_number(column: &mut Column, value: Option<&[u8]>) {
    match value.map(std::str::from_utf8) {
        Some(Ok(text)) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            column.push(Scalar::Number(text));
        }
        Some(Ok(text)) => match number(text.as_bytes()) {
            Some(number) => {
                column.push(Scalar::Number(&number.to_string()));
            }
            None => column.push_null(),
        },
        _ => column.push_null(),
    }
}

/// A whole number as any client may have written it.
fn number(value: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(value).ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "fractions of a ms are cut off, as in the getters")]
    text.parse().ok().or_else(|| text.parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| value as i64))
}

fn push_json(column: &mut Column, row: &Row, field: usize, corrupt: &mut Option<usize>) {
    match row.get(field) {
        None => column.push_null(),
        Some(raw) => {
            if !column.push_json(raw) {
                corrupt.get_or_insert(field);
            }
        }
    }
}

/// The columns that are read from the object in `returnvalue`. A single one also takes a value that is no object.
fn returned(
    data_type: &DataType,
    field: usize,
    rows: &[Row],
    corrupt: &mut [Option<usize>],
) -> Result<Vec<Column>, Error> {
    let mut whole = Column::new(data_type)?;
    for (row, corrupt) in rows.iter().zip(corrupt) {
        let is_object = |raw: &[u8]| raw.trim_ascii_start().starts_with(b"{");
        match row.get(field).filter(|raw| !is_object(raw)) {
            Some(bare) => {
                if !whole.push_only_field(bare) {
                    corrupt.get_or_insert(field);
                }
            }
            None => push_json(&mut whole, row, field, corrupt),
        }
    }
    Ok(whole.into_fields())
}

fn raw_texts(data_type: &DataType, rows: &[Row], corrupt: &[Option<usize>]) -> Result<Column, Error> {
    let mut column = Column::new(data_type)?;
    for (row, corrupt) in rows.iter().zip(corrupt) {
        push_text(&mut column, corrupt.and_then(|field| row.get(field)));
    }
    Ok(column)
}
