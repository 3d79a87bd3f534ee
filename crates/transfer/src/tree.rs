//! The files and folders to send: those that were named, and everything below them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::error::Error;
use crate::message::{ENTRIES_MAX, Entry, Kind};
use crate::name::Name;
use crate::no_links::open_at;
use crate::root::Inode;

/// Files and folders to send. An entry's source has its place.
#[derive(Debug, Default)]
pub struct Tree {
    /// The entries as they are announced to the receiver.
    pub entries: Vec<Entry>,
    /// Where they are.
    pub(crate) sources: Vec<Source>,
    /// Paths that are not sent, and what they are.
    pub skipped: Vec<(PathBuf, &'static str)>,
    /// Files and folders that are not sent because they cannot be read, and why.
    pub unread: Vec<(Name, String)>,
}

/// The path of an entry, and the identity of the file or folder found there: another one may be there when it is
/// sent.
#[derive(Debug)]
pub(crate) struct Source {
    /// Absolute, and without links.
    pub(crate) path: PathBuf,
    pub(crate) inode: Inode,
}

impl Tree {
    /// Finds all that `paths` name. Folders are sent whole, under their last part; links, devices and pipes below them
    /// are skipped, and what cannot be read there.
    ///
    /// # Errors
    /// If one of `paths` cannot be read, or two have one name.
    pub fn of(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut tree = Self::default();
        let mut names = HashSet::new();
        for path in paths {
            // A link that is named is followed, as it was named on purpose.
            let whole = fs::canonicalize(path).map_err(Error::io("read", path))?;
            let last = path.file_name().or_else(|| whole.file_name()).unwrap_or_default();
            let name = last.as_bytes().to_owned();
            if !names.insert(name.clone()) {
                let twice = Name::new(&name)
                    .map_err(|source| Error::Name { path: path.clone(), source })?;
                return Err(Error::Twice(twice));
            }
            let found = open_at(&whole, OFlag::O_PATH).and_then(|found| found.metadata());
            let metadata = found.map_err(Error::io("read", path))?;
            tree.add(&whole, name, &metadata)?;
        }
        Ok(tree)
    }

    /// How many bytes its files have.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(Entry::size).sum()
    }

    /// How many files it has.
    pub fn files(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry.kind, Kind::File { .. })).count()
    }

    fn add(&mut self, path: &Path, name: Vec<u8>, metadata: &Metadata) -> Result<(), Error> {
        let kind = if metadata.is_file() {
            let size = metadata.len();
            Kind::File { size, sparse: metadata.blocks() * 512 < size }
        } else if metadata.is_dir() {
            Kind::Folder
        } else {
            self.skipped.push((path.to_owned(), what_else(metadata)));
            return Ok(());
        };
        if self.entries.len() >= ENTRIES_MAX {
            return Err(Error::Limit("more files and folders than 4 million: send them in parts"));
        }
        let checked = Name::new(&name);
        let checked = checked.map_err(|source| Error::Name { path: path.to_owned(), source })?;
        self.entries.push(Entry {
            name: checked,
            kind,
            mode: u16::try_from(metadata.mode() & 0o777).unwrap_or(0o600),
            seconds: metadata.mtime(),
            nanos: u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
        });
        let inode = Inode { device: metadata.dev(), number: metadata.ino() };
        self.sources.push(Source { path: path.to_owned(), inode });
        if kind == Kind::Folder { self.add_below(path, &name) } else { Ok(()) }
    }

    /// Adds what is in a folder.
    fn add_below(&mut self, path: &Path, name: &[u8]) -> Result<(), Error> {
        let below = match read_folder(path) {
            Ok(below) => below,
            Err(error) => return self.leave_out(path, name, &error),
        };
        for (part, metadata) in below {
            let path = path.join(&part);
            let name = [name, b"/", part.as_bytes()].concat();
            match metadata {
                Ok(metadata) => self.add(&path, name, &metadata)?,
                Err(error) => self.leave_out(&path, &name, &error)?,
            }
        }
        Ok(())
    }

    /// Leaves out what cannot be read, and everything in it.
    fn leave_out(&mut self, path: &Path, name: &[u8], error: &io::Error) -> Result<(), Error> {
        let name = Name::new(name);
        let name = name.map_err(|source| Error::Name { path: path.to_owned(), source })?;
        self.unread.push((name, error.to_string()));
        Ok(())
    }
}

/// Reads the entries of a folder, by name, from the open folder, whatever its path leads to meanwhile.
fn read_folder(path: &Path) -> io::Result<Vec<(OsString, io::Result<Metadata>)>> {
    let folder = open_at(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    let entries = fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    let found = entries.map(|entry| entry.map(|entry| (entry.file_name(), entry.metadata())));
    let mut found = found.collect::<io::Result<Vec<_>>>()?;
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

fn what_else(metadata: &Metadata) -> &'static str {
    match metadata.mode() & libc::S_IFMT {
        libc::S_IFLNK => "a symbolic link",
        libc::S_IFIFO => "a pipe",
        libc::S_IFSOCK => "a socket",
        _ => "a device",
    }
}
