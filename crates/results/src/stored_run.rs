//! A run folder that was filled earlier, by whatever driver, read back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;
use crate::folder::{SCENARIO, SUMMARY};
use crate::lab::LabReport;
use crate::manifest::{self, Stored};
use crate::summary;
use crate::table;

/// What an earlier run left.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Its folder.
    pub folder: PathBuf,
    /// The version of Suimon that made it.
    pub version: String,
    /// Which build of that version; empty where it did not tell.
    pub build: String,
    /// The version of the folder's layout.
    pub schema: u32,
    /// The driver that made it: `simulate`, `lab`.
    pub driver: String,
    /// The words that make it again.
    pub command: Vec<String>,
    /// Whether it came to its end.
    pub complete: bool,
    /// What it tells of the machine, if it moved real packets.
    pub lab: Option<LabReport>,
    /// The length of each of its files, in bytes; empty where its manifest does not tell.
    pub files: BTreeMap<String, u64>,
    /// Its scenario with every default written out.
    pub scenario: String,
    /// `summary.json`.
    pub summary: Value,
}

impl StoredRun {
    /// Reads manifest, scenario and summary.
    ///
    /// # Errors
    /// [`Error::NoRun`] for a folder that no finished run left, and files that cannot be read.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let made = Stored::read(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            version: made.suimon,
            build: made.build,
            schema: made.schema,
            driver: made.driver,
            command: made.command,
            complete: made.complete,
            lab: made.lab,
            files: made.files,
            scenario: text(folder, SCENARIO)?,
            summary: json(folder, SUMMARY)?,
        })
    }

    /// Whether it is what this program would make of `scenario` by `driver`: complete, of the same build of
    /// the same version, and of the same text to the letter.
    pub fn stands_for(&self, scenario: &str, driver: &str) -> bool {
        self.complete
            && self.version == env!("CARGO_PKG_VERSION")
            && !self.build.is_empty()
            && self.build == manifest::build()
            && self.schema == manifest::SCHEMA
            && self.driver == driver
            && self.scenario == scenario
    }

    /// Whether every file is as long as the manifest says, and every table ends as a table does.
    pub fn is_whole(&self) -> bool {
        let is_whole = |(name, length): (&String, &u64)| {
            let path = self.folder.join(name);
            let same = std::fs::metadata(&path).is_ok_and(|found| found.len() == *length);
            same && (!name.ends_with(".parquet") || table::has_footer(&path))
        };
        !self.files.is_empty() && self.files.iter().all(is_whole)
    }

    /// Every number of its summary, as [`crate::Summary::quantities`] gives it.
    pub fn quantities(&self) -> Vec<(String, f64)> {
        summary::quantities(&self.summary)
    }
}

fn text(folder: &Path, name: &'static str) -> Result<String, Error> {
    let path = folder.join(name);
    std::fs::read_to_string(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            Error::NoRun { folder: folder.to_owned(), lacks: name }
        }
        _ => Error::Unreadable { path, source: error },
    })
}

pub(crate) fn json<T: DeserializeOwned>(folder: &Path, name: &'static str) -> Result<T, Error> {
    let path = folder.join(name);
    serde_json::from_str(&text(folder, name)?).map_err(Error::json(&path))
}
