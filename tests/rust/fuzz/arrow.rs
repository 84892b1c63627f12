//! Batches of all kinds of columns, through the C data interface, as jobs, and the data of these jobs as columns again.

use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::ffi::to_ffi;
use arrow_array::types::Int16Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
    Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use bullrush_arrow::read::{decode, Plan, Row};
use bullrush_arrow::{batch, encode, AutoIds, JobName, RowPlan, Rows};
use redis::Value;

#[derive(Arbitrary, Debug)]
enum Column {
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
    Numbers(Vec<Option<i64>>),
    Floats(Vec<Option<f64>>),
    Flags(Vec<Option<bool>>),
    Days(Vec<Option<i32>>),
    Instants(Vec<Option<i64>>, bool),
    Decimals(Vec<Option<i64>>, i8),
    Codes(Vec<Option<String>>),
    Lists(Vec<Option<Vec<Option<String>>>>),
}

#[derive(Arbitrary, Debug)]
struct Given {
    columns: Vec<(String, Column)>,
    rows: u8,
    roles: [Option<u8>; 6],
    hashed_ids: bool,
    longs_as_strings: bool,
    skip_invalid: bool,
}

/// As many values as the batch has rows.
fn sized<T>(mut values: Vec<Option<T>>, rows: usize) -> Vec<Option<T>> {
    values.resize_with(rows, || None);
    values
}

impl Column {
    fn array(self, rows: usize) -> Option<ArrayRef> {
        Some(match self {
            Column::Texts(values) => Arc::new(StringArray::from(sized(values, rows))),
            Column::Bytes(values) => {
                let values = sized(values, rows);
                Arc::new(BinaryArray::from(values.iter().map(Option::as_deref).collect::<Vec<_>>()))
            }
            Column::Numbers(values) => Arc::new(Int64Array::from(sized(values, rows))),
            Column::Floats(values) => Arc::new(Float64Array::from(sized(values, rows))),
            Column::Flags(values) => Arc::new(BooleanArray::from(sized(values, rows))),
            Column::Days(values) => Arc::new(Date32Array::from(sized(values, rows))),
            Column::Instants(values, zoned) => {
                let array = TimestampMicrosecondArray::from(sized(values, rows));
                Arc::new(if zoned { array.with_timezone("Europe/Paris") } else { array })
            }
            Column::Decimals(values, scale) => {
                let values: Vec<_> = sized(values, rows).into_iter().map(|value| value.map(i128::from)).collect();
                Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, scale).ok()?)
            }
            Column::Codes(values) => {
                let values = sized(values, rows);
                Arc::new(values.iter().map(Option::as_deref).collect::<DictionaryArray<Int16Type>>())
            }
            Column::Lists(values) => {
                let mut list = ListBuilder::new(StringBuilder::new());
                for value in sized(values, rows) {
                    let is_some = value.is_some();
                    value.into_iter().flatten().for_each(|text| list.values().append_option(text));
                    list.append(is_some);
                }
                Arc::new(list.finish())
            }
        })
    }
}

pub fn run(given: &[u8]) {
    let Ok(given) = Given::arbitrary_take_rest(Unstructured::new(given)) else { return };
    let rows = usize::from(given.rows % 17);
    let columns: Option<Vec<_>> =
        given.columns.into_iter().take(8).map(|(name, column)| Some((name, column.array(rows)?, true))).collect();
    let Some(columns) = columns.filter(|columns| !columns.is_empty()) else { return };
    let names: Vec<String> = columns.iter().map(|(name, ..)| name.clone()).collect();
    let Ok(table) = RecordBatch::try_from_iter_with_nullable(columns) else { return };
    let data = StructArray::from(table).into_data();
    // A name with a null byte cannot be exported.
    let Ok((array, schema)) = to_ffi(&data) else { return };
    // SAFETY: both were exported just now, and nobody else releases them.
    let Ok(table) = (unsafe { batch(array, &schema) }) else { return };
    let role = |at: usize| given.roles[at].map(|nth| names[usize::from(nth) % names.len()].clone());
    let plan = RowPlan {
        name: role(0).map_or_else(|| JobName::Common("n".into()), JobName::Column),
        id: role(1),
        opts: role(2),
        priority: role(3),
        delay: role(4),
        parent: role(5),
        longs_as_strings: given.longs_as_strings,
        skip_invalid: given.skip_invalid,
        ..RowPlan::default()
    };
    let mut ids = AutoIds::new("s").expect("the scope is plain");
    let Ok(jobs) = encode(&table, &plan, given.hashed_ids.then_some(&mut ids)) else { return };
    assert_eq!(jobs.len(), rows);
    for row in (0..rows).filter(|row| !jobs.invalid.has(*row)) {
        let _: serde_json::Value = serde_json::from_slice(jobs.data(row)).expect("the data of a job are JSON");
        let _ = (jobs.name(row), jobs.id(row), jobs.options.as_ref().map(|options| options.of(row)));
    }
    read_back(&table, &jobs);
}

/// Reads the data of the jobs into columns of the types that they came from.
fn read_back(table: &RecordBatch, jobs: &Rows) {
    let data = Field::new("data", DataType::Struct(table.schema().fields().clone()), true);
    let Ok(plan) = Plan::new(&Schema::new(vec![data]), None) else { return };
    let value = |row: usize, field: &str| match field {
        "data" => Value::BulkString(jobs.data(row).to_vec()),
        _ => Value::Nil,
    };
    let read = |row: usize| Row {
        id: row.to_string().into_bytes(),
        state: "completed",
        values: plan.fields().iter().map(|field| value(row, field)).collect(),
    };
    let rows: Vec<Row> = (0..jobs.len()).map(read).collect();
    assert_eq!(decode(&plan, &rows).expect("any data become rows").num_rows(), jobs.len());
}
