//! The receiver's directory. Everything below it is opened part by part, from an open folder, and no part may be a
//! link. If a link is put there while a transfer goes on, there is an error, and nothing is written elsewhere.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, Flock, FlockArg, OFlag, RenameFlags, openat, renameat2};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, fstatat, futimens, mkdirat};
use nix::sys::time::TimeSpec;
use nix::unistd::{AccessFlags, LinkatFlags, UnlinkatFlags, faccessat, linkat, syncfs, unlinkat};

use crate::error::Error;
use crate::message::Entry;
use crate::name::{Name, RESERVED};
use crate::partial;

const FOLDER: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC).union(OFlag::O_RDONLY);

/// The file that shows which user owns the work folder.
const OWNER: &str = "owner";

/// A name that does not exist in the work folder.
const NOTHING: &str = "nothing";

/// The directory, and the folder in it that holds files until they are whole.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    folder: OwnedFd,
    work: Flock<File>,
}

/// What exists at a file's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// A file of this size, changed at this time.
    File { size: u64, seconds: i64, nanos: i64 },
    /// Something else.
    Other,
}

/// The identity of a file or folder, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Inode {
    pub(crate) device: u64,
    pub(crate) number: u64,
}

/// A folder of the sender's, and whether this transfer made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) inode: Inode,
    pub(crate) is_new: bool,
}

/// The folder that was opened last: most files are in the folder of the file before.
#[derive(Debug, Default)]
pub(crate) struct LastFolder(Option<(Vec<u8>, OwnedFd)>);

