//! Moves a run's files from the directory where they were written to their folder, all by rename.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::error::Error;

/// Returns the length of every file in `folder`, by its name; of files in a folder within it as `FOLDER/NAME`.
///
/// # Errors
/// If a folder cannot be read.
pub(super) fn lengths(folder: &Path) -> Result<BTreeMap<String, u64>, Error> {
    let mut all = BTreeMap::new();
    for (name, metadata) in entries(folder)? {
        if metadata.is_dir() {
            let within = entries(&folder.join(&name))?;
            let files = within.into_iter().filter(|(_, metadata)| !metadata.is_dir());
            all.extend(files.map(|(file, m)| (format!("{name}/{file}"), m.len())));
        } else {
            all.insert(name, metadata.len());
        }
    }
    Ok(all)
}

fn entries(folder: &Path) -> Result<Vec<(String, Metadata)>, Error> {
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        // Suimon's own names are UTF-8; other files are unknown.
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, entry.metadata()?))
    };
    let read = fs::read_dir(folder).and_then(|all| all.map(entry).collect());
    read.map_err(Error::io(folder))
}

/// Moves `names` from one folder to the other, replacing existing files of these names.
///
/// # Errors
/// If a file cannot be moved.
pub(super) fn move_files<'n>(
    from: &Path,
    to: &Path,
    names: impl Iterator<Item = &'n String>,
) -> Result<(), Error> {
    let mut folders = BTreeSet::new();
    for name in names {
        if let Some((folder, _)) = name.split_once('/')
            && folders.insert(folder)
        {
            make_folder(&to.join(folder))?;
        }
        let place = to.join(name);
        fs::rename(from.join(name), &place).map_err(Error::io(&place))?;
    }
    Ok(())
}

/// Moves the folders in `from`, with their contents, to `to`, where those of an earlier run are removed.
///
/// # Errors
/// If a folder cannot be removed or moved.
pub(super) fn move_folders(from: &Path, to: &Path) -> Result<(), Error> {
    let folders = |path: &Path| -> Result<Vec<String>, Error> {
        if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
            return Ok(Vec::new());
        }
        let all = entries(path)?.into_iter().filter(|(_, metadata)| metadata.is_dir());
        Ok(all.map(|(name, _)| name).collect())
    };
    for earlier in folders(to)? {
        remove_all(&to.join(earlier))?;
    }
    for name in folders(from)? {
        make_folder(to)?;
        let place = to.join(&name);
        fs::rename(from.join(&name), &place).map_err(Error::io(&place))?;
    }
    Ok(())
}

/// Makes a folder within the run's; never one that a symlink leads to.
fn make_folder(path: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => remove(path)?,
        Err(_) => {}
    }
    fs::create_dir(path).map_err(Error::io(path))
}

/// Removes a file, or the symlink of that name, if it exists.
///
/// # Errors
/// If it cannot be removed.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}

/// Removes one of Suimon's folders with everything in it, or the symlink or file of that name.
///
/// # Errors
/// If it cannot be removed.
pub(super) fn remove_all(path: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).map_err(Error::io(path)),
        Ok(_) => remove(path),
        Err(_) => Ok(()),
    }
}
