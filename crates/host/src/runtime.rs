//! The runtime folder that `lab` and `mpi enable` share: only its user may read or write it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Root's runtime folder.
pub const FOLDER: &str = "/run/suimon";

/// Permissions of such a folder.
const MODE: u32 = 0o700;

/// Makes the folder if it does not exist, and opens it. If others may read it, as earlier versions left it, its mode is
/// corrected.
///
/// # Errors
/// The system's error; [`ErrorKind::PermissionDenied`] if the folder is another user's, or others may write to it.
pub fn make(path: &Path) -> io::Result<File> {
    match DirBuilder::new().mode(MODE).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => open(path),
    }
}

/// Opens an existing folder as [`make`] does.
///
/// # Errors
/// The errors of [`make`].
pub fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = folder.metadata()?;
    if found.uid() != nix::unistd::geteuid().as_raw() || found.mode() & 0o022 != 0 {
        let why = "it belongs to another user, or others may write in it";
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    if found.mode() & 0o777 != MODE {
        folder.set_permissions(fs::Permissions::from_mode(MODE))?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_its_users_alone() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("runtime");
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode));
        let mode = || fs::metadata(&path).expect("it is there").mode() & 0o777;
        make(&path).expect("made");
        assert_eq!(mode(), 0o700);
        // The mode that earlier versions used.
        set(0o755).expect("permissions");
        make(&path).expect("it is there");
        assert_eq!(mode(), 0o700);
        for others in [0o777, 0o720] {
            set(others).expect("permissions");
            let refused = open(&path).expect_err("others may write in it");
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        }
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        make(&link).expect_err("a link");
    }
}
