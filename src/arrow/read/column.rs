//! A column that grows by one scalar at a time and can be cut back, since a value may turn out to be broken in its
//! middle.

use std::sync::Arc;

use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, LargeListArray,
    ListArray, MapArray, NullArray, PrimitiveArray, StringArray, StructArray, UInt64Array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, FieldRef, TimeUnit};

use super::scalar::Scalar;
use bullrush::error::Error;

/// The values of one column, with nested columns.
pub(super) struct Column {
    data_type: DataType,
    valid: Vec<bool>,
    pub kind: Kind,
}

pub(super) enum Kind {
    Null,
    Bool(Vec<bool>),
    Integer {
        values: Vec<i64>,
        least: i64,
        most: i64,
    },
    /// Up to 2^64.
    Unsigned(Vec<u64>),
    Float(Vec<f64>),
    /// Numbers that a float of 32 bits can be.
    Single(Vec<f64>),
    Decimal(Vec<i128>, u8, i8),
    /// Days.
    Date(Vec<i32>),
    Instant(Vec<i64>, TimeUnit),
    Text(Strings),
    Binary(Strings),
    /// Where each list ends.
    List(Vec<i32>, Box<Column>),
    /// Where each map ends, keys and values.
    Map(Vec<i32>, Box<Column>, Box<Column>),
    Struct(Vec<String>, Vec<Column>),
}

/// Byte strings in one buffer.
#[derive(Default)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl Strings {
    /// False when the buffer would be longer than Arrow's offsets can say.
    fn push(&mut self, bytes: &[u8]) -> bool {
        let Ok(end) = i32::try_from(self.bytes.len() + bytes.len()) else {
            self.ends.push(self.end());
            return false;
        };
        self.bytes.extend_from_slice(bytes);
        self.ends.push(end);
        true
    }

    fn end(&self) -> i32 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(usize::try_from(self.end()).unwrap_or(0));
    }
}

