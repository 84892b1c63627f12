//! Strings that are no UTF-8. Any library may export such columns, Spark by a cast from binary, and Arrow's C interface
//! checks nothing.

use arrow_array::cast::AsArray;
use arrow_array::{Array, GenericStringArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{ArrowError, DataType, Schema};
use arrow_select::take::take;
use std::str::from_utf8;
use std::sync::Arc;

use super::{Invalid, RowPlan};
use bullrush::error::Error;

/// Refuse rows with strings that are no UTF-8 in columns that the plan uses. When they are to be left out instead,
/// return the batch with nulls in these rows; `None` when there are none.
pub(super) fn check(batch: &RecordBatch, plan: &RowPlan, invalid: &mut Invalid) -> Result<Option<RecordBatch>, Error> {
    let schema = batch.schema();
    let mut keep: Vec<bool> = Vec::new();
    for (field, column) in schema.fields().iter().zip(batch.columns()).filter(|(field, _)| plan.uses(field.name())) {
        for row in bad_rows(column).map_err(refuse)? {
            invalid.add(row, || format!("Column {:?} has a string that is no UTF-8 in row {row}", field.name()))?;
            keep.resize(batch.num_rows(), true);
            keep[row] = false;
        }
    }
    if keep.is_empty() {
        return Ok(None);
    }
    let rows: UInt64Array = (0..).zip(keep).map(|(row, keep)| keep.then_some(row)).collect();
    let fields: Vec<_> =
        schema.fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true))).collect();
    let columns =
        batch.columns().iter().map(|column| take(column, &rows, None)).collect::<Result<_, _>>().map_err(refuse)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map(Some).map_err(refuse)
}

fn refuse(error: ArrowError) -> Error {
    Error::InvalidOption(format!("The rows cannot be job data: {error}"))
}

/// The rows in which a string, or one in a list, map or struct, is no UTF-8.
fn bad_rows(array: &dyn Array) -> Result<Vec<usize>, ArrowError> {
    let mut bad = match array.data_type() {
        DataType::Utf8 => strings(array.as_string::<i32>()),
        DataType::LargeUtf8 => strings(array.as_string::<i64>()),
        DataType::Utf8View => {
            let bytes = array.as_string_view().clone().to_binary_view();
            (0..bytes.len()).filter(|&row| from_utf8(bytes.value(row)).is_err()).collect()
        }
        DataType::Struct(_) => {
            let members = array.as_struct().columns().iter().map(|column| bad_rows(column));
            let mut rows = members.collect::<Result<Vec<_>, _>>()?.concat();
            rows.sort_unstable();
            rows.dedup();
            rows
        }
        DataType::List(_) => owners(array.as_list::<i32>().value_offsets(), array.as_list::<i32>().values())?,
        DataType::LargeList(_) => owners(array.as_list::<i64>().value_offsets(), array.as_list::<i64>().values())?,
        DataType::Map(..) => owners(array.as_map().value_offsets(), array.as_map().entries())?,
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let bad = bad_rows(dictionary.values())?;
            let keys = if bad.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            (0..keys.len()).filter(|&row| bad.binary_search(&keys[row]).is_ok()).collect()
        }
        // Rare types: checked as a whole.
        kind if kind.is_nested() => array.to_data().validate_full().map(|()| Vec::new())?,
        _ => Vec::new(),
    };
    bad.retain(|&row| array.is_valid(row));
    Ok(bad)
}

fn strings<O: OffsetSizeTrait>(array: &GenericStringArray<O>) -> Vec<usize> {
    let (offsets, bytes) = (array.value_offsets(), array.value_data());
    let used = offsets[0].as_usize()..offsets[array.len()].as_usize();
    // The usual case, and much faster than to look at each string.
    if bytes[used].is_ascii() {
        return Vec::new();
    }
    let string = |row: usize| &bytes[offsets[row].as_usize()..offsets[row + 1].as_usize()];
    (0..array.len()).filter(|&row| from_utf8(string(row)).is_err()).collect()
}

/// The rows of lists that have a bad member.
fn owners<O: OffsetSizeTrait>(offsets: &[O], members: &dyn Array) -> Result<Vec<usize>, ArrowError> {
    let mut rows: Vec<usize> = bad_rows(members)?
        .into_iter()
        .map(|member| offsets.partition_point(|offset| offset.as_usize() <= member))
        // A member before the first row or after the last one belongs to none.
        .filter(|&after| (1..offsets.len()).contains(&after))
        .map(|after| after - 1)
        .collect();
    rows.dedup();
    Ok(rows)
}
