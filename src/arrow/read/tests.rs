use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use redis::Value;

use super::{decode, Plan, Row};

fn schema(fields: Vec<(&str, DataType)>) -> Schema {
    Schema::new(fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect::<Vec<_>>())
}

fn read(plan: &Plan, jobs: &[&[(&str, &[u8])]]) -> RecordBatch {
    let rows: Vec<Row> = jobs
        .iter()
        .enumerate()
        .map(|(id, job)| {
            let value = |field: &&str| job.iter().find(|(name, _)| name == field);
            let values = plan.fields().iter().map(|field| match value(field) {
                Some((_, value)) => Value::BulkString(value.to_vec()),
                None => Value::Nil,
            });
            Row { id: id.to_string().into_bytes(), state: "completed", values: values.collect() }
        })
        .collect();
    decode(plan, &rows).unwrap()
}

/// The values of `data` as JSON of this type, and which of them are corrupt.
fn data(kind: DataType, values: &[&str]) -> (Vec<String>, Vec<bool>) {
    let plan = Plan::new(&schema(vec![("data", kind), ("_corrupt", DataType::Utf8)]), None).unwrap();
    let jobs: Vec<[(&str, &[u8]); 1]> = values.iter().map(|value| [("data", value.as_bytes())]).collect();
    let jobs: Vec<&[(&str, &[u8])]> = jobs.iter().map(|job| &job[..]).collect();
    let batch = read(&plan, &jobs);
    let shown = arrow_cast::cast::cast(&strings(&batch.column(0).clone()), &DataType::Utf8).unwrap();
    let corrupt = batch.column(1).as_string::<i32>();
    for (row, value) in values.iter().enumerate().filter(|(row, _)| corrupt.is_valid(*row)) {
        assert_eq!(corrupt.value(row), *value);
    }
    let shown = shown.as_string::<i32>().iter().map(|value| value.unwrap_or_default().to_owned()).collect();
    (shown, (0..values.len()).map(|row| corrupt.is_valid(row)).collect())
}

/// Each value as JSON, with the writer of this crate.
fn strings(array: &Arc<dyn Array>) -> Arc<dyn Array> {
    let batch = RecordBatch::try_from_iter_with_nullable([("x", array.clone(), true)]).unwrap();
    let rows = crate::encode(&batch, &crate::RowPlan::default(), None).unwrap();
    let text = |row: usize| {
        let json = String::from_utf8(rows.data(row).to_vec()).unwrap();
        json.strip_prefix("{\"x\":").unwrap().strip_suffix('}').unwrap().to_owned()
    };
    Arc::new((0..batch.num_rows()).map(|row| Some(text(row))).collect::<arrow_array::StringArray>())
}

fn check(kind: DataType, cases: &[(&str, &str, bool)]) {
    let (values, corrupt) = data(kind, &cases.iter().map(|(raw, _, _)| *raw).collect::<Vec<_>>());
    for (at, (raw, value, fits)) in cases.iter().enumerate() {
        assert_eq!((values[at].as_str(), corrupt[at]), (*value, !fits), "{raw}");
    }
}

fn structure(fields: Vec<(&str, DataType)>) -> DataType {
    DataType::Struct(schema(fields).fields)
}

fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

