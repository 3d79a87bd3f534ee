//! A trace as a Parquet file.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::{Call, Trace, digest};

/// The key of the file's metadata.
pub(crate) const KEY: &str = "suimon.mpi";
/// The version of the format.
pub(crate) const VERSION: u64 = 1;
/// Calls of a row group; a rank's calls begin a new one.
const GROUP_CALLS: usize = 1 << 18;
/// How hard zstd tries.
const LEVEL: i32 = 12;

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

/// The whole file.
pub(crate) fn bytes(trace: &Trace) -> Result<Vec<u8>, Error> {
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema()?, Arc::new(properties(trace)?))?;
    writer.write_all(&digest::MARK_BYTES)?;
    writer.write_all(&[0; 8])?;
    for (rank, calls) in trace.ranks.iter().enumerate() {
        for calls in calls.chunks(GROUP_CALLS) {
            let mut group = writer.next_row_group()?;
            write_group(&mut group, int32(rank)?, calls)?;
            group.close()?;
        }
    }
    let mut file = writer.into_inner()?;
    let digest = digest::of(&file);
    file[digest::DIGEST].copy_from_slice(&digest.to_le_bytes());
    Ok(file)
}

fn schema() -> ParquetResult<TypePtr> {
    let column = |name, physical, logical| {
        let builder = Type::primitive_type_builder(name, physical);
        builder.with_repetition(Repetition::REQUIRED).with_logical_type(logical).build()
    };
    let plain = |name, physical| column(name, physical, None);
    // Parquet's three-level list, which every reader takes for a list: no null anywhere.
    let list = |name, physical| {
        let element = Arc::new(plain("element", physical)?);
        let entries = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
        let entries = Arc::new(entries.with_fields(vec![element]).build()?);
        let list = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED);
        list.with_logical_type(Some(LogicalType::List)).with_fields(vec![entries]).build()
    };
    let columns = [
        plain("rank", Physical::INT32),
        column("operation", Physical::BYTE_ARRAY, Some(LogicalType::String)),
        plain("peer", Physical::INT32),
        plain("bytes", Physical::INT64),
        plain("tag", Physical::INT32),
        plain("communicator", Physical::INT32),
        plain("start", Physical::INT64),
        plain("end", Physical::INT64),
        plain("computing", Physical::INT64),
        list("requests", Physical::INT32),
        list("counts", Physical::INT64),
    ];
    let columns = columns.into_iter().map(|column| column.map(Arc::new));
    let columns = columns.collect::<ParquetResult<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("call").with_fields(columns).build()?))
}

fn properties(trace: &Trace) -> ParquetResult<WriterProperties> {
    let metadata = KeyValue::new(KEY.to_owned(), metadata(trace).to_string());
    let mut builder = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![metadata]))
        .set_created_by(concat!("suimon ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?));
    // Hardly any of these equals another. Rising columns have small differences. Times of computing have similar high
    // bytes, which compress well when they are adjacent.
    let encodings = [
        (&["start"][..], Encoding::DELTA_BINARY_PACKED),
        (&["end"], Encoding::DELTA_BINARY_PACKED),
        (&["computing"], Encoding::BYTE_STREAM_SPLIT),
        (&["requests", "list", "element"], Encoding::DELTA_BINARY_PACKED),
    ];
    for (path, encoding) in encodings {
        let path = ColumnPath::new(path.iter().map(|&part| part.to_owned()).collect());
        builder = builder.set_column_dictionary_enabled(path.clone(), false);
        builder = builder.set_column_encoding(path, encoding);
    }
    Ok(builder.build())
}

fn metadata(trace: &Trace) -> Value {
    let members = trace.communicators.iter().enumerate();
    let members: Map<_, _> = members.map(|(id, m)| (id.to_string(), json!(m))).collect();
    json!({
        "version": VERSION,
        "program": trace.program,
        "library": trace.library,
        "library_version": trace.library_version,
        "ranks": trace.ranks.len(),
        "communicators": members,
    })
}

fn write_group(group: &mut Group<'_>, rank: i32, calls: &[Call]) -> Result<(), Error> {
    let requests = |call: &Call| call.requests.iter().map(|&r| int32(r)).collect();
    let counts = |call: &Call| call.counts.iter().map(|&c| int64(c)).collect();
    scalars::<Int32Type>(group, calls, |_| Ok(rank))?;
    scalars::<ByteArrayType>(group, calls, |call| Ok(ByteArray::from(call.operation.name())))?;
    scalars::<Int32Type>(group, calls, |call| call.peer.map_or(Ok(-1), int32))?;
    scalars::<Int64Type>(group, calls, |call| int64(call.bytes))?;
    scalars::<Int32Type>(group, calls, |call| Ok(call.tag))?;
    scalars::<Int32Type>(group, calls, |call| int32(call.communicator))?;
    scalars::<Int64Type>(group, calls, |call| int64(call.start))?;
    scalars::<Int64Type>(group, calls, |call| int64(call.end))?;
    scalars::<Int64Type>(group, calls, |call| int64(call.computing))?;
    lists::<Int32Type>(group, calls, requests)?;
    lists::<Int64Type>(group, calls, counts)
}

/// Parquet has signed integers only, as every reader knows them.
fn int32(value: impl TryInto<i32>) -> Result<i32, Error> {
    value.try_into().map_err(|_| Error::Foreign("a number of it does not fit 31 bits"))
}

fn int64(value: u64) -> Result<i64, Error> {
    value.try_into().map_err(|_| Error::Foreign("a number of it does not fit 63 bits"))
}

fn scalars<T: DataType>(
    group: &mut Group<'_>,
    calls: &[Call],
    value: impl Fn(&Call) -> Result<T::T, Error>,
) -> Result<(), Error> {
    let values = calls.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    column::<T>(group, |writer| writer.write_batch(&values, None, None))
}

fn lists<T: DataType>(
    group: &mut Group<'_>,
    calls: &[Call],
    list: impl Fn(&Call) -> Result<Vec<T::T>, Error>,
) -> Result<(), Error> {
    // Definition 1: there is a value. Repetition 1: it belongs to the row of the one before.
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    for call in calls {
        let list = list(call)?;
        definitions.extend((0..list.len().max(1)).map(|_| i16::from(!list.is_empty())));
        repetitions.extend((0..list.len().max(1)).map(|place| i16::from(place > 0)));
        values.extend(list);
    }
    column::<T>(group, |writer| writer.write_batch(&values, Some(&definitions), Some(&repetitions)))
}

fn column<T: DataType>(
    group: &mut Group<'_>,
    write: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> ParquetResult<usize>,
) -> Result<(), Error> {
    let chunk = group.next_column()?;
    let mut chunk = chunk.ok_or_else(|| ParquetError::General("no column is left".to_owned()))?;
    write(chunk.typed::<T>())?;
    Ok(chunk.close()?)
}