impl Root {
    /// Opens the directory at `path` for this receiver alone; it is created if it does not exist.
    ///
    /// # Errors
    /// If it cannot be written, or another receiver uses it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |what| move |errno: Errno| Error::io(what, path)(errno.into());
        std::fs::create_dir_all(path).map_err(Error::io("create", path))?;
        let folder: OwnedFd = File::open(path).map_err(Error::io("open", path))?.into();
        match mkdirat(&folder, RESERVED, Mode::S_IRWXU) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(failed("write to")(errno)),
        }
        let work = openat(&folder, RESERVED, FOLDER, Mode::empty()).map_err(failed("write to"))?;
        let work = Flock::lock(File::from(work), FlockArg::LockExclusiveNonblock)
            .map_err(|_| Error::Locked(path.to_owned()))?;
        if !is_private(&work).map_err(Error::io("write to", path))? {
            return Err(Error::Shared(path.join(RESERVED)));
        }
        Ok(Self { path: path.to_owned(), folder, work })
    }

    /// The folder where files are until they are whole.
    pub(crate) fn work(&self) -> impl AsFd + '_ {
        self.work.as_fd()
    }

    /// Makes an error of what could not be done with the file or folder of a name.
    pub(crate) fn failed(
        &self,
        what: &'static str,
        name: &Name,
    ) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = self.path.join(name.as_path());
        move |source| Error::Io { what, path, source }
    }

    /// Writes all of its file system to the disk.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        syncfs(&self.folder).map_err(|errno| Error::io("write", &self.path)(errno.into()))
    }

    /// Runs `work` with the open folder at `path` below the directory, made if `create`.
    fn within<T>(
        &self,
        path: &[u8],
        create: bool,
        last: &mut LastFolder,
        work: impl FnOnce(&OwnedFd) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        if path.is_empty() {
            return work(&self.folder);
        }
        if let Some((known, folder)) = &last.0
            && known == path
        {
            return work(folder);
        }
        let folder = self.descend(path, create)?;
        let (_, folder) = last.0.insert((path.to_owned(), folder));
        work(folder)
    }

    fn descend(&self, path: &[u8], create: bool) -> Result<OwnedFd, Errno> {
        let mut at: Option<OwnedFd> = None;
        for part in path.split(|byte| *byte == b'/') {
            let parent = at.as_ref().unwrap_or(&self.folder);
            let next = match openat(parent, part, FOLDER, Mode::empty()) {
                Err(Errno::ENOENT) if create => {
                    match mkdirat(parent, part, Mode::S_IRWXU) {
                        Ok(()) | Err(Errno::EEXIST) => {}
                        Err(errno) => return Err(errno),
                    }
                    openat(parent, part, FOLDER, Mode::empty())?
                }
                other => other?,
            };
            at = Some(next);
        }
        at.ok_or(Errno::ENOENT)
    }

    /// Returns what exists at a name now.
    pub(crate) fn find(&self, name: &Name, last: &mut LastFolder) -> Result<Found, Errno> {
        let (folder, file) = name.split();
        let found = self.within(folder, false, last, |folder| {
            fstatat(folder, file, AtFlags::AT_SYMLINK_NOFOLLOW)
        });
        match found {
            Ok(stat) => Ok(Found::of(&stat)),
            Err(Errno::ENOENT) => Ok(Found::Nothing),
            Err(errno) => Err(errno),
        }
    }

    /// Checks that a file may be put into the name's folder, if that exists already: by this user, and by a rename
    /// within one file system.
    pub(crate) fn may_put(&self, name: &Name, last: &mut LastFolder) -> Result<(), Errno> {
        let (folder, file) = name.split();
        let access = AccessFlags::W_OK | AccessFlags::X_OK;
        let may = self.within(folder, false, last, |folder| {
            faccessat(folder, ".", access, AtFlags::AT_EACCESS)?;
            if fstat(folder)?.st_dev != fstat(self.work.as_fd())?.st_dev {
                return Err(Errno::EXDEV);
            }
            // The kernel compares the mounts before it finds that there is no such file. If there is one, nothing is
            // replaced.
            let flags = RenameFlags::RENAME_NOREPLACE;
            match renameat2(self.work.as_fd(), NOTHING, folder, file, flags) {
                Err(errno @ (Errno::EXDEV | Errno::ENAMETOOLONG | Errno::EILSEQ)) => Err(errno),
                _ => Ok(()),
            }
        });
        if may == Err(Errno::ENOENT) { Ok(()) } else { may }
    }

    /// Makes a folder, if it is not there; says which it is.
    pub(crate) fn make_folder(&self, name: &Name, last: &mut LastFolder) -> Result<Made, Errno> {
        let (parent, part) = name.split();
        let (is_new, folder) = self.within(parent, true, last, |parent| {
            let is_new = match mkdirat(parent, part, Mode::S_IRWXU) {
                Ok(()) => true,
                Err(Errno::EEXIST) => false,
                Err(errno) => return Err(errno),
            };
            Ok((is_new, openat(parent, part, FOLDER, Mode::empty())?))
        })?;
        let inode = Inode::of(&fstat(&folder)?);
        last.0 = Some((name.as_bytes().to_owned(), folder));
        Ok(Made { inode, is_new })
    }

    /// Sets a folder's permissions and time, if it is the expected one; set-group-ID and the sticky bit are
    /// unchanged. A folder of another user, or one that cannot be changed, keeps its own.
    pub(crate) fn finish_folder(
        &self,
        entry: &Entry,
        meant: Inode,
        last: &mut LastFolder,
    ) -> Result<(), Errno> {
        let (parent, part) = entry.name.split();
        let finished = self.within(parent, false, last, |parent| {
            let folder = openat(parent, part, FOLDER, Mode::empty())?;
            let found = fstat(&folder)?;
            if Inode::of(&found) != meant {
                return Err(Errno::ESTALE);
            }
            let special = Mode::from_bits_truncate(found.st_mode & 0o7000);
            fchmod(&folder, mode_of(entry) | special)?;
            let time = time_of(entry);
            futimens(&folder, &time, &time)
        });
        match finished {
            Err(Errno::EPERM | Errno::EACCES | Errno::EROFS) => Ok(()),
            finished => finished,
        }
    }

    /// Moves a whole file from the work folder to its name; an existing file is replaced only if `replace`. A rename
    /// goes by name, so it is checked before and after that the name is that of `data`.
    pub(crate) fn put(
        &self,
        partial: &str,
        data: &File,
        name: &Name,
        replace: bool,
        last: &mut LastFolder,
    ) -> Result<(), Errno> {
        let (folder, file) = name.split();
        let meant = Inode::of(&fstat(data)?);
        self.within(folder, true, last, |folder| {
            let work = self.work.as_fd();
            expect_at(work, partial.as_bytes(), meant)?;
            if replace {
                renameat2(work, partial, folder, file, RenameFlags::empty())?;
            } else {
                match renameat2(work, partial, folder, file, RenameFlags::RENAME_NOREPLACE) {
                    // A file system that cannot do this in one step, such as NFS.
                    Err(Errno::EINVAL) => link(work, partial, folder.as_fd(), file)?,
                    renamed => renamed?,
                }
            }
            expect_at(folder.as_fd(), file, meant)
        })
    }

    /// Removes the work folder, if nothing is in it.
    pub(crate) fn close(self) {
        // Files that are not whole are left in it: then it stays.
        let _ = unlinkat(&self.folder, RESERVED, UnlinkatFlags::RemoveDir);
    }
}

