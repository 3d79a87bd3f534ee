//! Tables as Parquet files: written one row group at a time as a run goes on, and read back in the same way.
//!
//! Integers are delta-packed (Parquet's `DELTA_BINARY_PACKED`), which makes a time column cost next to
//! nothing, and names are dictionary-encoded, so no compressor is needed and memory stays bounded.

use std::fs::File;
use std::io::ErrorKind;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Encoding, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, TypePtr};

use crate::error::Error;
use crate::folder::files::{Files, OutFile};
use crate::parquet_file::{self, guarded};
use crate::provenance;
use crate::regular;
use crate::rows::{Column, Kind, NOTHING, Name, Names, TableRow};

/// Memory that the rows of one group may take.
const GROUP_BYTES: usize = 1 << 20;
/// Rows turned into Parquet's own types at a time.
const BATCH_ROWS: usize = 1024;

/// A table while it is written: in memory, or a file that gets a row group whenever enough rows have come.
#[derive(Debug)]
pub(crate) struct Series<R: TableRow> {
    rows: Vec<R>,
    sink: Option<Sink<R>>,
    /// The first failure; the rows after it are dropped, and `finish` reports it.
    failed: Option<Error>,
}

/// A table that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Table<R> {
    /// In memory.
    Memory(Vec<R>, Arc<Names>),
    /// In a file.
    File(PathBuf),
}

#[derive(Debug)]
struct Sink<R: TableRow> {
    files: Files,
    /// None before the first row: a table without rows has no file.
    writer: Option<SerializedFileWriter<OutFile>>,
    names: Arc<Names>,
    row: PhantomData<R>,
}

impl<R: TableRow> Series<R> {
    /// A table in memory.
    pub(crate) const fn in_memory() -> Self {
        Self { rows: Vec::new(), sink: None, failed: None }
    }

    /// A table among `files`.
    pub(crate) fn in_file(files: &Files, names: Arc<Names>) -> Result<Self, Error> {
        let sink = Sink::new(files.clone(), names)?;
        Ok(Self { rows: Vec::new(), sink: Some(sink), failed: None })
    }

    #[inline]
    pub(crate) fn push(&mut self, row: R) {
        self.rows.push(row);
        if self.rows.len() >= group_rows::<R>() {
            self.flush();
        }
    }

    #[cold]
    fn flush(&mut self) {
        let Some(sink) = &mut self.sink else { return };
        if self.failed.is_none() && !self.rows.is_empty() {
            self.failed = sink.write(&self.rows).err();
        }
        self.rows.clear();
    }

    /// Closes the table. A table without rows has no file; that is so too if a full disk left no room for it.
    pub(crate) fn finish(mut self, names: &Arc<Names>) -> Result<Table<R>, Error> {
        self.flush();
        let Some(sink) = self.sink else {
            return Ok(Table::Memory(self.rows, Arc::clone(names)));
        };
        let (files, is_empty) = (sink.files.clone(), sink.writer.is_none());
        match self.failed.map_or_else(|| sink.close(), Err) {
            Ok(()) if is_empty => Ok(Table::Memory(Vec::new(), Arc::clone(names))),
            Ok(()) => Ok(Table::File(files.path().join(R::FILE))),
            Err(error) if error.is_full() => {
                files.remove(R::FILE);
                Ok(Table::Memory(Vec::new(), Arc::clone(names)))
            }
            Err(error) => Err(error),
        }
    }
}

const fn group_rows<R: TableRow>() -> usize {
    let rows = GROUP_BYTES / (8 * R::COLUMNS.len());
    rows - rows % BATCH_ROWS + BATCH_ROWS
}

impl<R: TableRow> Sink<R> {
    /// Will create the file, which must not exist yet, for the first row.
    fn new(files: Files, names: Arc<Names>) -> Result<Self, Error> {
        let path = files.path().join(R::FILE);
        match path.symlink_metadata() {
            Ok(_) => Err(Error::io(&path)(ErrorKind::AlreadyExists.into())),
            Err(_) => Ok(Self { files, writer: None, names, row: PhantomData }),
        }
    }

    fn open(files: &Files) -> Result<SerializedFileWriter<OutFile>, Error> {
        let file = files.create(R::FILE)?;
        let opened = schema::<R>().and_then(|schema| {
            SerializedFileWriter::new(file, schema, Arc::new(properties::<R>(files)))
        });
        opened.map_err(Error::unwritten(&files.path().join(R::FILE)))
    }

