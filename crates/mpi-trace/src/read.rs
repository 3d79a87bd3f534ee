//! A trace out of a Parquet file.

use bytes::Bytes;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use serde_json::Value;

use crate::error::Error;
use crate::guard::guarded;
use crate::write::{KEY, VERSION};
use crate::{Call, Operation, Trace, digest};

/// Ranks of a trace at most; a wrong number must not take the machine's memory.
const RANKS_MAX: u64 = 1 << 20;

/// The trace in a file's bytes.
pub(crate) fn trace(bytes: &[u8]) -> Result<Trace, Error> {
    verify(bytes)?;
    guarded("the MPI trace", || decode(bytes)).unwrap_or_else(|why| Err(Error::Undecodable(why)))
}

fn decode(bytes: &[u8]) -> Result<Trace, Error> {
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes))?;
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let metadata = metadata.into_iter().flatten().find(|entry| entry.key == KEY);
    let metadata = metadata.and_then(|entry| entry.value.as_deref());
    let metadata = metadata.ok_or(Error::Foreign("it has no metadata `suimon.mpi`"))?;
    let mut trace = empty_trace(metadata)?;
    let mut row = 0;
    for index in 0..reader.num_row_groups() {
        let columns = Columns::read(reader.get_row_group(index)?.as_ref())?;
        row = columns.append_to(&mut trace, row)?;
    }
    Ok(trace)
}

/// Parquet's decoders trust their input in places: what was changed is refused before they see it.
fn verify(bytes: &[u8]) -> Result<(), Error> {
    if bytes.get(digest::MARK) != Some(&digest::MARK_BYTES[..]) {
        return Err(Error::Foreign("its first bytes are wrong"));
    }
    let digest = bytes.get(digest::DIGEST).ok_or(Error::Damaged)?;
    if digest != digest::of(bytes).to_le_bytes() {
        return Err(Error::Damaged);
    }
    Ok(())
}

/// A trace without calls, from what the file says of itself.
fn empty_trace(metadata: &str) -> Result<Trace, Error> {
    let wrong = |what: &str| Error::Metadata(what.to_owned());
    let metadata: Value = serde_json::from_str(metadata).map_err(|e| wrong(&e.to_string()))?;
    match metadata["version"].as_u64() {
        Some(VERSION) => {}
        Some(other) => return Err(Error::Version(other)),
        None => return Err(wrong("`version` is missing")),
    }
    let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
    let ranks = metadata["ranks"].as_u64().filter(|&ranks| ranks <= RANKS_MAX);
    let ranks = ranks.ok_or_else(|| wrong("`ranks` is not a valid number"))?;
    let members = metadata["communicators"].as_object();
    let members = members.ok_or_else(|| wrong("`communicators` is not a table"))?;
    let communicators = (0..members.len()).map(|id| {
        let members = members.get(&id.to_string()).and_then(Value::as_array);
        let members = members.ok_or_else(|| wrong("`communicators` are not numbered from 0"))?;
        let member = |member: &Value| {
            let member = member.as_u64().filter(|&member| member < ranks);
            let member = member.and_then(|member| u32::try_from(member).ok());
            member.ok_or_else(|| wrong("a member of a communicator is not a rank"))
        };
        members.iter().map(member).collect()
    });
    Ok(Trace {
        program: text("program"),
        library: text("library"),
        library_version: text("library_version"),
        communicators: communicators.collect::<Result<_, Error>>()?,
        ranks: (0..ranks).map(|_| Vec::new()).collect(),
    })
}

/// The columns of a row group; integers as they were written.
struct Columns {
    rank: Vec<i64>,
    operation: Vec<Operation>,
    peer: Vec<i64>,
    bytes: Vec<i64>,
    tag: Vec<i64>,
    communicator: Vec<i64>,
    start: Vec<i64>,
    end: Vec<i64>,
    computing: Vec<i64>,
    requests: Lists,
    counts: Lists,
}

/// The lists of a column: their values one behind the other, and how many each has.
struct Lists {
    values: Vec<i64>,
    lengths: Vec<usize>,
}

impl Columns {
    fn read(group: &dyn RowGroupReader) -> Result<Self, Error> {
        Ok(Self {
            rank: integers(group, "rank")?,
            operation: operations(group, "operation")?,
            peer: integers(group, "peer")?,
            bytes: integers(group, "bytes")?,
            tag: integers(group, "tag")?,
            communicator: integers(group, "communicator")?,
            start: integers(group, "start")?,
            end: integers(group, "end")?,
            computing: integers(group, "computing")?,
            requests: lists(group, "requests")?,
            counts: lists(group, "counts")?,
        })
    }

