//! The preparation of a program without rights: its folder, its environment, and its executable file, which `nobody`
//! must be able to reach.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::{env, iter};

use super::init;
use super::system::NOBODY;
use super::view::Folder;
use crate::Error;

/// The user `nobody`, who owns no files, prepared to run a program.
pub(super) struct Nobody {
    folder: Option<(File, CString)>,
    /// See [`init::Nobody::nested`].
    nested: bool,
}

impl Nobody {
    /// Prepares the user, with a new, empty folder at `path`.
    pub(super) fn new(path: Option<&Path>) -> Result<Self, Error> {
        let nested = !is_mapped();
        let folder = path.map(|path| {
            let made = own_folder(path, !nested);
            made.map_err(Error::system(format!("create the folder {}", path.display())))
        });
        Ok(Self { folder: folder.transpose()?, nested })
    }

    pub(super) fn recipe(&self) -> init::Nobody<'_> {
        let folder = self.folder.as_ref();
        let folder = folder.map(|(file, path)| Folder { descriptor: file.as_fd(), path });
        init::Nobody { folder, nested: self.nested }
    }

    /// Whether `nobody` may run the file at this path. Unless it is this user itself in a nested namespace, all users
    /// must be allowed to.
    fn may_run(&self, path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else { return false };
        let everybody = |path: &Path| {
            fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o001 != 0)
        };
        self.nested || path.ancestors().all(everybody)
    }
}

fn own_folder(path: &Path, give: bool) -> io::Result<(File, CString)> {
    // Removes the folder of an earlier run. A symbolic link is not a folder and is refused.
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => DirBuilder::new().mode(0o700).create(path)?,
    }
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if give {
        fchown(&folder, Some(NOBODY), Some(NOBODY))?;
    }
    let path = path.canonicalize()?;
    let path = CString::new(OsString::from(path).into_vec())?;
    Ok((folder, path))
}

/// Whether this user namespace maps the user `nobody` (user_namespaces(7)).
fn is_mapped() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.lines().any(|line| {
        let mut words = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
        let (first, length) = (words.next(), words.nth(1));
        first
            .zip(length)
            .is_some_and(|(first, length)| (first..first + length).contains(&u64::from(NOBODY)))
    })
}

/// Finds the file that a shell would run for `name`, among those that the user may run if it is `nobody`.
pub(super) fn find(name: &str, nobody: Option<&Nobody>) -> Result<PathBuf, Error> {
    let runs = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let places = env::var_os("PATH").unwrap_or_default();
    let found: Vec<PathBuf> = if name.contains('/') {
        iter::once(PathBuf::from(name)).filter(runs).collect()
    } else {
        env::split_paths(&places).map(|place| place.join(name)).filter(runs).collect()
    };
    let may = |path: &&PathBuf| nobody.is_none_or(|nobody| nobody.may_run(path));
    if let Some(path) = found.iter().find(may) {
        // The program starts in another working directory, so the path must be absolute.
        return Ok(if path.is_absolute() {
            path.clone()
        } else {
            path.canonicalize().unwrap_or_else(|_| path.clone())
        });
    }
    let what = format!("run `{name}`");
    Err(match found.first() {
        Some(path) => Error::lacking(
            format!("{what} as nobody"),
            io::ErrorKind::PermissionDenied.into(),
            format!(
                "let all users run {}, or give the scenario's program `as = \"root\"`",
                path.display()
            ),
        ),
        None => Error::lacking(
            what,
            io::ErrorKind::NotFound.into(),
            format!("install `{name}`, or use another program"),
        ),
    })
}

/// Whether a program without rights gets this environment variable of the user. Any other variable may be a secret,
/// such as a token; a command may pass it with `env NAME=VALUE`.
fn is_open(name: &OsStr) -> bool {
    const OPEN: [&str; 9] = [
        "PATH",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TERM",
        "COLORTERM",
        "NO_COLOR",
        "LD_LIBRARY_PATH",
        "SOURCE_DATE_EPOCH",
    ];
    OPEN.iter().any(|open| name == *open) || name.as_encoded_bytes().starts_with(b"LC_")
}

/// The environment variables as `NAME=VALUE`. The user `nobody` has its own home, and only those of this user's
/// variables that are not secret.
pub(super) fn environment(nobody: Option<&Nobody>) -> Vec<OsString> {
    let kept = env::vars_os().filter(|(name, _)| nobody.is_none() || is_open(name));
    let mut all: Vec<OsString> = kept
        .map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            name
        })
        .collect();
    // The kernel sets HOME=/ for its init program, and `/` is read-only.
    if let Some(home) = all.iter_mut().find(|variable| **variable == *"HOME=/") {
        *home = "HOME=/tmp".into();
    }
    if nobody.is_some() {
        all.extend(["HOME=/tmp", "USER=nobody", "LOGNAME=nobody"].map(OsString::from));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_rights_has_no_secrets_of_the_user() {
        let open = ["PATH", "LC_ALL", "LANG", "TZ", "TERM"];
        let secret = ["SUIMON_CODE", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HOME", "LCX", ""];
        assert!(open.iter().all(|name| is_open(OsStr::new(name))));
        assert!(!secret.iter().any(|name| is_open(OsStr::new(name))));
    }
}
