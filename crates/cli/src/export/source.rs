//! What is exported: the tables of a folder.

use std::path::{Path, PathBuf};

use experiment::folders::SWEEP;
use experiment::sweep;
use record::quantity::Kind;
use record::stored_table::{StoredTable, Value};
use record::{StoredRun, folder};

use super::writer::Rows;
use crate::failure::{self, Failure};

/// The table of a run's totals, which `summary.json` has.
const SUMMARY: &str = "summary";
/// The table of a sweep's runs.
const OF_SWEEP: &str = "sweep";
/// The columns of the table of totals.
const TOTALS: [&str; 3] = ["path", "value", "unit"];
/// The column that says which run of a sweep a row is of.
const RUN: &str = "run";

/// A folder with tables.
pub(super) enum Source {
    /// One run.
    Run(Box<StoredRun>),
    /// A sweep, with the folders of its complete runs in the order of the grid, and whether these were removed.
    Sweep { folder: PathBuf, runs: Vec<String>, kept_table: bool },
}

impl Source {
    /// Opens the folder of a finished run, or of a sweep.
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let sweep = folder.join(SWEEP);
        if !sweep.is_file() {
            return Ok(Self::Run(Box::new(StoredRun::read(folder)?)));
        }
        let text = std::fs::read_to_string(&sweep).map_err(failure::file(&sweep))?;
        let document: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
            let message = format!("{}: {error}", sweep.display());
            Failure::usage(message, "the file is damaged: run the sweep again")
        })?;
        if !folder.join(sweep::TABLE).is_file() {
            let message = format!("{} has no {}", folder.display(), sweep::TABLE);
            let help = "the sweep was interrupted: `suimon sweep` with the same settings ends it";
            return Err(Failure::usage(message, help));
        }
        let runs = document["runs"].as_array().into_iter().flatten();
        let runs = runs.filter(|run| !run["summary"].is_null());
        let runs = runs.filter_map(|run| run["folder"].as_str().map(str::to_owned)).collect();
        let kept_table = sweep::kept_table(&document);
        Ok(Self::Sweep { folder: folder.to_owned(), runs, kept_table })
    }

    /// Its folder.
    pub(super) fn folder(&self) -> &Path {
        match self {
            Self::Run(run) => &run.folder,
            Self::Sweep { folder, .. } => folder,
        }
    }

    /// The table that is exported where none is named.
    pub(super) const fn main_table(&self) -> &'static str {
        match self {
            Self::Run(_) => SUMMARY,
            Self::Sweep { .. } => OF_SWEEP,
        }
    }

    /// The names of the tables that there are.
    pub(super) fn tables(&self) -> Vec<String> {
        let recorded = folder::TABLES.iter().filter(|file| !self.files(file).is_empty());
        let recorded = recorded.map(|file| file.trim_end_matches(".parquet").to_owned());
        [self.main_table().to_owned()].into_iter().chain(recorded).collect()
    }

    /// `name`, if there is such a table.
    pub(super) fn known(&self, name: &str) -> Result<String, Failure> {
        let tables = self.tables();
        if tables.iter().any(|table| table == name) {
            return Ok(name.to_owned());
        }
        let message = format!("{} has no table `{name}`", self.folder().display());
        let is_table = folder::TABLES.contains(&format!("{name}.parquet").as_str());
        let why = match self {
            Self::Sweep { kept_table: true, .. } if is_table => "it kept only its own table; ",
            _ if is_table => "its scenario asks for no such probe; ",
            _ => "",
        };
        Err(Failure::usage(message, format!("{why}there is {}", tables.join(", "))))
    }

    /// The rows and the columns of a table.
    pub(super) fn size(&self, table: &str) -> Result<(u64, Vec<String>), Failure> {
        if let (Self::Run(run), SUMMARY) = (self, table) {
            return Ok((run.quantities().len() as u64, TOTALS.map(str::to_owned).to_vec()));
        }
        let (mut rows, mut columns) = (0, Vec::new());
        for (_, file) in self.files_of(table) {
            let table = StoredTable::open(&file)?;
            rows += table.rows();
            columns = self.columns(&table, &file);
        }
        Ok((rows, columns))
    }

    /// Writes a table that there is.
    pub(super) fn write(&self, table: &str, out: &mut Rows<'_>) -> Result<(), Failure> {
        if let (Self::Run(run), SUMMARY) = (self, table) {
            return totals(run, out);
        }
        for (run, file) in self.files_of(table) {
            let table = StoredTable::open(&file)?;
            out.columns(&self.columns(&table, &file))?;
            let of_run = run.iter().map(|run| Value::Text(run)).collect::<Vec<_>>();
            let goes_on = table.each(|row| out.row(of_run.iter().chain(row).copied()))?;
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// The column names of a table; those of a sweep's runs begin with the run.
    fn columns(&self, table: &StoredTable, file: &Path) -> Vec<String> {
        let is_of_run = matches!(self, Self::Sweep { .. }) && !file.ends_with(sweep::TABLE);
        let run = is_of_run.then(|| RUN.to_owned());
        run.into_iter().chain(table.columns().iter().map(|column| column.name.clone())).collect()
    }

    /// The files of a table, each with the run of the sweep that it is of.
    fn files_of(&self, table: &str) -> Vec<(Option<String>, PathBuf)> {
        match self {
            Self::Sweep { folder, .. } if table == OF_SWEEP => {
                vec![(None, folder.join(sweep::TABLE))]
            }
            _ => self.files(&format!("{table}.parquet")),
        }
    }

    fn files(&self, name: &str) -> Vec<(Option<String>, PathBuf)> {
        let all = match self {
            Self::Run(run) => vec![(None, run.folder.join(name))],
            Self::Sweep { folder, runs, .. } => {
                let file = |run: &String| (Some(run.clone()), folder.join(run).join(name));
                runs.iter().map(file).collect()
            }
        };
        all.into_iter().filter(|(_, file)| file.is_file()).collect()
    }
}

/// Every number of the summary, in its base unit.
fn totals(run: &StoredRun, out: &mut Rows<'_>) -> Result<(), Failure> {
    out.columns(&TOTALS.map(str::to_owned))?;
    for (path, value) in run.quantities() {
        let row =
            [Value::Text(&path), Value::Number(value), Value::Text(Kind::of(&path).base_unit())];
        if !out.row(row)? {
            break;
        }
    }
    Ok(())
}