#[test]
fn numbers_lose_nothing_or_are_null() {
    check(
        DataType::Int64,
        &[
            ("3", "3", true),
            ("3.0", "3", true),
            ("3e2", "300", true),
            (" -0 ", "0", true),
            ("3.5", "null", false),
            ("\"12\"", "12", true),
            ("\"x\"", "null", false),
            ("true", "null", false),
            ("null", "null", true),
            ("9007199254740993", "9007199254740993", true),
            ("9223372036854775807", "9223372036854775807", true),
            ("9223372036854775808", "null", false),
            ("{}", "null", false),
            ("[1]", "null", false),
            ("1 2", "null", false),
            ("", "null", false),
            ("NaN", "null", false),
            ("1e999", "null", false),
            ("9007199254740992.9", "null", false),
            ("9007199254740993.0", "9007199254740993", true),
            ("100.0000000000000001", "null", false),
            ("\"-9223372036854775808.00\"", "-9223372036854775808", true),
        ],
    );
    check(DataType::Int8, &[("127", "127", true), ("128", "null", false), ("-128", "-128", true)]);
    check(
        DataType::UInt64,
        &[
            ("9223372036854775808", "9223372036854775808", true),
            ("18446744073709551615", "18446744073709551615", true),
            ("18446744073709551616", "null", false),
            ("-1", "null", false),
        ],
    );
    check(
        DataType::Float64,
        &[
            ("3", "3.0", true),
            ("0.1", "0.1", true),
            ("\"2.5\"", "2.5", true),
            ("123456.7891", "123456.7891", true),
            ("9007199254740993", "9.007199254740992e15", true),
            ("1E400", "null", false),
            ("-1e400", "null", false),
        ],
    );
    check(DataType::Float32, &[("0.1", "0.1", true), ("3e38", "3.0e38", true), ("1e308", "null", false)]);
    check(
        DataType::Decimal128(10, 2),
        &[
            ("0.3", "0.30", true),
            ("0.3000", "0.30", true),
            ("0.30000000000000004", "null", false),
            ("2.555", "null", false),
            ("-1.05", "-1.05", true),
            ("\"7\"", "7.00", true),
            ("1e3", "1000.00", true),
            ("1e-2", "0.01", true),
            ("1e-3", "null", false),
            ("0e-9", "0.00", true),
            ("123456789", "null", false),
            ("99999999.999", "null", false),
        ],
    );
    check(DataType::Boolean, &[("true", "true", true), ("\"false\"", "false", true), ("1", "null", false)]);
}

