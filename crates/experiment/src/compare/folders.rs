//! The runs that are compared: those of the named folders, and of the sweeps among them.

use std::path::{Path, PathBuf};

use record::StoredRun;
use serde_json::Value;

use super::loads::{self, Pair};
use crate::error::Error;
use crate::folders::SWEEP;
use crate::sweep::kept_table;

/// Reads every run; a sweep's in the order of its grid. In all folders but the first, flows are renamed by
/// `pairs`.
pub(super) fn read(folders: &[PathBuf], pairs: &[Pair]) -> Result<Vec<StoredRun>, Error> {
    loads::check_pairs(pairs)?;
    let mut runs = Vec::new();
    for (number, folder) in folders.iter().enumerate() {
        for place in places(folder)? {
            let mut run = StoredRun::read(&place)?;
            match number {
                0 => loads::check_names(&run, pairs.iter().map(|pair| &pair.first))?,
                _ => loads::rename(&mut run, pairs)?,
            }
            runs.push(run);
        }
    }
    if runs.len() < 2 {
        return Err(Error::usage(
            "a single run cannot be compared",
            "name at least two run folders",
        ));
    }
    Ok(runs)
}

/// The folder itself, or the complete runs of the sweep that it holds.
fn places(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let path = folder.join(SWEEP);
    if !path.exists() {
        return Ok(vec![folder.to_owned()]);
    }
    let text = record::regular::read_text(&path).map_err(record::error::file(&path))?;
    let document: Value = serde_json::from_str(&text).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Error::usage(message, "run `suimon sweep` again to rewrite the file")
    })?;
    if kept_table(&document) {
        let message = format!("{} kept only the table of its runs", folder.display());
        return Err(Error::usage(message, "run the sweep again without --keep"));
    }
    let runs = document["runs"].as_array().into_iter().flatten();
    let done = runs.filter(|run| run["summary"]["run"]["complete"] == true);
    let names = done.filter_map(|run| run["folder"].as_str());
    let places: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    if places.is_empty() {
        let message = format!("{} contains no complete run", path.display());
        return Err(Error::usage(message, "run `suimon sweep` again to continue it"));
    }
    Ok(places)
}
