//! Job data as JSON, one object per row, on arrow-json.
//!
//! Differences to the defaults of arrow-json, and the reasons:
//! - a null is written as `null`: a Node handler sees the key, never `undefined`;
//! - binary is base64 (arrow-json: hex), as in `Buffer.from(text, "base64")` and Spark's `base64()`;
//! - an instant (timestamp with a zone) is written in UTC with `Z`, whatever the zone of the session: the same row has
//!   the same bytes, and so the same automatic id, in every session; a timestamp without a zone has no suffix.
//!
//! - Spark's VARIANT is the JSON that it holds, an interval an ISO 8601 duration; 64-bit integers are strings on
//!   request.
//!
//! As in arrow-json: integers and decimals are numbers with all their digits (a reader that has only doubles rounds
//! them beyond 2^53), NaN and infinities are `null`, dates are `YYYY-MM-DD`; beyond the calendar they are `null`.

use std::fmt::Display;
use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Decimal32Type, Decimal64Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt64Type,
};
use arrow_array::{Array, ArrayAccessor, ArrowNativeTypeOp, RecordBatch, StructArray};
use arrow_buffer::ArrowNativeType;
use arrow_json::writer::{make_encoder, NullableEncoder};
use arrow_json::{Encoder, EncoderFactory, EncoderOptions};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, TimeUnit};
use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};

use super::intervals::Intervals;
use super::variant::{is_variant, Variants};
use super::Texts;
use bullrush::error::Error;

/// The day 1970-01-01, counted from the first day of the year 1.
const EPOCH: i32 = 719_163;

/// Encode every row of `batch` as one JSON object.
pub(super) fn encode(batch: &RecordBatch, longs_as_strings: bool) -> Result<Texts, Error> {
    let factory = Arc::new(JobJson { longs_as_strings });
    let options = EncoderOptions::default().with_explicit_nulls(true).with_encoder_factory(factory);
    let field = Arc::new(Field::new_struct("", batch.schema().fields().clone(), false));
    let array = StructArray::from(batch.clone());
    let refuse = |error: ArrowError| Error::InvalidOption(format!("The rows cannot be job data: {error}"));
    let mut encoder = make_encoder(&field, &array, &options).map_err(refuse)?;
    let rows = batch.num_rows();
    // An estimate, so that a buffer of a few MB seldom has to grow.
    let mut out = Texts::with_capacity(rows, rows * 24 * batch.num_columns().max(1));
    for row in 0..rows {
        encoder.encode(row, &mut out.bytes);
        out.end();
    }
    Ok(out)
}

#[derive(Debug)]
struct JobJson {
    longs_as_strings: bool,
}

impl EncoderFactory for JobJson {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Binary => Box::new(Base64(array.as_binary::<i32>())),
            DataType::LargeBinary => Box::new(Base64(array.as_binary::<i64>())),
            DataType::BinaryView => Box::new(Base64(array.as_binary_view())),
            DataType::FixedSizeBinary(_) => Box::new(Base64(array.as_fixed_size_binary())),
            DataType::Struct(_) if is_variant(array.data_type()) => Box::new(Variants::read(array.as_struct())?),
            DataType::Interval(unit) => Box::new(Intervals::read(array, *unit)?),
            DataType::Int64 if self.longs_as_strings => Box::new(Quoted(array.as_primitive::<Int64Type>().values())),
            DataType::UInt64 if self.longs_as_strings => Box::new(Quoted(array.as_primitive::<UInt64Type>().values())),
            // arrow-json says this, too, but not which column it is.
            DataType::Map(entries, _) if !has_text_keys(entries) => {
                return Err(ArrowError::JsonError(format!(
                    "column {:?} is a map with keys that are no strings",
                    field.name()
                )))
            }
            DataType::Timestamp(unit, zone) => Box::new(Instant::new(array, *unit, zone.is_some())),
            DataType::Date32 => Box::new(Days(array.as_primitive::<Date32Type>().values())),
            DataType::Date64 => {
                let values = array.as_primitive::<Date64Type>().values();
                Box::new(Instant { values, unit: TimeUnit::Millisecond, zoned: false })
            }
            DataType::Decimal32(_, scale @ ..0) => Box::new(Rounded::new::<Decimal32Type>(array, *scale)),
            DataType::Decimal64(_, scale @ ..0) => Box::new(Rounded::new::<Decimal64Type>(array, *scale)),
            DataType::Decimal128(_, scale @ ..0) => Box::new(Rounded::new::<Decimal128Type>(array, *scale)),
            DataType::Decimal256(_, scale @ ..0) => Box::new(Rounded::new::<Decimal256Type>(array, *scale)),
            // arrow-json checks only the keys of a dictionary for nulls and would write the bytes under a null value.
            DataType::Dictionary(_, _) if array.as_any_dictionary().values().null_count() > 0 => {
                return Err(ArrowError::JsonError(format!(
                    "column {:?} is a dictionary with null values",
                    field.name()
                )))
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

fn has_text_keys(entries: &Field) -> bool {
    let DataType::Struct(fields) = entries.data_type() else { return false };
    matches!(fields.first().map(|key| key.data_type()), Some(DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View))
}

struct Quoted<'a, T>(&'a [T]);

impl<T: Display> Encoder for Quoted<'_, T> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        write!(out, "\"{}\"", self.0[row]).expect("a Vec takes everything");
    }
}

