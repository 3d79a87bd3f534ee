//! The folders of runs: `runs/NAME-SEED`, `runs/NAME-SEED-lab`, or `runs/NAME-sweep/NUMBER-PARAMETERS` for each
//! point of a sweep.

use std::path::{Path, PathBuf};

use record::folder::{FolderLock, LOCK};
use serde::Serialize;

use crate::driver::DriverChoice;
use crate::error::Error;

/// The file that marks a folder of many runs, as `manifest.json` marks that of one.
pub const SWEEP: &str = "sweep.json";

/// The longest name: longer ones are hard on file systems and readers.
const NAME_MAX: usize = 80;

/// The default folder of a single run.
pub fn of_run(name: &str, seed: u64, driver: DriverChoice) -> PathBuf {
    Path::new("runs").join(format!("{name}-{seed}{}", driver.suffix()))
}

/// The default folder of a sweep.
pub fn of_sweep(name: &str, driver: DriverChoice) -> PathBuf {
    Path::new("runs").join(format!("{name}-sweep{}", driver.suffix()))
}

/// The name of the folder of point `index` among `count`: its number from 1, and its parameters.
pub fn of_point(index: usize, count: usize, label: &str) -> String {
    let width = count.to_string().len();
    let number = index + 1;
    format!("{number:0width$}-{}", plain(label)).trim_end_matches('-').to_owned()
}

/// `text` as a name for shells, file systems and LaTeX: letters, digits, `-`, `.` and `_`, which separates settings.
pub fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
    let words = text.replace(", ", "_");
    words
        .chars()
        .filter(|c| *c != ' ')
        .map(|c| if fits(c) { c } else { '-' })
        .take(NAME_MAX)
        .collect()
}

/// Makes a folder for many runs, or reuses one with the file `mark`, left by an earlier one. The folder is
/// locked as long as the returned value lives.
///
/// # Errors
/// If the folder cannot be made, has contents that are not ours, or another process writes to it.
pub(crate) fn create_for_many(folder: &Path, mark: &str) -> Result<FolderLock, Error> {
    std::fs::create_dir_all(folder).map_err(record::error::folder(folder))?;
    let entries = std::fs::read_dir(folder).map_err(record::error::folder(folder))?;
    let mut others = entries.flatten().filter(|entry| entry.file_name() != LOCK);
    let marked = std::fs::symlink_metadata(folder.join(mark)).is_ok_and(|found| found.is_file());
    if !marked && others.next().is_some() {
        let message = format!("{} contains files but no {mark}", folder.display());
        return Err(Error::usage(
            message,
            "set --out to an empty folder or to that of an earlier one",
        ));
    }
    Ok(FolderLock::take(folder)?)
}

/// Human-readable JSON, for a file.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_plain_names() {
        let label = "emulator.gnet.buffer=512 KiB, seed=2";
        assert_eq!(of_point(1, 16, label), "02-emulator.gnet.buffer-512KiB_seed-2");
        assert_eq!(of_point(0, 1, ""), "1");
        assert_eq!(plain("a/b\"c"), "a-b-c");
        let odd = of_point(0, 1, "link.a.queue=fifo:packets=5 1e+3, $x=`~%{é}");
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        assert!(odd.chars().all(fits), "{odd}");
    }
}