    fn write(&mut self, rows: &[R]) -> Result<(), Error> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(Self::open(&self.files)?),
        };
        let written = write_group(writer, rows, &self.names);
        written.map_err(Error::unwritten(&self.files.path().join(R::FILE)))
    }

    fn close(self) -> Result<(), Error> {
        let Some(writer) = self.writer else { return Ok(()) };
        let closed = writer.close().map(drop);
        closed.map_err(Error::unwritten(&self.files.path().join(R::FILE)))
    }
}

/// Returns whether a file ends like a table: with a footer.
pub(crate) fn has_footer(path: &Path) -> bool {
    regular::open(path).is_ok_and(|file| guarded(path, || SerializedFileReader::new(file)).is_ok())
}

fn schema<R: TableRow>() -> ParquetResult<TypePtr> {
    parquet_file::schema(R::COLUMNS.iter().map(|column| {
        let physical = match column.kind {
            Kind::Integer | Kind::Optional => Physical::INT64,
            Kind::Name => Physical::BYTE_ARRAY,
        };
        parquet_file::column(column.name, physical, column.kind == Kind::Optional)
    }))
}

fn properties<R: TableRow>(files: &Files) -> WriterProperties {
    let metadata = provenance::of_table::<R>(files.provenance());
    let mut builder = parquet_file::properties(metadata).set_dictionary_enabled(false);
    for column in R::COLUMNS {
        let path = ColumnPath::from(column.name);
        builder = match column.kind {
            Kind::Name => builder.set_column_dictionary_enabled(path, true),
            _ => builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
    }
    builder.build()
}

fn write_group<R: TableRow>(
    writer: &mut SerializedFileWriter<OutFile>,
    rows: &[R],
    names: &Names,
) -> ParquetResult<()> {
    let mut group = writer.next_row_group()?;
    for column in R::COLUMNS {
        write_column(&mut group, column, rows, names)?;
    }
    group.close().map(drop)
}

fn write_column<R: TableRow>(
    group: &mut SerializedRowGroupWriter<'_, OutFile>,
    column: &Column<R>,
    rows: &[R],
    names: &Names,
) -> ParquetResult<()> {
    let mut chunk = group.next_column()?.ok_or_else(|| mismatch(column.name))?;
    for batch in rows.chunks(BATCH_ROWS) {
        let cells = batch.iter().map(column.cell);
        match chunk.untyped() {
            ColumnWriter::Int64ColumnWriter(writer) if column.kind == Kind::Optional => {
                let values = cells.map(|cell| (cell != NOTHING).then(|| integer(cell)));
                parquet_file::write_optional(writer, values)?;
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                writer.write_batch(&cells.map(integer).collect::<Vec<_>>(), None, None)?;
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let values: Vec<ByteArray> = cells.map(|c| text(names, c)).collect();
                writer.write_batch(&values, None, None)?;
            }
            _ => return Err(mismatch(column.name)),
        }
    }
    chunk.close()
}

/// Tables hold signed integers, which every reader knows; nothing measured comes near the limit.
fn integer(cell: u64) -> i64 {
    i64::try_from(cell).unwrap_or(i64::MAX)
}

fn text(names: &Names, cell: u64) -> ByteArray {
    names.text(Name(u32::try_from(cell).unwrap_or(u32::MAX))).into()
}

fn mismatch(column: &str) -> ParquetError {
    ParquetError::General(format!("column {column} is missing or of another type"))
}

impl<R: TableRow> Table<R> {
    /// A table without rows.
    pub(crate) fn empty(names: &Arc<Names>) -> Self {
        Self::Memory(Vec::new(), Arc::clone(names))
    }

    /// A table that an earlier run left in `folder`.
    pub fn open(folder: &Path) -> Self {
        Self::File(folder.join(R::FILE))
    }

    /// The table that an earlier run left in `folder`, or an empty one if it left none.
    pub(crate) fn stored(folder: &Path) -> Self {
        match folder.join(R::FILE) {
            path if path.exists() => Self::File(path),
            _ => Self::Memory(Vec::new(), Arc::default()),
        }
    }

    /// Updates the path after the table's file moved to `folder`.
    pub(crate) fn in_folder(&mut self, folder: &Path) {
        if let Self::File(path) = self {
            *path = folder.join(R::FILE);
        }
    }

    /// Calls `look` for every row, in order, with the names that the row refers to.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a table of these rows.
    pub fn each(&self, mut look: impl FnMut(&R, &Names)) -> Result<(), Error> {
        match self {
            Self::Memory(rows, names) => {
                rows.iter().for_each(|row| look(row, names));
                Ok(())
            }
            Self::File(path) => {
                let file = regular::open(path).map_err(Error::io(path))?;
                read(path, file, &mut look).map_err(Error::table(path))
            }
        }
    }

    /// Returns every row, and the names that the rows refer to.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a table of these rows.
    pub fn rows(&self) -> Result<(Vec<R>, Names), Error> {
        let (mut rows, mut all) = (Vec::new(), Names::default());
        self.each(|row, names| {
            rows.push(*row);
            if all.len() != names.len() {
                all = names.clone();
            }
        })?;
        Ok((rows, all))
    }
}

fn read<R: TableRow>(
    path: &Path,
    file: File,
    look: &mut impl FnMut(&R, &Names),
) -> ParquetResult<()> {
    let reader = guarded(path, || SerializedFileReader::new(file))?;
    let mut names = Names::default();
    for index in 0..reader.num_row_groups() {
        let columns = guarded(path, || read_group::<R>(&reader, index, &mut names))?;
        for row in 0..columns.iter().map(Vec::len).min().unwrap_or(0) {
            look(&R::from_cells(columns.iter().map(|column| column[row])), &names);
        }
    }
    Ok(())
}

/// The columns of a row group.
fn read_group<R: TableRow>(
    reader: &SerializedFileReader<File>,
    index: usize,
    names: &mut Names,
) -> ParquetResult<Vec<Vec<u64>>> {
    let group = reader.get_row_group(index)?;
    let columns = R::COLUMNS.iter().enumerate();
    columns.map(|(place, column)| read_column(group.as_ref(), place, column, names)).collect()
}

/// Finds the places of a column's names. Rows repeat names in one order, sample after sample, so a name mostly follows
/// the name that it followed before.
#[derive(Default)]
struct Successors {
    /// The name that came last after each name, by its place.
    next: Vec<Option<Name>>,
    last: Option<Name>,
}

impl Successors {
    fn of(&mut self, text: &str, names: &mut Names) -> Name {
        let last = self.last.map_or(0, |name| name.0 as usize);
        let expected = self.next.get(last).copied().flatten();
        let found = match expected {
            Some(name) if names.text(name) == text => name,
            _ => {
                let name = names.intern(text);
                let length = self.next.len().max(last + 1);
                self.next.resize(length, None);
                self.next[last] = Some(name);
                name
            }
        };
        self.last = Some(found);
        found
    }
}

fn read_column<R: TableRow>(
    group: &dyn RowGroupReader,
    place: usize,
    column: &Column<R>,
    names: &mut Names,
) -> ParquetResult<Vec<u64>> {
    if place >= group.num_columns()
        || group.metadata().column(place).column_descr().name() != column.name
    {
        return Err(mismatch(column.name));
    }
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    // A damaged file may claim any number.
    let capacity = rows.min(GROUP_BYTES);
    let mut levels = Vec::new();
    match (group.get_column_reader(place)?, column.kind) {
        (ColumnReader::Int64ColumnReader(mut reader), kind) => {
            let mut values = Vec::with_capacity(capacity);
            reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            let mut values = values.into_iter().map(|v| u64::try_from(v).unwrap_or(0));
            if kind == Kind::Integer {
                return Ok(values.collect());
            }
            let cell = |level| if level > 0 { values.next().unwrap_or(0) } else { NOTHING };
            Ok(levels.into_iter().map(cell).collect())
        }
        (ColumnReader::ByteArrayColumnReader(mut reader), Kind::Name) => {
            let mut values = Vec::with_capacity(capacity);
            reader.read_records(rows, None, None, &mut values)?;
            let mut places = Successors::default();
            values.iter().map(|v| Ok(u64::from(places.of(v.as_utf8()?, names).0))).collect()
        }
        _ => Err(mismatch(column.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_order() {
        let (mut names, mut places) = (Names::default(), Successors::default());
        let texts = ["a", "b", "c", "a", "b", "b", "c", "a", "d", "", "a", "b", "c"];
        let found: Vec<u32> = texts.iter().map(|text| places.of(text, &mut names).0).collect();
        assert_eq!(found, [0, 1, 2, 0, 1, 1, 2, 0, 3, 4, 0, 1, 2]);
    }
}