/// Decimals without their last digits, which are zeros. arrow-json writes these after 0, too, which is no number of
/// JSON.
struct Rounded<'a, T> {
    values: &'a [T],
    zeros: usize,
}

impl<'a, T: ArrowNativeType> Rounded<'a, T> {
    fn new<D: ArrowPrimitiveType<Native = T>>(array: &'a dyn Array, scale: i8) -> Self {
        Rounded { values: array.as_primitive::<D>().values(), zeros: usize::from(scale.unsigned_abs()) }
    }
}

impl<T: ArrowNativeTypeOp + Display> Encoder for Rounded<'_, T> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let value = self.values[row];
        write!(out, "{value}").expect("a Vec takes everything");
        let zeros = if value.is_zero() { 0 } else { self.zeros };
        out.resize(out.len() + zeros, b'0');
    }
}

struct Base64<A>(A);

impl<'a, A: ArrayAccessor<Item = &'a [u8]>> Encoder for Base64<A> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        out.push(b'"');
        let bytes = self.0.value(row);
        let start = out.len();
        out.resize(start + bytes.len().div_ceil(3) * 4, 0);
        STANDARD.encode_slice(bytes, &mut out[start..]).expect("four bytes for each three");
        out.push(b'"');
    }
}

/// arrow-json writes the text of an error for days outside the range of the calendar.
struct Days<'a>(&'a [i32]);

impl Encoder for Days<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        match self.0[row].checked_add(EPOCH).and_then(NaiveDate::from_num_days_from_ce_opt) {
            Some(day) => write!(out, "\"{day}\"").expect("a Vec takes everything"),
            None => out.extend_from_slice(b"null"),
        }
    }
}

struct Instant<'a> {
    values: &'a [i64],
    unit: TimeUnit,
    zoned: bool,
}

impl<'a> Instant<'a> {
    fn new(array: &'a dyn Array, unit: TimeUnit, zoned: bool) -> Self {
        let values: &'a [i64] = match unit {
            TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
            TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
            TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
            TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
        };
        Self { values, unit, zoned }
    }

    fn at(&self, row: usize) -> Option<DateTime<Utc>> {
        let value = self.values[row];
        match self.unit {
            TimeUnit::Second => DateTime::from_timestamp(value, 0),
            TimeUnit::Millisecond => DateTime::from_timestamp_millis(value),
            TimeUnit::Microsecond => DateTime::from_timestamp_micros(value),
            TimeUnit::Nanosecond => Some(DateTime::from_timestamp_nanos(value)),
        }
    }
}

impl Encoder for Instant<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let Some(instant) = self.at(row) else {
            // Outside the range of the calendar: null, like infinite numbers.
            out.extend_from_slice(b"null");
            return;
        };
        let text = instant.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        out.push(b'"');
        out.extend_from_slice(if self.zoned { text.as_bytes() } else { text.trim_end_matches('Z').as_bytes() });
        out.push(b'"');
    }
}
