//! A Parquet table with columns that are known only when it is written: one row for each run of a sweep.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Type as Physical;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::TypePtr;

use crate::error::Error;
use crate::folder;
use crate::parquet_file;
use crate::provenance;
use crate::quantity::Kind;
use scenario::Dimension;

/// A column's values, one for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Numbers; null where there is none.
    Number(Vec<Option<f64>>),
    /// Words; null where there are none.
    Text(Vec<Option<String>>),
}

/// A table while it is built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepTable {
    columns: Vec<(String, Values)>,
    units: Vec<KeyValue>,
}

impl SweepTable {
    /// Adds a column. If its name is taken, as a setting and a result may share a path, the column is called
    /// `measured.NAME`.
    pub fn column(&mut self, name: &str, values: Values) {
        let taken = self.columns.iter().any(|(known, _)| known == name);
        let name = if taken { format!("measured.{name}") } else { name.to_owned() };
        self.columns.push((name, values));
    }

    /// Adds a column of measured values for a path of the summary, with its unit.
    pub fn measured(&mut self, path: &str, values: Vec<Option<f64>>) {
        let unit = Kind::of(path).base_unit();
        self.with_unit(&scenario::column(path), unit, Values::Number(values));
    }

    /// Adds a column of a setting's values in their base unit.
    pub fn setting(&mut self, path: &str, dimension: Dimension, values: Vec<Option<f64>>) {
        let name = scenario::setting_column(path, dimension);
        let unit = provenance::unit_of(&name).unwrap_or_default();
        self.with_unit(&name, unit, Values::Number(values));
    }

    fn with_unit(&mut self, name: &str, unit: &str, values: Values) {
        self.column(name, values);
        if let Some((name, _)) = self.columns.last().filter(|_| !unit.is_empty()) {
            self.units.push(provenance::of_unit(name, unit));
        }
    }

    /// Writes the whole file, or nothing. Equal values give equal bytes.
    ///
    /// # Errors
    /// If it cannot be written, or columns differ in length.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        folder::write_with(path, |file| self.write_to(file).map_err(Error::unwritten(path)))
    }

    fn write_to(&self, file: &mut File) -> ParquetResult<()> {
        let columns = self.columns.iter().map(|(name, values)| values.column(name));
        let schema = parquet_file::schema(columns)?;
        let properties = Arc::new(parquet_file::properties(self.units.clone()).build());
        let mut writer = SerializedFileWriter::new(file, schema, properties)?;
        let mut group = writer.next_row_group()?;
        for (name, values) in &self.columns {
            let missing = || ParquetError::General(format!("column {name} has no place"));
            let mut column = group.next_column()?.ok_or_else(missing)?;
            values.write(column.untyped())?;
            column.close()?;
        }
        group.close()?;
        writer.close().map(drop)
    }
}

impl Values {
    fn column(&self, name: &str) -> ParquetResult<TypePtr> {
        let (physical, optional) = match self {
            Self::Whole(_) => (Physical::INT64, false),
            Self::Number(_) => (Physical::DOUBLE, true),
            Self::Text(_) => (Physical::BYTE_ARRAY, true),
        };
        parquet_file::column(name, physical, optional)
    }

    fn write(&self, column: &mut ColumnWriter<'_>) -> ParquetResult<()> {
        let written = match (self, column) {
            (Self::Whole(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, None, None)
            }
            (Self::Number(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                parquet_file::write_optional(writer, values.iter().copied())
            }
            (Self::Text(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let texts = values.iter().map(|text| text.as_deref().map(ByteArray::from));
                parquet_file::write_optional(writer, texts)
            }
            _ => Err(ParquetError::General("a column is of another type".into())),
        };
        written.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    fn written(table: &SweepTable, name: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        table.write(&path).expect("written");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "no remains");
        let reader = SerializedFileReader::new(File::open(path).expect("a file")).expect("Parquet");
        let rows = reader.get_row_iter(None).expect("rows");
        rows.map(|row| row.expect("a row").to_string()).collect()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut table = SweepTable::default();
        table.column("flow.bulk.bytes", Values::Text(vec![Some("1 MB".into()), None]));
        table.column("seed", Values::Whole(vec![1, 2]));
        table.column("flow.bulk.bytes", Values::Number(vec![None, Some(1.5)]));
        let rows = written(&table, "sweep.parquet");
        assert_eq!(
            rows,
            [
                "{flow.bulk.bytes: \"1 MB\", seed: 1, measured.flow.bulk.bytes: null}",
                "{flow.bulk.bytes: null, seed: 2, measured.flow.bulk.bytes: 1.5}",
            ]
        );
    }

    #[test]
    fn a_table_of_no_run_is_a_table() {
        let mut table = SweepTable::default();
        table.column("run", Values::Text(Vec::new()));
        assert!(written(&table, "empty.parquet").is_empty());
    }
}
