//! Batches from and for other Arrow libraries, through the C data interface. The caller moves the C structs out of
//! their capsules.

use arrow_array::ffi::{from_ffi, FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Schema};

use bullrush::error::Error;

/// Take over one exported batch.
///
/// # Errors
/// `InvalidOption` when it is not a batch (a struct without nulls of its own).
///
/// # Safety
/// Both structs must follow the C data interface, and nobody else may release them.
pub unsafe fn batch(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> Result<RecordBatch, Error> {
    // SAFETY: the caller promises the same.
    let data = unsafe { from_ffi(array, schema) }.map_err(refuse)?;
    if !matches!(data.data_type(), DataType::Struct(_)) {
        return Err(Error::InvalidOption(format!(
            "Jobs need record batches, this is an array of {}",
            data.data_type()
        )));
    }
    let rows = StructArray::from(data);
    if rows.null_count() > 0 {
        return Err(Error::InvalidOption("A row of the batch is null as a whole".to_owned()));
    }
    Ok(RecordBatch::from(rows))
}

/// Take over an exported stream; only the schema is read.
///
/// # Errors
/// `InvalidOption` when the stream fails or its schema cannot be read.
pub fn stream(stream: FFI_ArrowArrayStream) -> Result<Batches, Error> {
    ArrowArrayStreamReader::try_new(stream).map(Batches).map_err(refuse)
}

/// The batches of a stream. Its producer may run Python code on `next`: call it attached to the interpreter.
#[derive(Debug)]
pub struct Batches(ArrowArrayStreamReader);

impl Iterator for Batches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(refuse))
    }
}

/// Read an exported schema.
///
/// # Errors
/// `InvalidOption` when it is not that of batches.
pub fn schema(schema: &FFI_ArrowSchema) -> Result<Schema, Error> {
    Schema::try_from(schema).map_err(refuse)
}

/// Export a batch, as one array of structs.
///
/// # Errors
/// `InvalidOption` when the C data interface has no such type; not expected.
pub fn export(batch: RecordBatch) -> Result<(FFI_ArrowArray, FFI_ArrowSchema), Error> {
    let schema = batch.schema();
    let array = FFI_ArrowArray::new(&StructArray::from(batch).into_data());
    Ok((array, FFI_ArrowSchema::try_from(schema.as_ref()).map_err(refuse)?))
}

fn refuse(error: ArrowError) -> Error {
    Error::InvalidOption(format!("The Arrow data cannot be read: {error}"))
}
