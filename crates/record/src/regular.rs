//! Reads files of a run, and refuses pipes and devices with the names of such files: they may block or never end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc::O_NONBLOCK;

/// Opens a regular file.
///
/// # Errors
/// The system's error; [`ErrorKind::InvalidInput`] if it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    let found = file.metadata()?;
    // Reading a folder fails, and the system says why.
    if found.is_file() || found.is_dir() {
        return Ok(file);
    }
    Err(io::Error::new(
        ErrorKind::InvalidInput,
        "a pipe or a device: a run's files are regular files",
    ))
}

/// Reads a regular file.
///
/// # Errors
/// Those of [`open`], and of reading.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file as UTF-8.
///
/// # Errors
/// Those of [`read`], and bytes that are not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_or_a_device_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("summary.json");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        for path in [&*path, Path::new("/dev/zero")] {
            let error = read_text(path).expect_err("no regular file");
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "text").expect("written");
        assert_eq!(read_text(&file).expect("a file"), "text");
        assert!(read_text(folder.path()).is_err());
    }
}
