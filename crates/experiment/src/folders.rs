//! Where runs go: `runs/NAME-SEED`, `runs/NAME-SEED-lab`, or `runs/NAME-sweep/NUMBER-PARAMETERS` for each point of a sweep.

use std::path::{Path, PathBuf};

use record::folder::{FolderLock, LOCK};
use serde::Serialize;

use crate::driver::Driver;
use crate::error::Error;

/// The file that marks a folder of many runs, as `manifest.json` marks that of one.
pub const SWEEP: &str = "sweep.json";

/// Longer names would trouble file systems and readers alike.
const NAME_MAX: usize = 80;

/// Where a single run goes unless told.
pub fn of_run(name: &str, seed: u64, driver: Driver) -> PathBuf {
    Path::new("runs").join(format!("{name}-{seed}{}", driver.suffix()))
}

/// Where a sweep goes unless told.
pub fn of_sweep(name: &str, driver: Driver) -> PathBuf {
    Path::new("runs").join(format!("{name}-sweep{}", driver.suffix()))
}

/// The name of the folder of point `index` among `count`: its number from 1, and its parameters.
pub fn of_point(index: usize, count: usize, label: &str) -> String {
    let width = count.to_string().len();
    let number = index + 1;
    format!("{number:0width$}-{}", plain(label)).trim_end_matches('-').to_owned()
}

/// `text` with whatever a shell or a file system might trip over replaced.
pub fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "=.,_+".contains(c);
    let words = text.replace(", ", ",");
    words
        .chars()
        .filter(|c| *c != ' ')
        .map(|c| if fits(c) { c } else { '-' })
        .take(NAME_MAX)
        .collect()
}

/// Makes a folder for many runs, or takes over one that holds `mark`, as an earlier one left it; locked for as long
/// as what is returned lives.
///
/// # Errors
/// If it cannot be made, holds what none of ours left, or somebody else writes into it.
pub(crate) fn create_for_many(folder: &Path, mark: &str) -> Result<FolderLock, Error> {
    std::fs::create_dir_all(folder).map_err(Error::folder(folder))?;
    let entries = std::fs::read_dir(folder).map_err(Error::folder(folder))?;
    let mut others = entries.flatten().filter(|entry| entry.file_name() != LOCK);
    let marked = std::fs::symlink_metadata(folder.join(mark)).is_ok_and(|found| found.is_file());
    if !marked && others.next().is_some() {
        let message = format!("{} holds files but no {mark}", folder.display());
        return Err(Error::usage(message, "give --out an empty folder or that of an earlier one"));
    }
    Ok(FolderLock::take(folder)?)
}

/// JSON as people can read it, for a file.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_plain_names() {
        let label = "emulator.gnet.buffer=512 KiB, seed=2";
        assert_eq!(of_point(1, 16, label), "02-emulator.gnet.buffer=512KiB,seed=2");
        assert_eq!(of_point(0, 1, ""), "1");
        assert_eq!(plain("a/b\"c"), "a-b-c");
    }
}
