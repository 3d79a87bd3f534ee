//! The run folder: `manifest.json`, `scenario.lock.toml`, `summary.json`, six tables (seven where a switch
//! pauses), the capture and the report.
//!
//! While a run goes on, its files are in a directory of its own within the folder, and the files of an earlier run
//! stay as they were. At the end the new files replace them by rename, `manifest.json` last. A run that is refused or
//! killed therefore loses nothing and leaves no misleading files. The folder is locked meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::capture;
use crate::error::Error;
use crate::lab::LabReport;
use crate::manifest::{self, Manifest, Stored};
use crate::provenance::Provenance;
use crate::regular;
use crate::rows::{
    BandwidthRow, ClassRow, DelayRow, FlowRow, NotificationRow, PauseRow, QueueRow, RankRow,
    SequenceRow, TableRow,
};
use crate::summary::Summary;
use crate::totals::{Cost, Ending};

mod copy;
pub(crate) mod files;
mod keep;
mod lock;
mod publish;
mod temporary;

pub use copy::copy;
pub use files::Files;
pub use keep::{keep_results, remove_run};
pub use lock::{FolderLock, Holder, LOCK};
pub use temporary::TemporaryFolder;

/// The scenario with every default written out.
pub const SCENARIO: &str = "scenario.lock.toml";
/// The summary.
pub const SUMMARY: &str = "summary.json";
/// The report.
pub const REPORT: &str = "report.html";
/// The control socket of a run under way.
pub const SOCKET: &str = "live.sock";
/// The folder of the programs' output.
pub const PROGRAMS: &str = "programs";
/// The folder of traces that MPI jobs replay, which the scenario names.
pub const TRACES: &str = scenario::TRACES;
/// The directory of a run's files while it goes on.
pub const UNFINISHED: &str = "run.partial";

/// Every file of a folder but the manifest.
const FILES: [&str; 13] = [
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
    PauseRow::FILE,
    NotificationRow::FILE,
    RankRow::FILE,
];

/// Every table of a folder; a run has those that its scenario asks for.
pub const TABLES: [&str; 9] = [
    FlowRow::FILE,
    QueueRow::FILE,
    ClassRow::FILE,
    DelayRow::FILE,
    BandwidthRow::FILE,
    SequenceRow::FILE,
    PauseRow::FILE,
    NotificationRow::FILE,
    RankRow::FILE,
];

/// The name of the finished run's manifest until it replaces the one that says "incomplete".
const FINISHED: &str = "manifest.finished.json";

/// A run folder while it is written. If it is dropped before its end, the folder is as it was before.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    manifest: Manifest,
    files: Files,
    // Dropped in this order: a folder that was made for nothing must be empty to be removed.
    _unfinished: Unfinished,
    _lock: FolderLock,
    _made: Made,
}

/// The directory of the run's files; it is removed with what is left in it.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = publish::remove_all(&self.0);
    }
}

/// The run's folder if it did not exist before; it is removed if it is empty.
#[derive(Debug)]
struct Made(Option<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // The system refuses that unless it is empty.
            let _ = fs::remove_dir(path);
        }
    }
}

impl RunFolder {
    /// Makes the folder, or locks that of an earlier run. The earlier run's files stay until [`RunFolder::finish`].
    ///
    /// # Errors
    /// If it cannot be written, holds files that are not of a run, or another run writes into it.
    pub fn create(path: &Path, manifest: Manifest, scenario: &str) -> Result<Self, Error> {
        let is_new = fs::symlink_metadata(path).is_err();
        fs::create_dir_all(path).map_err(Error::io(path))?;
        let made = Made(is_new.then(|| path.to_owned()));
        check(path)?;
        let lock = FolderLock::take(path)?;
        let unfinished = path.join(UNFINISHED);
        // From a run that was killed.
        publish::remove_all(&unfinished)?;
        fs::create_dir(&unfinished).map_err(Error::io(&unfinished))?;
        let unfinished = Unfinished(unfinished);
        let provenance = Provenance::new(&manifest.driver, manifest.seed, scenario);
        let manifest = Manifest { run: provenance.run.clone(), ..manifest };
        let files = Files::of_run(&unfinished.0, provenance)?;
        files.write(manifest::FILE, &manifest.to_json(None, None, &BTreeMap::new())?)?;
        files.write(SCENARIO, scenario)?;
        let path = path.to_owned();
        Ok(Self { path, manifest, files, _unfinished: unfinished, _lock: lock, _made: made })
    }