#[test]
fn a_text_column_takes_any_value_as_its_json() {
    check(
        DataType::Utf8,
        &[
            // At the top the column is the stored text itself.
            ("\"a\"", "\"\\\"a\\\"\"", true),
            ("not json", "\"not json\"", true),
        ],
    );
    check(
        structure(vec![("a", DataType::Utf8)]),
        &[
            (r#"{"a":"x\n\"y\""}"#, r#"{"a":"x\n\"y\""}"#, true),
            (r#"{"a":1.50}"#, r#"{"a":"1.50"}"#, true),
            (r#"{"a":{"b": [1, 2]}}"#, r#"{"a":"{\"b\": [1, 2]}"}"#, true),
            (r#"{"a":null}"#, r#"{"a":null}"#, true),
            (r#"{"a":true,"other":[{}]}"#, r#"{"a":"true"}"#, true),
            ("{}", r#"{"a":null}"#, true),
            (r#"{"a":"first","a":"last"}"#, r#"{"a":"last"}"#, true),
            (r#"{"a":"\ud83d\ude00 \ud83d!\\ud83d"}"#, "{\"a\":\"\u{1F600} \u{FFFD}!\\\\ud83d\"}", true),
            ("[]", "null", false),
            ("7", "null", false),
            ("\"text\"", "null", false),
            (r#"{"a":"cut o"#, "null", false),
            (r#"{"a":1}x"#, "null", false),
        ],
    );
}

#[test]
fn times_and_binary_are_read_from_text() {
    let timestamp = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    check(
        timestamp,
        &[
            ("\"2024-05-01T12:30:00Z\"", "\"2024-05-01T12:30:00Z\"", true),
            ("\"2024-05-01T14:30:00.123456+02:00\"", "\"2024-05-01T12:30:00.123456Z\"", true),
            ("\"2024-05-01T12:30:00\"", "\"2024-05-01T12:30:00Z\"", true),
            ("\"2024-05-01\"", "\"2024-05-01T00:00:00Z\"", true),
            ("1714566600000", "\"2024-05-01T12:30:00Z\"", true),
            ("1714566600000.5", "\"2024-05-01T12:30:00.000500Z\"", true),
            ("\"2024-05-01T12:30:00.1234567Z\"", "null", false),
            ("\"soon\"", "null", false),
        ],
    );
    check(
        DataType::Date32,
        &[
            ("\"2024-05-01\"", "\"2024-05-01\"", true),
            ("\"1969-12-31T00:00:00.000Z\"", "\"1969-12-31\"", true),
            ("\"1969-12-31T23:00:00Z\"", "null", false),
            ("\"2024-05-01T00:00:00.000001Z\"", "null", false),
            ("\"2024-05-01T123000Z\"", "null", false),
            ("\"2024-13-01\"", "null", false),
        ],
    );
    check(DataType::Binary, &[("\"aGk=\"", "\"aGk=\"", true), ("\"a\"", "null", false), ("[1]", "null", false)]);
}

#[test]
fn nested_values_keep_what_fits_and_a_broken_one_leaves_no_trace() {
    let entries = structure(vec![("key", DataType::Utf8), ("value", list(DataType::Int64))]);
    let DataType::Struct(fields) = entries else { unreachable!() };
    let fields: Fields = vec![Arc::new(fields[0].as_ref().clone().with_nullable(false)), fields[1].clone()].into();
    let map = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(fields), false)), false);
    check(
        map,
        &[
            (r#"{"a":[1,2],"b":null}"#, r#"{"a":[1,2],"b":null}"#, true),
            (r#"{"a":[1,"#, "null", false),
            (r#"{"a":[1,"x"]}"#, r#"{"a":[1,null]}"#, false),
            ("{}", "{}", true),
            ("[]", "null", false),
        ],
    );
    check(
        structure(vec![("n", DataType::Int64), ("items", list(structure(vec![("id", DataType::Int64)])))]),
        &[
            (r#"{"n":1,"items":[{"id":1},{"id":2}]}"#, r#"{"n":1,"items":[{"id":1},{"id":2}]}"#, true),
            (r#"{"items":[{"id":3},{"id":"#, "null", false),
            (r#"{"items":[null,{"id":4},7],"n":2}"#, r#"{"n":2,"items":[null,{"id":4},null]}"#, false),
            (r#"{"items":{},"n":3}"#, r#"{"n":3,"items":null}"#, false),
        ],
    );
}

#[test]
fn bytes_that_are_no_utf8_are_replaced_as_in_node() {
    let fields = vec![("data", structure(vec![("a", DataType::Utf8)])), ("name", DataType::Utf8)];
    let plan = Plan::new(&schema(fields), None).unwrap();
    let batch = read(&plan, &[&[("data", b"{\"a\":\"x\xff\"}"), ("name", b"\xe2\x82n")]]);
    assert_eq!(batch.column(0).as_struct().column(0).as_string::<i32>().value(0), "x\u{FFFD}");
    assert_eq!(batch.column(1).as_string::<i32>().value(0), "\u{FFFD}n");
}

#[test]
fn numbers_of_the_hash_may_be_written_in_any_way() {
    let plan = Plan::new(&schema(vec![("processedOn", DataType::Int64), ("attempts", DataType::Int64)]), None).unwrap();
    let batch = read(
        &plan,
        &[
            &[("processedOn", b"1714566600000"), ("atm", b"2")],
            &[("processedOn", b"1714566600000.75"), ("atm", b"2"), ("attemptsMade", b"5")],
            &[("processedOn", b"soon"), ("atm", b"")],
        ],
    );
    let numbers = |at: usize| batch.column(at).as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
    assert_eq!(numbers(0), [Some(1_714_566_600_000), Some(1_714_566_600_000), None]);
    assert_eq!(numbers(1), [Some(2), Some(5), None]);
}

#[test]
fn a_single_returned_column_takes_a_bare_value() {
    let returns = schema(vec![("n", DataType::Int64)]);
    let plan = Plan::new(&schema(vec![("jobId", DataType::Utf8)]), Some(&returns)).unwrap();
    let jobs: Vec<&[(&str, &[u8])]> =
        vec![&[("returnvalue", b"7")], &[("returnvalue", b" {\"n\":8}")], &[("returnvalue", b"null")], &[]];
    let batch = read(&plan, &jobs);
    let numbers: Vec<_> = batch.column(1).as_primitive::<Int64Type>().iter().collect();
    assert_eq!(numbers, [Some(7), Some(8), None, None]);
}

#[test]
fn columns_that_cannot_be_are_refused() {
    let refused = |fields: Vec<(&str, DataType)>, part: &str| {
        let error = Plan::new(&schema(fields), None).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(vec![("jobid", DataType::Utf8)], "no column \"jobid\"; there are jobId");
    refused(vec![("name", DataType::Int64)], "\"name\" is a string, not Int64");
    refused(vec![("priority", DataType::Utf8)], "\"priority\" is a number");
    refused(vec![("priority", DataType::Int8)], "with 32 or 64 bits");
    refused(vec![("finishedOn", DataType::Date32)], "a timestamp");
    refused(vec![("timestamp", DataType::Int32)], "with 64 bits");
    refused(vec![("processedOn", DataType::Timestamp(TimeUnit::Second, None))], "a timestamp with ms");
    refused(vec![("delay", DataType::Int32)], "with 64 bits");
    refused(vec![("data", DataType::Duration(TimeUnit::Second))], "cannot be read from a job");
    refused(vec![("name", DataType::Utf8), ("name", DataType::Utf8)], "Two columns");
}
