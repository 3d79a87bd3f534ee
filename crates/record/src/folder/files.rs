//! The files of a run while it goes on. Each is newly created, and some disk space is reserved to complete them.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::provenance::Provenance;

/// The disk space that is reserved: for what tables hold in memory when the disk is full, their footers, summary and
/// report.
const RESERVE_BYTES: i64 = 4 << 20;
/// The file that reserves it.
const RESERVE: &str = "reserve";

/// A directory that a run writes its files into.
#[derive(Clone, Debug)]
pub struct Files {
    path: PathBuf,
    reserve: Arc<Reserve>,
    /// Which run they are of, if that is known.
    provenance: Option<Arc<Provenance>>,
}

/// The space that a full disk still has for the end of files that were begun.
#[derive(Debug, Default)]
struct Reserve {
    /// None if nothing is reserved.
    path: Option<PathBuf>,
    full: AtomicBool,
}

/// A file that is being written. If the disk is full, it uses the reserve.
#[derive(Debug)]
pub(crate) struct OutFile {
    file: File,
    reserve: Arc<Reserve>,
}

impl Files {
    /// Puts files into `path` as it is, with nothing reserved.
    pub(crate) fn into_folder(path: &Path) -> Self {
        Self { path: path.to_owned(), reserve: Arc::default(), provenance: None }
    }

    /// Puts the files of a run into `path` and reserves disk space for their ends.
    ///
    /// # Errors
    /// If there is not enough space.
    pub(crate) fn of_run(path: &Path, provenance: Provenance) -> Result<Self, Error> {
        let reserve = path.join(RESERVE);
        let file = create_new(&reserve).map_err(Error::io(path))?;
        let kept = match allocate(&file) {
            Err(error) if is_full(&error) => return Err(Error::io(path)(error)),
            // A file system that cannot reserve space.
            other => other.is_ok(),
        };
        let reserve = Reserve { path: Some(reserve), full: AtomicBool::new(false) };
        if !kept {
            reserve.release();
        }
        let provenance = Some(Arc::new(provenance));
        Ok(Self { path: path.to_owned(), reserve: Arc::new(reserve), provenance })
    }

    /// Which run they are of, if that is known.
    pub(crate) fn provenance(&self) -> Option<&Provenance> {
        self.provenance.as_deref()
    }

    /// Where they are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the disk was found full: only the ends of files are written from then on.
    pub fn is_full(&self) -> bool {
        self.reserve.full.load(Ordering::Relaxed)
    }

    /// Creates a file that does not exist yet.
    pub(crate) fn create(&self, name: &str) -> Result<OutFile, Error> {
        let path = self.path.join(name);
        let file = create_new(&path).map_err(Error::io(&path))?;
        Ok(OutFile { file, reserve: Arc::clone(&self.reserve) })
    }

    /// Writes a whole file, or removes what was written of it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
        let mut file = self.create(name)?;
        file.write_all(bytes.as_ref()).map_err(|error| {
            self.remove(name);
            Error::io(&self.path.join(name))(error)
        })
    }

    /// Removes a file that could not be written whole.
    pub(crate) fn remove(&self, name: &str) {
        let _ = std::fs::remove_file(self.path.join(name));
    }

    /// Releases the reserved space.
    pub(crate) fn release(&self) {
        self.reserve.release();
    }
}

impl Reserve {
    fn release(&self) {
        // Removed once; again does nothing.
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Err(error) if is_full(&error) => {
                self.reserve.full.store(true, Ordering::Relaxed);
                self.reserve.release();
                self.file.write(bytes)
            }
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Returns whether the error says that the disk is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Opens a file that did not exist before; a symlink of that name is an error, as any file is.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(target_os = "linux")]
fn allocate(file: &File) -> io::Result<()> {
    use nix::fcntl::{FallocateFlags, fallocate};
    Ok(fallocate(file, FallocateFlags::empty(), 0, RESERVE_BYTES)?)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}