    /// Keeps a trace that the scenario names, so that the folder's scenario can run again.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_trace(&self, name: &str, file: &[u8]) -> Result<(), Error> {
        let folder = self.files.path().join(TRACES);
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        self.files.write(&format!("{TRACES}/{name}"), file)
    }

    /// Where the results will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the files that are written until then, for [`crate::Recorder::in_folder`].
    pub const fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the manifest with which the run was started.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Notes the state of the machine during a run on real packets.
    pub fn set_lab(&mut self, lab: LabReport) {
        self.manifest.lab = Some(lab);
    }

    /// Notes further information about guests.
    pub fn set_guest_notes(&mut self, notes: Vec<String>) {
        self.manifest.guest_notes = notes;
    }

    /// Adds summary, and the report if there is one, and puts all files in place of the existing ones: those of a
    /// complete run, or those of a run that was interrupted or filled the disk. Returns whether the disk was full.
    ///
    /// # Errors
    /// If a file cannot be written. The earlier files are still there then.
    pub fn finish(
        mut self,
        summary: &Summary,
        report: Option<&str>,
        ending: Ending,
        cost: Cost,
    ) -> Result<bool, Error> {
        self.files.release();
        self.files.write(SUMMARY, &(summary.to_json() + "\n"))?;
        if let Some(report) = report
            && let Err(error) = self.files.write(REPORT, report)
            && !error.is_full()
        {
            return Err(error);
        }
        let full = self.files.is_full();
        self.manifest.disk_full = full;
        let ending = Ending { complete: ending.complete && !full, ..ending };
        let lengths = publish::lengths(self.files.path())?;
        let lengths = lengths.into_iter().filter(|(name, _)| name != manifest::FILE).collect();
        let manifest = self.manifest.to_json(Some(ending), Some(cost), &lengths)?;
        self.files.write(FINISHED, &manifest)?;
        self.publish(&lengths)?;
        Ok(full)
    }

    /// Puts the files in their place. If that is interrupted, the manifest there says "incomplete".
    fn publish(&self, lengths: &BTreeMap<String, u64>) -> Result<(), Error> {
        let (from, to) = (self.files.path(), self.path.as_path());
        let moved = |name: &str, place: &str| {
            let place = to.join(place);
            fs::rename(from.join(name), &place).map_err(Error::io(&place))
        };
        moved(manifest::FILE, manifest::FILE)?;
        for name in stale(to).filter(|name| !lengths.contains_key(name)) {
            publish::remove(&to.join(name))?;
        }
        publish::move_files(from, to, lengths.keys())?;
        // Each program's own folder.
        publish::move_folders(&from.join(PROGRAMS), &to.join(PROGRAMS))?;
        moved(FINISHED, manifest::FILE)
    }
}

/// Returns the files that an earlier run may have left: its own, those of a killed run of an older version, and its
/// programs' output.
fn stale(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let partial = |name: &&str| format!("{name}.partial");
    let own = FILES.iter().map(|name| (*name).to_owned());
    let killed = FILES.iter().chain([&manifest::FILE]).map(partial).collect::<Vec<_>>();
    let programs = folder.join(PROGRAMS);
    let is_own = fs::symlink_metadata(&programs).is_ok_and(|found| found.is_dir());
    let printed = is_own.then(|| fs::read_dir(&programs)).and_then(Result::ok);
    let names = printed.into_iter().flatten().flatten().map(|entry| entry.file_name());
    let logs = names.filter_map(|name| name.into_string().ok()).filter(|n| n.ends_with(".log"));
    let logs: Vec<String> = logs.map(|name| format!("{PROGRAMS}/{name}")).collect();
    own.chain(killed).chain(logs)
}

/// Refuses a folder with files that are not from a Suimon run, and one with files that cannot be replaced.
fn check(folder: &Path) -> Result<(), Error> {
    let foreign = || Error::Foreign { path: folder.to_owned() };
    let entries = fs::read_dir(folder).map_err(Error::io(folder))?;
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    let passing = [LOCK, UNFINISHED, SOCKET];
    if names.iter().any(|name| !passing.iter().any(|own| name == own)) && !holds_run(folder) {
        return Err(foreign());
    }
    let is_folder =
        |name: &&&str| fs::symlink_metadata(folder.join(name)).is_ok_and(|found| found.is_dir());
    match FILES.iter().chain([&manifest::FILE]).find(is_folder) {
        Some(name) => Err(Error::io(&folder.join(name))(ErrorKind::IsADirectory.into())),
        None => Ok(()),
    }
}

/// Returns whether there is a manifest of a Suimon run.
fn holds_run(folder: &Path) -> bool {
    let path = folder.join(manifest::FILE);
    fs::symlink_metadata(&path).is_ok_and(|found| found.is_file())
        && Stored::read(folder).is_ok_and(|stored| !stored.suimon.is_empty())
}

/// Writes a whole file, or nothing, in place of one of that name.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    write_with(path, |file| file.write_all(text.as_bytes()).map_err(Error::io(path)))
}

/// Removes partial files of `path` that killed writers left. A writer holds a lock on its partial file, which other
/// machines see too.
fn remove_abandoned(path: &Path, name: &str) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    for entry in entries {
        let found = entry.file_name();
        let process = found.to_str().and_then(|found| {
            let rest = found.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?;
            rest.strip_suffix(".partial")?.parse::<u32>().ok()
        });
        let Some(process) = process else { continue };
        // Its writer may not have locked it yet.
        let is_alive = Path::new(&format!("/proc/{process}")).exists();
        if is_alive || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let is_locked_by_none = |file: fs::File| file.try_lock().is_ok();
        if regular::open(&entry.path()).is_ok_and(is_locked_by_none) {
            // If that fails, the next writer tries again.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes a file with `fill`. An existing file is replaced; if it is a symlink, it is not followed.
///
/// # Errors
/// If it cannot be written, or `fill` fails: the existing file is as it was then.
pub fn write_with<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&mut fs::File) -> Result<(), E>,
) -> Result<(), E> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    publish::remove(&partial)?;
    remove_abandoned(path, &name);
    let mut file = files::create_new(&partial).map_err(Error::io(path))?;
    // The lock, until the file is closed, shows that its writer lives. On a file system without locks nothing is
    // removed.
    let _ = file.try_lock();
    let moved = || Ok(fs::rename(&partial, path).map_err(Error::io(path))?);
    let written = fill(&mut file).and_then(|()| moved());
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}
