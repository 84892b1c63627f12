use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int8Type;
use arrow_array::*;
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};

use super::*;

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn json(array: impl Array + 'static) -> Vec<String> {
    let rows = encode(&table(vec![("x", Arc::new(array))]), &RowPlan::default(), None).unwrap();
    let text = |row| std::str::from_utf8(rows.data(row)).unwrap().to_owned();
    (0..rows.len()).map(|row| text(row).trim_start_matches("{\"x\":").trim_end_matches('}').to_owned()).collect()
}

fn refusal(result: Result<Rows, Error>) -> String {
    match result {
        Err(Error::InvalidOption(text)) => text,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn by_id(column: &str) -> RowPlan {
    RowPlan { id: Some(column.to_owned()), ..RowPlan::default() }
}

#[test]
fn a_row_becomes_one_object_with_all_its_columns() {
    let batch = table(vec![
        ("id", Arc::new(Int64Array::from(vec![7, 8]))),
        ("text", Arc::new(StringArray::from(vec![Some("a\n\"b\" \u{e9}\u{1f600}"), None]))),
    ]);
    let rows = encode(&batch, &RowPlan::default(), None).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows.data(0), "{\"id\":7,\"text\":\"a\\n\\\"b\\\" \u{e9}\u{1f600}\"}".as_bytes());
    assert_eq!(rows.data(1), br#"{"id":8,"text":null}"#);
    assert_eq!((rows.name(0), rows.id(0)), (None, None));
}

#[test]
fn numbers_keep_all_their_digits_and_what_is_no_number_is_null() {
    assert_eq!(json(Int64Array::from(vec![i64::MAX, i64::MIN])), ["9223372036854775807", "-9223372036854775808"]);
    assert_eq!(json(Float64Array::from(vec![1.5, f64::NAN, f64::INFINITY, 0.1])), ["1.5", "null", "null", "0.1"]);
    let decimals = Decimal128Array::from(vec![1230, -5]).with_precision_and_scale(10, 2).unwrap();
    assert_eq!(json(decimals), ["12.30", "-0.05"]);
    assert_eq!(json(BooleanArray::from(vec![Some(true), None])), ["true", "null"]);
    // Found by random input: arrow-json writes 0000, which is no JSON.
    let hundreds = Decimal128Array::from(vec![Some(0), Some(12), Some(-5), None]);
    assert_eq!(json(hundreds.with_precision_and_scale(10, -2).unwrap()), ["0", "1200", "-500", "null"]);
    let large = Decimal256Array::from(vec![Some(arrow_buffer::i256::ZERO)]);
    assert_eq!(json(large.with_precision_and_scale(70, -9).unwrap()), ["0"]);
}

#[test]
fn an_instant_is_written_in_utc_and_a_local_time_without_a_zone() {
    let micros = vec![Some(1_700_000_000_123_456), Some(0), None];
    let paris = TimestampMicrosecondArray::from(micros.clone()).with_timezone("Europe/Paris");
    assert_eq!(json(paris), ["\"2023-11-14T22:13:20.123456Z\"", "\"1970-01-01T00:00:00Z\"", "null"]);
    let local = TimestampMicrosecondArray::from(micros);
    assert_eq!(json(local)[0], "\"2023-11-14T22:13:20.123456\"");
    assert_eq!(json(TimestampSecondArray::from(vec![i64::MAX])), ["null"]);
    let days = Date32Array::from(vec![Some(19_675), Some(-719_528), Some(i32::MAX), Some(i32::MIN), None]);
    assert_eq!(json(days), ["\"2023-11-14\"", "\"0000-01-01\"", "null", "null", "null"]);
    let day_in_ms = Date64Array::from(vec![1_699_920_000_000, i64::MAX]);
    assert_eq!(json(day_in_ms), ["\"2023-11-14T00:00:00\"", "null"]);
}

#[test]
fn binary_is_base64_also_inside_a_struct() {
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![b"\x00\xffab".as_slice(), b""]));
    assert_eq!(json(BinaryArray::from(vec![b"\x00\xffab".as_slice(), b"a"])), ["\"AP9hYg==\"", "\"YQ==\""]);
    let nested = StructArray::from(vec![(Arc::new(Field::new("b", DataType::Binary, true)), bytes)]);
    assert_eq!(json(nested)[1], r#"{"b":"""#);
}

#[test]
fn dictionaries_are_written_as_their_values() {
    let codes: DictionaryArray<Int8Type> = vec![Some("UA"), None, Some("UA")].into_iter().collect();
    assert_eq!(json(codes), ["\"UA\"", "null", "\"UA\""]);
    let values = Arc::new(StringArray::from(vec![Some("a"), None]));
    let odd = DictionaryArray::<Int8Type>::try_new(Int8Array::from(vec![0, 1]), values).unwrap();
    let text = refusal(encode(&table(vec![("x", Arc::new(odd))]), &RowPlan::default(), None));
    assert!(text.contains("null values"), "{text}");
}

#[test]
fn only_the_wanted_columns_are_data_and_a_name_column_gives_the_names() {
    let batch = table(vec![
        ("kind", Arc::new(StringViewArray::from(vec!["mail", "sms"]))),
        ("to", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("n", Arc::new(Int32Array::from(vec![1, 2]))),
    ]);
    let plan = RowPlan {
        name: JobName::Column("kind".into()),
        data: Some(vec!["n".into(), "to".into()]),
        ..RowPlan::default()
    };
    let rows = encode(&batch, &plan, None).unwrap();
    let common = NewJob {
        name: "",
        data: b"",
        opts: br#"{"attempts":3}"#,
        id: None,
        timestamp: 5,
        delay: 0,
        priority: 2,
        lifo: false,
    };
    let jobs: Vec<_> = (0..rows.len()).map(|row| rows.job(row, common)).collect();
    assert_eq!((jobs[1].name, jobs[1].data), ("sms", br#"{"n":2,"to":"b"}"#.as_slice()));
    assert_eq!((jobs[1].id, jobs[1].opts, jobs[1].priority), (None, br#"{"attempts":3}"#.as_slice(), 2));
}

#[test]
fn whole_numbers_become_ids_with_the_columns_name_before_them() {
    let integers = table(vec![("order", Arc::new(Int64Array::from(vec![7, -1])))]);
    let rows = encode(&integers, &by_id("order"), None).unwrap();
    assert_eq!([rows.id(0), rows.id(1)], [Some("order-7"), Some("order--1")]);
    let strings = table(vec![("order", Arc::new(StringArray::from(vec!["7", "x7"])))]);
    let rows = encode(&strings, &by_id("order"), None).unwrap();
    assert_eq!([rows.id(0), rows.id(1)], [Some("order-7"), Some("x7")]);
}

#[test]
fn a_bad_id_or_column_refuses_the_batch_and_says_where() {
    let cases: Vec<(ArrayRef, &str)> = vec![
        (Arc::new(StringArray::from(vec!["ok", "a:b"])), "Custom Id cannot contain :: \"a:b\" in row 1"),
        (Arc::new(StringArray::from(vec![Some("ok"), None])), "\"id\" is null in row 1"),
        (Arc::new(StringArray::from(vec!["ok", ""])), "cannot be empty"),
        (Arc::new(StringArray::from(vec!["ok", "wait"])), "a key of the queue: \"wait\" in row 1"),
        (Arc::new(Float64Array::from(vec![1.0, 2.0])), "cannot be the job id: it holds Float64"),
    ];
    for (array, expected) in cases {
        let text = refusal(encode(&table(vec![("id", array)]), &by_id("id"), None));
        assert!(text.contains(expected), "{text:?} has no {expected:?}");
    }
    let batch = table(vec![("a", Arc::new(Int8Array::from(vec![1])))]);
    assert_eq!(refusal(encode(&batch, &by_id("b"), None)), "No column \"b\"; there are a");
    let twins = Schema::new(vec![Field::new("a", DataType::Int8, true), Field::new("a", DataType::Int8, true)]);
    let column = || Arc::new(Int8Array::from(vec![1])) as ArrayRef;
    let twins = RecordBatch::try_new(Arc::new(twins), vec![column(), column()]).unwrap();
    assert_eq!(refusal(encode(&twins, &RowPlan::default(), None)), "Two columns are named \"a\"");
}

fn auto_ids(batches: &[Vec<i64>], scope: &str) -> Vec<String> {
    let mut auto = AutoIds::new(scope).unwrap();
    let mut out = vec![];
    for batch in batches {
        let batch = table(vec![("x", Arc::new(Int64Array::from(batch.clone())))]);
        let rows = encode(&batch, &RowPlan::default(), Some(&mut auto)).unwrap();
        out.extend((0..rows.len()).map(|row| rows.id(row).unwrap().to_owned()));
    }
    out
}

#[test]
fn automatic_ids_depend_on_content_and_not_on_order_or_batching() {
    let first = auto_ids(&[vec![1, 2, 2], vec![3, 2]], "run.0");
    let again = auto_ids(&[vec![2, 3], vec![2], vec![2, 1]], "run.0");
    let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(set(&first), set(&again));
    assert_eq!(set(&first).len(), 5, "equal rows stay that many jobs");
    assert_eq!(first[0], format!("run.0.{:032x}.0", xxhash_rust::xxh3::xxh3_128(b"{\"x\":1}\n")));
    assert!(first[4].ends_with(".2"));
    assert!(set(&first).is_disjoint(&set(&auto_ids(&[vec![1, 2, 3]], "run.1"))));
    assert!(AutoIds::new("a:b").is_err() && AutoIds::new("").is_err());
}

#[test]
fn a_name_from_a_column_is_part_of_the_automatic_id() {
    let ids = |names: Vec<&str>| {
        let batch =
            table(vec![("kind", Arc::new(StringArray::from(names))), ("x", Arc::new(Int64Array::from(vec![1, 1])))]);
        let plan = RowPlan { name: JobName::Column("kind".into()), data: Some(vec!["x".into()]), ..RowPlan::default() };
        let rows = encode(&batch, &plan, Some(&mut AutoIds::new("s").unwrap())).unwrap();
        BTreeSet::from([
            (rows.id(0).unwrap().to_owned(), rows.name(0).unwrap().to_owned()),
            (rows.id(1).unwrap().to_owned(), rows.name(1).unwrap().to_owned()),
        ])
    };
    assert_eq!(ids(vec!["a", "b"]), ids(vec!["b", "a"]));
}

/// An array of strings as other libraries may export it: nobody has checked the bytes.
fn unchecked(values: &[&[u8]]) -> ArrayRef {
    let bytes = arrow_array::BinaryArray::from_iter_values(values);
    let data = bytes.into_data().into_builder().data_type(DataType::Utf8);
    // SAFETY: offsets and buffers are those of a valid array. That the bytes need not be UTF-8 is what the test is
    // about: nothing takes them for a `str` before `utf8::check`.
    let data = unsafe { data.build_unchecked() };
    Arc::new(StringArray::from(data))
}

#[test]
fn a_string_that_is_no_utf8_refuses_its_batch_or_is_left_out() {
    let texts = || unchecked(&[b"a", b"\xff", "\u{e9}".as_bytes(), b"\xc3"]);
    let field = Arc::new(Field::new("item", DataType::Utf8, false));
    let offsets = OffsetBuffer::new(vec![0, 1, 1, 4].into());
    let lists = ListArray::new(field.clone(), offsets, texts(), None);
    let keys = Int32Array::from(vec![Some(3), Some(0), None]);
    let dictionary = arrow_array::DictionaryArray::new(keys, texts());
    let inner = StructArray::from(vec![(field, texts())]);
    let cases: [(ArrayRef, &[usize]); 4] =
        [(texts(), &[1, 3]), (Arc::new(lists), &[2]), (Arc::new(dictionary), &[0]), (Arc::new(inner), &[1, 3])];
    for (array, bad) in cases {
        let rows = Int64Array::from_iter_values(0..array.len() as i64);
        let batch = table(vec![("n", Arc::new(rows)), ("text", array)]);
        let text = refusal(encode(&batch, &RowPlan::default(), None));
        assert_eq!(text, format!("Column \"text\" has a string that is no UTF-8 in row {}", bad[0]));
        let plan = RowPlan { skip_invalid: true, ..RowPlan::default() };
        let rows = encode(&batch, &plan, Some(&mut AutoIds::new("s").unwrap())).unwrap();
        let left_out: Vec<_> = (0..rows.len()).filter(|row| rows.invalid.has(*row)).collect();
        assert_eq!(left_out, bad);
        assert!((0..rows.len()).all(|row| bad.contains(&row) == rows.data(row).is_empty()));
        // A column that is not used may have any bytes.
        let plan = RowPlan { data: Some(vec!["n".into()]), ..RowPlan::default() };
        assert!(encode(&batch, &plan, None).unwrap().invalid.is_empty());
    }
}

#[test]
fn an_exported_stream_is_read_batch_by_batch() {
    let one = table(vec![("x", Arc::new(Int64Array::from(vec![1, 2])))]);
    let two = table(vec![("x", Arc::new(Int64Array::from(vec![3])))]);
    let schema = one.schema();
    let reader = RecordBatchIterator::new(vec![Ok(one), Ok(two)], schema);
    let sizes: Vec<_> =
        stream(FFI_ArrowArrayStream::new(Box::new(reader))).unwrap().map(|b| b.unwrap().num_rows()).collect();
    assert_eq!(sizes, [2, 1]);
}

#[test]
fn only_a_record_batch_can_be_imported() {
    let array = Int64Array::from(vec![1]);
    let (raw, schema) = arrow_array::ffi::to_ffi(&array.to_data()).unwrap();
    // SAFETY: just exported by arrow itself.
    let text = unsafe { batch(raw, &schema) }.unwrap_err().to_string();
    assert!(text.contains("array of Int64"), "{text}");
    let rows = StructArray::from(table(vec![("x", Arc::new(Int64Array::from(vec![1, 2])))]));
    let (raw, schema) = arrow_array::ffi::to_ffi(&rows.to_data()).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { batch(raw, &schema) }.unwrap().num_rows(), 2);
}
