//! The report of a finished run, made from its folder: that of a point of a sweep is made only when asked for.

use std::path::{Path, PathBuf};

use record::StoredRun;

use crate::error::Error;
use crate::folders::SWEEP;

/// Renders the report of the run in `folder` from the files there, and returns its path. An existing report is
/// replaced.
///
/// # Errors
/// A folder that is not that of a finished run, a file that cannot be read or written.
pub fn write_report(folder: &Path) -> Result<PathBuf, Error> {
    if folder.join(SWEEP).is_file() {
        let message = format!("{} holds a sweep", folder.display());
        let help = "name the runs in it; `suimon sweep` with the same settings renders the sweep's \
                    report again without repeating finished runs";
        return Err(Error::usage(message, help));
    }
    let stored = StoredRun::read(folder)?;
    let plan = stored.plan()?;
    let html = report::stored_to_html(&stored, &plan)?;
    Ok(stored.replace_report(&html)?)
}
