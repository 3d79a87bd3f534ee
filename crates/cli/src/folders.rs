//! Where runs go: `runs/NAME-SEED`, `runs/NAME-SEED-lab`, or `runs/NAME-sweep/NUMBER-PARAMETERS` for each point of a sweep.

use std::path::{Path, PathBuf};

use results::folder::{FolderLock, LOCK};

use crate::execution::Driver;
use crate::failure::Failure;

/// The file that marks a folder of many runs, as `manifest.json` marks that of one.
pub(crate) const SWEEP: &str = "sweep.json";

/// Longer names would trouble file systems and readers alike.
const NAME_MAX: usize = 80;

/// Where a single run goes unless told; one of the lab does not take the place of the simulator's.
pub(crate) fn of_run(name: &str, seed: u64, driver: Driver) -> PathBuf {
    let driver = if driver == Driver::Lab { "-lab" } else { "" };
    Path::new("runs").join(format!("{name}-{seed}{driver}"))
}

/// Where a sweep goes unless told.
pub(crate) fn of_sweep(name: &str, driver: Driver) -> PathBuf {
    let driver = if driver == Driver::Lab { "-lab" } else { "" };
    Path::new("runs").join(format!("{name}-sweep{driver}"))
}

/// The name of the folder of point `index` among `count`: its number from 1, and its parameters.
pub(crate) fn of_point(index: usize, count: usize, label: &str) -> String {
    let width = count.to_string().len();
    let number = index + 1;
    format!("{number:0width$}-{}", plain(label)).trim_end_matches('-').to_owned()
}

/// `text` with whatever a shell or a file system might trip over replaced.
pub(crate) fn plain(text: &str) -> String {
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
pub(crate) fn create_for_many(folder: &Path, mark: &str) -> Result<FolderLock, Failure> {
    std::fs::create_dir_all(folder).map_err(Failure::folder(folder))?;
    let entries = std::fs::read_dir(folder).map_err(Failure::folder(folder))?;
    let mut others = entries.flatten().filter(|entry| entry.file_name() != LOCK);
    let marked = std::fs::symlink_metadata(folder.join(mark)).is_ok_and(|found| found.is_file());
    if !marked && others.next().is_some() {
        let message = format!("{} holds files but no {mark}", folder.display());
        return Err(Failure::usage(
            message,
            "give --out an empty folder or that of an earlier one",
        ));
    }
    Ok(FolderLock::take(folder)?)
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