    /// Adds the group's calls, whose first is the file's call `first`; returns the number behind its last.
    fn append_to(self, trace: &mut Trace, first: usize) -> Result<usize, Error> {
        let calls = self.rank.len();
        let mut requests = self.requests.values.iter();
        let mut counts = self.counts.values.iter();
        for index in 0..calls {
            let row = first + index;
            let rank = below(self.rank[index], trace.ranks.len(), "rank", row)?;
            let communicators = trace.communicators.len();
            let communicator = self.communicator[index];
            let communicator = below(communicator, communicators, "communicator", row)?;
            let peer = match self.peer[index] {
                -1 => None,
                peer => Some(below(peer, trace.ranks.len(), "peer", row)?),
            };
            let requests = requests.by_ref().take(self.requests.lengths[index]);
            let counts = counts.by_ref().take(self.counts.lengths[index]);
            let call = Call {
                operation: self.operation[index],
                peer,
                bytes: within(self.bytes[index], "bytes", row)?,
                tag: within(self.tag[index], "tag", row)?,
                communicator,
                start: within(self.start[index], "start", row)?,
                end: within(self.end[index], "end", row)?,
                computing: within(self.computing[index], "computing", row)?,
                requests: requests
                    .map(|&r| within(r, "requests", row))
                    .collect::<Result<_, _>>()?,
                counts: counts.map(|&c| within(c, "counts", row)).collect::<Result<_, _>>()?,
            };
            if call.end < call.start {
                return Err(Error::Value { column: "end", value: self.end[index], row });
            }
            trace.ranks[rank as usize].push(call);
        }
        Ok(first + calls)
    }
}

fn within<T: TryFrom<i64>>(value: i64, column: &'static str, row: usize) -> Result<T, Error> {
    T::try_from(value).map_err(|_| Error::Value { column, value, row })
}

fn below(value: i64, end: usize, column: &'static str, row: usize) -> Result<u32, Error> {
    let number: u32 = within(value, column, row)?;
    if (number as usize) < end { Ok(number) } else { Err(Error::Value { column, value, row }) }
}

/// What a column chunk holds: values, and the levels that say which rows they belong to.
struct Chunk<T> {
    values: Vec<T>,
    /// For lists: whether there is a value.
    definitions: Vec<i16>,
    /// For lists: whether it belongs to the row of the one before.
    repetitions: Vec<i16>,
}

fn chunk<T: DataType>(rows: usize, mut reader: ColumnReaderImpl<T>) -> Result<Chunk<T::T>, Error> {
    let mut chunk = Chunk { values: Vec::new(), definitions: Vec::new(), repetitions: Vec::new() };
    let (definitions, repetitions) = (&mut chunk.definitions, &mut chunk.repetitions);
    reader.read_records(rows, Some(definitions), Some(repetitions), &mut chunk.values)?;
    Ok(chunk)
}

fn rows(group: &dyn RowGroupReader) -> usize {
    usize::try_from(group.metadata().num_rows()).unwrap_or(0)
}

fn reader(group: &dyn RowGroupReader, name: &'static str) -> Result<ColumnReader, Error> {
    let of_name = |column: &_| -> bool {
        let column: &parquet::file::metadata::ColumnChunkMetaData = column;
        column.column_path().parts().first().is_some_and(|part| part == name)
    };
    let place = group.metadata().columns().iter().position(of_name);
    Ok(group.get_column_reader(place.ok_or(Error::Column(name))?)?)
}

fn integer_chunk(group: &dyn RowGroupReader, name: &'static str) -> Result<Chunk<i64>, Error> {
    match reader(group, name)? {
        ColumnReader::Int64ColumnReader(reader) => chunk(rows(group), reader),
        ColumnReader::Int32ColumnReader(reader) => {
            let Chunk { values, definitions, repetitions } = chunk(rows(group), reader)?;
            let values = values.into_iter().map(i64::from).collect();
            Ok(Chunk { values, definitions, repetitions })
        }
        _ => Err(Error::Column(name)),
    }
}

fn integers(group: &dyn RowGroupReader, name: &'static str) -> Result<Vec<i64>, Error> {
    let values = integer_chunk(group, name)?.values;
    if values.len() == rows(group) { Ok(values) } else { Err(Error::Column(name)) }
}

fn operations(group: &dyn RowGroupReader, name: &'static str) -> Result<Vec<Operation>, Error> {
    let ColumnReader::ByteArrayColumnReader(reader) = reader(group, name)? else {
        return Err(Error::Column(name));
    };
    let names = chunk(rows(group), reader)?.values;
    if names.len() != rows(group) {
        return Err(Error::Column(name));
    }
    names.iter().map(|name| name.as_utf8()?.parse()).collect()
}

fn lists(group: &dyn RowGroupReader, name: &'static str) -> Result<Lists, Error> {
    let chunk = integer_chunk(group, name)?;
    let mut lengths: Vec<usize> = Vec::with_capacity(chunk.repetitions.len());
    for (definition, repetition) in chunk.definitions.iter().zip(&chunk.repetitions) {
        if *repetition == 0 {
            lengths.push(0);
        }
        let length = lengths.last_mut().ok_or(Error::Column(name))?;
        *length += usize::from(*definition > 0);
    }
    let complete =
        lengths.len() == rows(group) && lengths.iter().sum::<usize>() == chunk.values.len();
    if complete { Ok(Lists { values: chunk.values, lengths }) } else { Err(Error::Column(name)) }
}