impl Column {
    /// # Errors
    /// `InvalidOption` when values of this type cannot be read from JSON.
    pub fn new(data_type: &DataType) -> Result<Self, Error> {
        let nested = |field: &FieldRef| Column::new(field.data_type()).map(Box::new);
        let integer = |least: i64, most: i64| Kind::Integer { values: Vec::new(), least, most };
        let kind = match data_type {
            DataType::Null => Kind::Null,
            DataType::Boolean => Kind::Bool(Vec::new()),
            DataType::Int8 => integer(i8::MIN.into(), i8::MAX.into()),
            DataType::Int16 => integer(i16::MIN.into(), i16::MAX.into()),
            DataType::Int32 => integer(i32::MIN.into(), i32::MAX.into()),
            DataType::Int64 => integer(i64::MIN, i64::MAX),
            DataType::UInt8 => integer(0, u8::MAX.into()),
            DataType::UInt16 => integer(0, u16::MAX.into()),
            DataType::UInt32 => integer(0, u32::MAX.into()),
            DataType::UInt64 => Kind::Unsigned(Vec::new()),
            DataType::Float32 => Kind::Single(Vec::new()),
            DataType::Float64 => Kind::Float(Vec::new()),
            DataType::Decimal128(precision, scale) => Kind::Decimal(Vec::new(), *precision, *scale),
            DataType::Date32 => Kind::Date(Vec::new()),
            DataType::Timestamp(unit, _) => Kind::Instant(Vec::new(), *unit),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text(Strings::default()),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Kind::Binary(Strings::default()),
            DataType::List(item) | DataType::LargeList(item) => Kind::List(Vec::new(), nested(item)?),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 && *fields[0].data_type() == DataType::Utf8 => {
                    Kind::Map(Vec::new(), nested(&fields[0])?, nested(&fields[1])?)
                }
                _ => return Err(Error::InvalidOption("A map in JSON has keys of type string".to_owned())),
            },
            DataType::Struct(fields) => {
                let columns = fields.iter().map(|field| Column::new(field.data_type())).collect::<Result<_, _>>()?;
                Kind::Struct(fields.iter().map(|field| field.name().clone()).collect(), columns)
            }
            other => return Err(Error::InvalidOption(format!("A column of {other} cannot be read from a job"))),
        };
        Ok(Self { data_type: data_type.clone(), valid: Vec::new(), kind })
    }

    pub fn len(&self) -> usize {
        self.valid.len()
    }

    /// Adds a scalar; false when it does not fit the type and null was added instead.
    pub fn push(&mut self, scalar: Scalar<'_>) -> bool {
        fn add<T: Default>(values: &mut Vec<T>, value: Option<T>) -> bool {
            let fits = value.is_some();
            values.push(value.unwrap_or_default());
            fits
        }
        let fits = scalar != Scalar::Null
            && match &mut self.kind {
                Kind::Null => false,
                Kind::Bool(values) => add(values, scalar.bool()),
                Kind::Integer { values, least, most } => {
                    let value = scalar.integer().and_then(|value| i64::try_from(value).ok());
                    add(values, value.filter(|value| (*least..=*most).contains(value)))
                }
                Kind::Unsigned(values) => add(values, scalar.integer().and_then(|value| u64::try_from(value).ok())),
                Kind::Float(values) => add(values, scalar.float()),
                Kind::Single(values) => add(values, scalar.single()),
                Kind::Decimal(values, precision, scale) => add(values, scalar.decimal(*precision, *scale)),
                Kind::Date(values) => add(values, scalar.date()),
                Kind::Instant(values, unit) => add(values, scalar.instant(*unit)),
                Kind::Text(strings) => strings.push(scalar.text().unwrap_or_default().as_bytes()),
                Kind::Binary(strings) => match scalar.binary() {
                    Some(bytes) => strings.push(&bytes),
                    None => !strings.push(b""),
                },
                Kind::List(..) | Kind::Map(..) | Kind::Struct(..) => {
                    self.push_null();
                    return false;
                }
            };
        if scalar == Scalar::Null || matches!(self.kind, Kind::Null) {
            self.push_null();
            return scalar == Scalar::Null;
        }
        self.valid.push(fits);
        fits
    }

    pub fn push_null(&mut self) {
        self.valid.push(false);
        match &mut self.kind {
            Kind::Null => {}
            Kind::Bool(values) => values.push(false),
            Kind::Integer { values, .. } | Kind::Instant(values, _) => values.push(0),
            Kind::Date(days) => days.push(0),
            Kind::Unsigned(values) => values.push(0),
            Kind::Float(values) | Kind::Single(values) => values.push(0.0),
            Kind::Decimal(values, ..) => values.push(0),
            Kind::Text(strings) | Kind::Binary(strings) => strings.ends.push(strings.end()),
            Kind::List(ends, _) | Kind::Map(ends, ..) => ends.push(ends.last().copied().unwrap_or(0)),
            Kind::Struct(_, columns) => columns.iter_mut().for_each(Column::push_null),
        }
    }

    /// Ends a list, a map or a struct whose members were added.
    pub fn end_composite(&mut self) {
        self.valid.push(true);
        match &mut self.kind {
            Kind::List(ends, member) | Kind::Map(ends, member, _) => {
                ends.push(i32::try_from(member.len()).expect("fewer members than bytes of a value"));
            }
            _ => {}
        }
    }

    /// Adds a struct with a single field from a value that is no object; false when it does not fit.
    pub fn push_only_field(&mut self, raw: &[u8]) -> bool {
        match &mut self.kind {
            Kind::Struct(_, columns) if columns.len() == 1 => {
                let fits = columns[0].push_json(raw);
                self.valid.push(true);
                fits
            }
            _ => self.push_json(raw),
        }
    }

    /// Cuts off all values from row `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.valid.truncate(len);
        match &mut self.kind {
            Kind::Null => {}
            Kind::Bool(values) => values.truncate(len),
            Kind::Integer { values, .. } | Kind::Instant(values, _) => values.truncate(len),
            Kind::Date(days) => days.truncate(len),
            Kind::Unsigned(values) => values.truncate(len),
            Kind::Float(values) | Kind::Single(values) => values.truncate(len),
            Kind::Decimal(values, ..) => values.truncate(len),
            Kind::Text(strings) | Kind::Binary(strings) => strings.truncate(len),
            Kind::List(ends, item) => {
                ends.truncate(len);
                item.truncate(usize::try_from(ends.last().copied().unwrap_or(0)).unwrap_or(0));
            }
            Kind::Map(ends, keys, values) => {
                ends.truncate(len);
                let members = usize::try_from(ends.last().copied().unwrap_or(0)).unwrap_or(0);
                keys.truncate(members);
                values.truncate(members);
            }
            Kind::Struct(_, columns) => columns.iter_mut().for_each(|column| column.truncate(len)),
        }
    }

    /// The columns of a struct, each with as many rows as the struct.
    pub fn into_fields(self) -> Vec<Column> {
        match self.kind {
            Kind::Struct(_, columns) => columns,
            _ => vec![self],
        }
    }

    /// # Errors
    /// What Arrow reports; not expected.
    pub fn finish(self) -> Result<ArrayRef, ArrowError> {
        let rows = self.valid.len();
        let nulls = Some(NullBuffer::from(self.valid)).filter(|nulls| nulls.null_count() > 0);
        let strings = |strings: Strings| (offsets(strings.ends), Buffer::from_vec(strings.bytes));
        let array: ArrayRef = match self.kind {
            Kind::Null => Arc::new(NullArray::new(rows)),
            Kind::Bool(values) => Arc::new(BooleanArray::new(values.into(), nulls)),
            Kind::Integer { values, .. } => Arc::new(Int64Array::new(values.into(), nulls)),
            Kind::Unsigned(values) => Arc::new(UInt64Array::new(values.into(), nulls)),
            Kind::Float(values) | Kind::Single(values) => Arc::new(Float64Array::new(values.into(), nulls)),
            Kind::Decimal(values, precision, scale) => {
                Arc::new(Decimal128Array::new(values.into(), nulls).with_precision_and_scale(precision, scale)?)
            }
            Kind::Date(values) => Arc::new(Date32Array::new(values.into(), nulls)),
            Kind::Instant(values, unit) => instants(values.into(), nulls, unit, &self.data_type),
            Kind::Text(texts) => {
                let (offsets, bytes) = strings(texts);
                Arc::new(StringArray::try_new(offsets, bytes, nulls)?)
            }
            Kind::Binary(texts) => {
                let (offsets, bytes) = strings(texts);
                Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?)
            }
            Kind::List(ends, item) => match &self.data_type {
                DataType::LargeList(field) => {
                    let ends = std::iter::once(0).chain(ends.into_iter().map(i64::from)).collect::<Vec<_>>();
                    let offsets = OffsetBuffer::new(ends.into());
                    Arc::new(LargeListArray::try_new(field.clone(), offsets, item.finish()?, nulls)?)
                }
                DataType::List(field) => {
                    Arc::new(ListArray::try_new(field.clone(), offsets(ends), item.finish()?, nulls)?)
                }
                other => unreachable!("a list column has the type {other}"),
            },
            Kind::Map(ends, keys, values) => {
                let DataType::Map(field, sorted) = &self.data_type else { unreachable!("a map column") };
                let DataType::Struct(members) = field.data_type() else { unreachable!("a map has entries") };
                let entries = StructArray::try_new(members.clone(), vec![keys.finish()?, values.finish()?], None)?;
                Arc::new(MapArray::try_new(field.clone(), offsets(ends), entries, nulls, *sorted)?)
            }
            Kind::Struct(_, columns) => {
                let DataType::Struct(fields) = &self.data_type else { unreachable!("a struct column") };
                let arrays = columns.into_iter().map(Column::finish).collect::<Result<Vec<_>, _>>()?;
                match arrays.is_empty() {
                    true => Arc::new(StructArray::new_empty_fields(rows, nulls)),
                    false => Arc::new(StructArray::try_new(fields.clone(), arrays, nulls)?),
                }
            }
        };
        match *array.data_type() == self.data_type {
            true => Ok(array),
            false => cast(&array, &self.data_type),
        }
    }
}

fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(std::iter::once(0).chain(ends).collect::<Vec<_>>().into())
}

fn instants(values: ScalarBuffer<i64>, nulls: Option<NullBuffer>, unit: TimeUnit, data_type: &DataType) -> ArrayRef {
    let zone = match data_type {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    match unit {
        TimeUnit::Second => Arc::new(PrimitiveArray::<TimestampSecondType>::new(values, nulls).with_timezone_opt(zone)),
        TimeUnit::Millisecond => {
            Arc::new(PrimitiveArray::<TimestampMillisecondType>::new(values, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Microsecond => {
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(values, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Nanosecond => {
            Arc::new(PrimitiveArray::<TimestampNanosecondType>::new(values, nulls).with_timezone_opt(zone))
        }
    }
}
