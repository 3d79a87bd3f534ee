//! A file for node_exporter's textfile collector: it is always complete.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{process, thread, time};

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::{interruption, output};

/// The collector reads only files with this extension.
const EXTENSION: &str = "prom";
/// Interval between checks for the end.
const GLANCE: time::Duration = time::Duration::from_millis(100);

/// Writes what `text` returns to `path`, once or at that interval until a signal. From the second time on, an error is
/// only reported: it may pass.
pub(super) fn write(
    path: &Path,
    every: Option<base::Duration>,
    text: impl Fn() -> Result<String, Failure>,
) -> Result<Exit, Failure> {
    if path.extension().is_none_or(|extension| extension != EXTENSION) {
        let message = format!("node_exporter does not read {}", path.display());
        let named = path.with_added_extension(EXTENSION);
        return Err(Failure::usage(message, format!("use --textfile {}", named.display())));
    }
    let again = || replace(path, &text()?).map_err(failure::unwritten(path));
    again()?;
    let Some(every) = every else { return Ok(Exit::Fine) };
    let interrupted = interruption::watch()?;
    let every = lab::clock::system(every);
    while sleep(every, &interrupted) {
        if let Err(failure) = again() {
            output::note(&failure.to_string());
        }
    }
    Ok(Exit::Fine)
}

/// Sleeps for that time. Returns false if a signal came.
fn sleep(mut left: time::Duration, interrupted: &AtomicBool) -> bool {
    while !left.is_zero() && !interrupted.load(Ordering::Relaxed) {
        let part = left.min(GLANCE);
        thread::sleep(part);
        left -= part;
    }
    !interrupted.load(Ordering::Relaxed)
}

/// Writes the file under another name, which the collector does not read, and renames it. Another user may read it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = PathBuf::from(path);
    temporary.add_extension(format!("{}.tmp", process::id()));
    let written = fs::write(&temporary, text)
        .and_then(|()| fs::set_permissions(&temporary, Permissions::from_mode(0o644)))
        .and_then(|()| fs::rename(&temporary, path));
    written.inspect_err(|_| {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    })
}
