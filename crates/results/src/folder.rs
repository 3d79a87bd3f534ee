//! The run folder: `manifest.json`, `scenario.lock.toml`, `summary.json`, six tables, the capture and
//! the report.
//!
//! A file gets its final name when it is complete, and the manifest says "incomplete" until all are, so
//! a run that is killed leaves nothing that lies.

use std::path::{Path, PathBuf};

use crate::capture;
use crate::error::Error;
use crate::lab::LabReport;
use crate::manifest::{self, Manifest};
use crate::rows::{BandwidthRow, ClassRow, DelayRow, FlowRow, QueueRow, Row, SequenceRow};
use crate::summary::Summary;
use crate::table::partial;
use crate::totals::{Cost, Ending};

/// The scenario with every default written out.
pub const SCENARIO: &str = "scenario.lock.toml";
/// The summary.
pub const SUMMARY: &str = "summary.json";
/// The report.
pub const REPORT: &str = "report.html";

/// Every file of a folder but the manifest.
const FILES: [&str; 10] = [
    SCENARIO,
    SUMMARY,
    REPORT,
    capture::FILE,
    BandwidthRow::FILE,
    SequenceRow::FILE,
    FlowRow::FILE,
    QueueRow::FILE,
    ClassRow::FILE,
    DelayRow::FILE,
];

/// A folder in the making.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    manifest: Manifest,
}

impl RunFolder {
    /// Makes the folder, or takes over that of an earlier run, whose files it removes. From then on it
    /// holds a manifest that says "incomplete" and the scenario.
    ///
    /// # Errors
    /// If it cannot be written, or holds files that no run of ours left.
    pub fn create(path: &Path, manifest: Manifest, scenario: &str) -> Result<Self, Error> {
        std::fs::create_dir_all(path).map_err(Error::io(path))?;
        clear(path)?;
        manifest.write(path, None, None)?;
        write(&path.join(SCENARIO), scenario)?;
        Ok(Self { path: path.to_owned(), manifest })
    }

    /// Where it is: what [`crate::Recorder::new`] wants.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it was started with.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Notes what a run on real packets tells of the machine.
    pub fn set_lab(&mut self, lab: LabReport) {
        self.manifest.lab = Some(lab);
    }

    /// Adds summary and report, and closes the folder: complete, or as far as an interrupted run came.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(
        self,
        summary: &Summary,
        report: &str,
        ending: Ending,
        cost: Cost,
    ) -> Result<(), Error> {
        write(&self.path.join(SUMMARY), &(summary.to_json() + "\n"))?;
        write(&self.path.join(REPORT), report)?;
        self.manifest.write(&self.path, Some(ending), Some(cost))
    }
}

/// Removes what an earlier run left.
fn clear(folder: &Path) -> Result<(), Error> {
    // A run that could not even write its manifest left a part of it.
    let ours = [folder.join(manifest::FILE), partial(&folder.join(manifest::FILE))];
    let mut others = std::fs::read_dir(folder).map_err(Error::io(folder))?;
    if !ours.iter().any(|file| file.exists()) && others.next().is_some() {
        return Err(Error::Foreign { path: folder.to_owned() });
    }
    for name in FILES {
        for path in [folder.join(name), partial(&folder.join(name))] {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(&path)(error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Writes a file whole, or not at all.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    let partial = partial(path);
    std::fs::write(&partial, text).map_err(Error::io(&partial))?;
    std::fs::rename(&partial, path).map_err(Error::io(path))
}
