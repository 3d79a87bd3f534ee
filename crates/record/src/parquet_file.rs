//! The common parts of all tables in Parquet files, whether their columns are known beforehand or not: the
//! declaration of columns, the file's metadata, and the writing of nulls.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::{Type, TypePtr};

/// A row of these columns.
pub(crate) fn schema(
    columns: impl Iterator<Item = ParquetResult<TypePtr>>,
) -> ParquetResult<TypePtr> {
    let columns = columns.collect::<ParquetResult<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("row").with_fields(columns).build()?))
}

/// A column; byte arrays are text.
pub(crate) fn column(name: &str, physical: Physical, optional: bool) -> ParquetResult<TypePtr> {
    let repetition = if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let logical = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
    let builder = Type::primitive_type_builder(name, physical);
    Ok(Arc::new(builder.with_repetition(repetition).with_logical_type(logical).build()?))
}

/// Returns the file's properties: the writer's name, and `metadata` if there is some.
pub(crate) fn properties(metadata: Vec<KeyValue>) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_key_value_metadata(Some(metadata).filter(|metadata| !metadata.is_empty()))
        .set_created_by(concat!("suimon ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
}

/// Writes values, and null where there is none.
pub(crate) fn write_optional<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: impl Iterator<Item = Option<T::T>> + Clone,
) -> ParquetResult<usize> {
    // Parquet's definition levels: 1 where there is a value.
    let levels: Vec<i16> = values.clone().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.flatten().collect();
    writer.write_batch(&present, Some(&levels), None)
}

/// Runs `read`, which calls the Parquet library, on a file; a panic of the library becomes an error.
pub(crate) fn guarded<T>(path: &Path, read: impl FnOnce() -> ParquetResult<T>) -> ParquetResult<T> {
    let damaged = |why| ParquetError::General(format!("damaged: decoder error: {why}"));
    mpi_trace::guarded(&path.to_string_lossy(), read).unwrap_or_else(|why| Err(damaged(why)))
}
