//! A Parquet table whose columns are not known beforehand, read row by row: what exports are made from.

use std::path::{Path, PathBuf};

use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::error::Error;
use crate::parquet_file::guarded;
use crate::provenance::{ABOUT, UNIT};
use crate::regular;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'v> {
    /// There is none.
    Null,
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// Words.
    Text(&'v str),
}

/// What a table says of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredColumn {
    /// Its name.
    pub name: String,
    /// The unit of its values; empty for counts, names and whatever has none.
    pub unit: String,
    /// What it means; empty where the table does not say.
    pub about: String,
}

/// A table of a run or a sweep.
#[expect(missing_debug_implementations, reason = "the Parquet reader has none")]
pub struct StoredTable {
    path: PathBuf,
    reader: SerializedFileReader<std::fs::File>,
    columns: Vec<StoredColumn>,
}

impl StoredTable {
    /// Opens the file and reads what it says of itself.
    ///
    /// # Errors
    /// If it cannot be read or is not a table.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = regular::open(path).map_err(Error::io(path))?;
        let reader =
            guarded(path, || SerializedFileReader::new(file)).map_err(Error::table(path))?;
        let columns = columns(&reader);
        Ok(Self { path: path.to_owned(), reader, columns })
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[StoredColumn] {
        &self.columns
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        u64::try_from(self.reader.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Calls `look` for every row, in order, as long as it returns true. Returns whether it did to the end.
    ///
    /// # Errors
    /// If the file cannot be read, has values of other types than Suimon writes, or `look` fails.
    pub fn each<E: From<Error>>(
        &self,
        mut look: impl FnMut(&[Value<'_>]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let error = || Error::table(&self.path);
        let rows = guarded(&self.path, || self.reader.get_row_iter(None));
        let mut rows = rows.map_err(error())?;
        while let Some(row) = guarded(&self.path, || rows.next().transpose()).map_err(error())? {
            let values = row.get_column_iter().map(|(name, field)| value(name, field));
            let values = values.collect::<ParquetResult<Vec<_>>>().map_err(error())?;
            if !look(&values)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn columns(reader: &SerializedFileReader<std::fs::File>) -> Vec<StoredColumn> {
    let file = reader.metadata().file_metadata();
    let entries = file.key_value_metadata().into_iter().flatten();
    let entries: Vec<_> = entries.collect();
    let said = |prefix: &str, name: &str| {
        let entry = entries.iter().find(|entry| entry.key.strip_prefix(prefix) == Some(name));
        entry.and_then(|entry| entry.value.clone()).unwrap_or_default()
    };
    let column = |name: &str| StoredColumn {
        name: name.to_owned(),
        unit: said(UNIT, name),
        about: said(ABOUT, name),
    };
    let fields = file.schema_descr().root_schema().get_fields();
    fields.iter().map(|field| column(field.name())).collect()
}

fn value<'v>(name: &str, field: &'v Field) -> ParquetResult<Value<'v>> {
    Ok(match field {
        Field::Null => Value::Null,
        Field::Long(value) => Value::Whole(*value),
        Field::Double(value) => Value::Number(*value),
        Field::Str(value) => Value::Text(value),
        _ => return Err(ParquetError::General(format!("column {name} is of another type"))),
    })
}
