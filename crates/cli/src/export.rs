//! `suimon export`: the tables of a run or a sweep as CSV or JSON, for spreadsheets, scripts and papers.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::output;
use crate::table::Table;
use source::Source;
use writer::{Format, Rows};

mod source;
mod writer;

/// Columns that the list of tables names; a sweep may have thousands.
const COLUMNS_MAX: usize = 24;

/// Write the tables of a run or a sweep as CSV or JSON
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder of a run or a sweep; without options its tables are listed
    #[arg(value_name = "RUN|SWEEP")]
    folder: PathBuf,
    /// The table: `summary` of a run, `sweep` of a sweep, or one of those that the list shows. Of a sweep, the rows of all
    /// runs follow one another, with a column `run`
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Write CSV (RFC 4180) with a line of column names; this is the default
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Write one JSON document: an array with an object for each row
    #[arg(long)]
    json: bool,
    /// The file to write; stdout unless given
    #[arg(short = 'o', long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Lists the tables, or writes one of them.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let source = Source::open(&arguments.folder)?;
    let is_list = !arguments.csv && !arguments.json && arguments.out.is_none();
    let table = match &arguments.table {
        None if is_list => return list(&source),
        None => source.main_table().to_owned(),
        Some(name) => source.known(name)?,
    };
    let format = if arguments.json { Format::Json } else { Format::Csv };
    match &arguments.out {
        Some(path) => to_file(&source, &table, format, path)?,
        None => {
            let mut print = |text: &str| output::print_more(text);
            let mut rows = Rows::new(format, &mut print);
            source.write(&table, &mut rows)?;
            rows.finish()?;
        }
    }
    Ok(Exit::Fine)
}

fn to_file(source: &Source, table: &str, format: Format, path: &Path) -> Result<(), Failure> {
    record::folder::write_with(path, |file| {
        let mut write = |text: &str| {
            let written = file.write_all(text.as_bytes());
            written.map(|()| true).map_err(failure::unwritten(path))
        };
        let mut rows = Rows::new(format, &mut write);
        source.write(table, &mut rows)?;
        rows.finish()
    })
}

fn list(source: &Source) -> Result<Exit, Failure> {
    let mut table = Table::new(&["table", ">rows", "columns"]);
    for name in source.tables() {
        let (rows, columns) = source.size(&name)?;
        let named = columns.iter().take(COLUMNS_MAX).cloned().collect::<Vec<_>>().join(", ");
        let columns = match columns.len().saturating_sub(COLUMNS_MAX) {
            0 => named,
            more => format!("{named} and {more} more"),
        };
        table.row([name.into(), rows.to_string().into(), columns.into()]);
    }
    let next = format!("suimon export {} --table NAME", source.folder().display());
    output::print(&format!("{}\nnext: {next} [--csv|--json] [--out FILE]\n", table.render()))?;
    Ok(Exit::Fine)
}
