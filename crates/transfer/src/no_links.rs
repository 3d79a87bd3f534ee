//! Opens files by absolute paths without following a link in any part: a path that was a folder when the tree was
//! read, and is now a link to another user's folder, leads nowhere.

use std::fs::File;
use std::io;
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::Mode;

/// Opens the file or folder at `path`.
///
/// # Errors
/// If it cannot be opened, or a part of the path is a link.
pub(crate) fn open_at(path: &Path, flags: OFlag) -> io::Result<File> {
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(AT_FDCWD, path, how) {
        // Linux before 5.6, or a system call filter that does not know it.
        Err(Errno::ENOSYS | Errno::EPERM) => open_by_parts(path, flags),
        opened => Ok(File::from(opened?)),
    }
}

fn open_by_parts(path: &Path, flags: OFlag) -> io::Result<File> {
    let folder = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part),
        _ => None,
    });
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return Ok(open("/", flags, Mode::empty())?.into());
    }
    let mut at = open("/", folder, Mode::empty())?;
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_some() { folder } else { flags };
        at = openat(&at, part, flags, Mode::empty())?;
    }
    Ok(at.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_part_of_a_path_is_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        fs::create_dir_all(root.join("a/b")).expect("folders");
        fs::write(root.join("a/b/f"), "f").expect("written");
        symlink(root.join("a"), root.join("link")).expect("a link");
        symlink(root.join("a/b/f"), root.join("a/b/g")).expect("a link");
        for open in [open_at, |path: &Path, flags| open_by_parts(path, flags | OFlag::O_NOFOLLOW)] {
            for (path, is_had) in
                [("a/b/f", true), ("a/b", true), ("link/b/f", false), ("a/b/g", false)]
            {
                let opened = open(&root.join(path), OFlag::O_RDONLY);
                assert_eq!(opened.is_ok(), is_had, "{path}: {opened:?}");
            }
            assert!(open(Path::new("/"), OFlag::O_PATH).is_ok());
        }
    }
}