/// Returns whether an error concerns one name, size or folder, and not other files.
pub(crate) const fn is_of_one_file(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::EACCES
            | Errno::EBUSY
            | Errno::EEXIST
            | Errno::EFBIG
            | Errno::EILSEQ
            | Errno::EINVAL
            | Errno::EISDIR
            | Errno::ELOOP
            | Errno::EMLINK
            | Errno::ENAMETOOLONG
            | Errno::ENOENT
            | Errno::ENOTDIR
            | Errno::ENOTEMPTY
            | Errno::EOVERFLOW
            | Errno::EPERM
            | Errno::ESTALE
            | Errno::ETXTBSY
            | Errno::EXDEV
    )
}

/// Returns whether a folder belongs to this user, and no other user may change its contents. The user is taken from
/// the owner of a file that is made there, as its file system maps users.
fn is_private(folder: &File) -> io::Result<bool> {
    let found = folder.metadata()?;
    if found.mode() & 0o022 != 0 {
        return Ok(false);
    }
    let own = partial::create(folder, OWNER, OFlag::O_WRONLY)?.metadata()?.uid();
    partial::remove(folder, OWNER)?;
    Ok(own == found.uid())
}

/// Fails unless the name belongs to that file.
fn expect_at(folder: BorrowedFd<'_>, name: &[u8], meant: Inode) -> Result<(), Errno> {
    match fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(found) if Inode::of(&found) == meant => Ok(()),
        Ok(_) | Err(Errno::ENOENT) => Err(Errno::ESTALE),
        Err(errno) => Err(errno),
    }
}

/// Moves a file to an unused name, in two steps.
fn link(from: BorrowedFd<'_>, old: &str, to: BorrowedFd<'_>, new: &[u8]) -> Result<(), Errno> {
    linkat(from, old, to, new, LinkatFlags::empty())?;
    unlinkat(from, old, UnlinkatFlags::NoRemoveDir)
}

impl Inode {
    pub(crate) const fn of(stat: &FileStat) -> Self {
        Self { device: stat.st_dev, number: stat.st_ino }
    }

    /// Returns the identity of an open file.
    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { device: metadata.dev(), number: metadata.ino() })
    }
}

impl Found {
    fn of(stat: &FileStat) -> Self {
        if stat.st_mode & libc::S_IFMT != libc::S_IFREG {
            return Self::Other;
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Self::File { size, seconds: stat.st_mtime, nanos: stat.st_mtime_nsec }
    }

    /// Returns whether it is the announced file, by size and time, as `rsync` compares them.
    pub(crate) fn is(self, entry: &Entry) -> bool {
        let (size, seconds, nanos) = (entry.size(), entry.seconds, i64::from(entry.nanos));
        self == Self::File { size, seconds, nanos }
    }
}

pub(crate) fn mode_of(entry: &Entry) -> Mode {
    Mode::from_bits_truncate(entry.mode.into())
}

pub(crate) fn time_of(entry: &Entry) -> TimeSpec {
    TimeSpec::new(entry.seconds, entry.nanos.into())
}

/// An errno as an error of the system.
pub(crate) fn system(errno: Errno) -> io::Error {
    errno.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_linked_to_its_name_replaces_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = File::open(folder.path()).expect("it opens");
        let write = |name: &str| std::fs::write(folder.path().join(name), name).expect("written");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).ok();
        write("partial");
        assert_eq!(link(opened.as_fd(), "partial", opened.as_fd(), b"whole"), Ok(()));
        assert_eq!((read("partial"), read("whole")), (None, Some("partial".into())));
        write("other");
        assert_eq!(link(opened.as_fd(), "other", opened.as_fd(), b"whole"), Err(Errno::EEXIST));
        assert_eq!((read("other"), read("whole")), (Some("other".into()), Some("partial".into())));
    }
}
