//! A table as a stream of Arrow's record batches, through Arrow's PyCapsule interface.
//!
//! The file is read batch by batch as the stream's consumer asks, and what is read is handed over: the consumer's
//! table is the only one in memory. Parquet's decoder panics on some damaged files: that is an error of the file,
//! also where Arrow's stream calls it, which no panic may leave.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use mpi_trace::guarded;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::experiment::text;

/// Rows of a batch: as many as fit a CPU's cache.
const BATCH_ROWS: usize = 1 << 16;

/// A Parquet file of a run or a sweep.
#[pyclass(frozen, module = "suimon._suimon")]
pub(crate) struct Table {
    path: PathBuf,
    schema: SchemaRef,
    rows: i64,
}

#[pymethods]
impl Table {
    /// Opens the file and reads its metadata.
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let (_, metadata) = open(&path).map_err(|error| unread(&path, &error))?;
        let rows = metadata.metadata().file_metadata().num_rows();
        Ok(Self { schema: Arc::clone(metadata.schema()), rows, path })
    }

    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Its columns, in order, with their Arrow types.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        let fields = self.schema.fields().iter();
        fields.map(|field| (field.name().clone(), field.data_type().to_string())).collect()
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(0)
    }

    /// The values of each column in rows `start` to `stop`, the latter not included; `None` where there is no value.
    fn read(&self, py: Python<'_>, start: usize, stop: usize) -> PyResult<Vec<Py<PyList>>> {
        let lists: Vec<_> = self.schema.fields().iter().map(|_| PyList::empty(py)).collect();
        let reader = open(&self.path).and_then(|(file, metadata)| {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
            let rows = stop.saturating_sub(start);
            let builder = builder.with_batch_size(BATCH_ROWS).with_offset(start).with_limit(rows);
            guarded(&text(&self.path), || builder.build()).unwrap_or_else(|why| Err(damaged(&why)))
        });
        let reader = reader.map_err(|error| unread(&self.path, &error))?;
        let batches =
            Batches { path: self.path.clone(), schema: reader.schema(), left: Some(reader) };
        for batch in batches {
            let batch = batch.map_err(|error| unread(&self.path, &error))?;
            for (list, column) in lists.iter().zip(batch.columns()) {
                append(list, column.as_ref())?;
            }
        }
        Ok(lists.into_iter().map(Bound::unbind).collect())
    }

    /// Arrow's schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(|error| unread(&self.path, &error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Arrow's stream of record batches. A requested schema is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = open(&self.path).and_then(|(file, metadata)| {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
            let builder = builder.with_batch_size(BATCH_ROWS);
            guarded(&text(&self.path), || builder.build()).unwrap_or_else(|why| Err(damaged(&why)))
        });
        let reader = reader.map_err(|error| unread(&self.path, &error))?;
        let stream =
            Batches { path: self.path.clone(), schema: reader.schema(), left: Some(reader) };
        let stream: Box<dyn RecordBatchReader + Send> = Box::new(stream);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(stream), c"arrow_array_stream")
    }
}

/// Adds the values of a column to a list.
fn append(list: &Bound<'_, PyList>, column: &dyn Array) -> PyResult<()> {
    if let Some(values) = column.as_primitive_opt::<Int64Type>() {
        return values.iter().try_for_each(|value| list.append(value));
    }
    if let Some(values) = column.as_primitive_opt::<Float64Type>() {
        return values.iter().try_for_each(|value| list.append(value));
    }
    if let Some(values) = column.as_string_view_opt() {
        return values.iter().try_for_each(|value| list.append(value));
    }
    Err(PyOSError::new_err(format!("a column of {}: not from Suimon", column.data_type())))
}

/// The batches of a file, until its end or an error.
struct Batches {
    path: PathBuf,
    schema: SchemaRef,
    left: Option<ParquetRecordBatchReader>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.left.as_mut()?;
        let failed = |what: &dyn std::fmt::Display| {
            ArrowError::ParquetError(format!("{}: {what}", self.path.display()))
        };
        match guarded(&text(&self.path), || reader.next()) {
            Ok(next) => next.map(|batch| batch.map_err(|error| failed(&error))),
            Err(why) => {
                let error = failed(&damaged(&why));
                self.left = None;
                Some(Err(error))
            }
        }
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The file and its read options: texts as views, as in polars and DuckDB.
fn open(path: &Path) -> ParquetResult<(File, ArrowReaderMetadata)> {
    guarded(&text(path), || metadata(path)).unwrap_or_else(|why| Err(damaged(&why)))
}

fn metadata(path: &Path) -> ParquetResult<(File, ArrowReaderMetadata)> {
    let file = File::open(path)?;
    let found = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
    let fields = found.schema().fields().iter().map(|field| match field.data_type() {
        DataType::Utf8 => field.as_ref().clone().with_data_type(DataType::Utf8View),
        _ => field.as_ref().clone(),
    });
    let schema =
        Schema::new_with_metadata(fields.collect::<Vec<_>>(), found.schema().metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    let metadata = ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options)?;
    Ok((file, metadata))
}

/// The error for a panic of Parquet's decoder.
fn damaged(why: &str) -> ParquetError {
    ParquetError::General(format!("damaged: decoder error: {why}"))
}

fn unread(path: &Path, error: &dyn std::fmt::Display) -> PyErr {
    PyOSError::new_err(format!("{}: {error}", path.display()))
}
