//! Removes the files of finished runs that a sweep does not keep.

use std::fs;
use std::path::Path;

use super::{FolderLock, PROGRAMS, SCENARIO, SUMMARY, TRACES, publish, stale};
use crate::error::Error;
use crate::manifest;

/// Removes all files of a finished run but its manifest, scenario and summary, which its row of a sweep's table is
/// made of.
///
/// # Errors
/// If a file cannot be removed, or another process writes into the folder.
pub fn keep_results(folder: &Path) -> Result<(), Error> {
    let _lock = FolderLock::take(folder)?;
    remove_others(folder)
}

/// Removes a finished run, and its folder if it contains nothing else.
///
/// # Errors
/// If a file cannot be removed, or another process writes into the folder.
pub fn remove_run(folder: &Path) -> Result<(), Error> {
    let lock = FolderLock::take(folder)?;
    remove_others(folder)?;
    // The manifest, which says whose files these are, is last.
    for name in [SUMMARY, SCENARIO, manifest::FILE] {
        publish::remove(&folder.join(name))?;
    }
    drop(lock);
    // The system refuses that unless it is empty.
    let _ = fs::remove_dir(folder);
    Ok(())
}

fn remove_others(folder: &Path) -> Result<(), Error> {
    for name in stale(folder).filter(|name| ![SCENARIO, SUMMARY].contains(&name.as_str())) {
        publish::remove(&folder.join(name))?;
    }
    [TRACES, PROGRAMS].iter().try_for_each(|name| publish::remove_all(&folder.join(name)))
}
