//! The files of a run while it goes on: each is created anew, and some room on the disk is kept back for their ends.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::provenance::Provenance;

/// Room that is kept back on the disk: what tables hold in memory when it is full, their footers, summary, report.
const RESERVE_BYTES: i64 = 4 << 20;
/// The file that keeps it.
const RESERVE: &str = "reserve";

/// A directory that a run writes its files into.
#[derive(Clone, Debug)]
pub struct Files {
    path: PathBuf,
    reserve: Arc<Reserve>,
    /// Which run they are of, if that is known.
    provenance: Option<Arc<Provenance>>,
}

/// Room that a full disk still has for the end of what was begun.
#[derive(Debug, Default)]
struct Reserve {
    /// None where none is kept.
    path: Option<PathBuf>,
    full: AtomicBool,
}

/// A file in the making. If the disk is full it takes from the reserve.
#[derive(Debug)]
pub(crate) struct OutFile {
    file: File,
    reserve: Arc<Reserve>,
}

impl Files {
    /// Into `path` as it is, with nothing kept back.
    pub(crate) fn into_folder(path: &Path) -> Self {
        Self { path: path.to_owned(), reserve: Arc::default(), provenance: None }
    }

    /// Those of a run, into `path`, with room kept back.
    ///
    /// # Errors
    /// If there is not so much room.
    pub(crate) fn of_run(path: &Path, provenance: Provenance) -> Result<Self, Error> {
        let reserve = path.join(RESERVE);
        let file = create_new(&reserve).map_err(Error::io(path))?;
        let kept = match allocate(&file) {
            Err(error) if is_full(&error) => return Err(Error::io(path)(error)),
            // A file system that cannot promise room.
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

    /// Whether the disk was found full: what is written now is the end of it.
    pub fn is_full(&self) -> bool {
        self.reserve.full.load(Ordering::Relaxed)
    }

    /// Creates a file that is not there yet.
    pub(crate) fn create(&self, name: &str) -> Result<OutFile, Error> {
        let path = self.path.join(name);
        let file = create_new(&path).map_err(Error::io(&path))?;
        Ok(OutFile { file, reserve: Arc::clone(&self.reserve) })
    }

    /// Writes a whole file, or takes away what was written of it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
        let mut file = self.create(name)?;
        file.write_all(bytes.as_ref()).map_err(|error| {
            self.remove(name);
            Error::io(&self.path.join(name))(error)
        })
    }

    /// Takes away what could not be written whole.
    pub(crate) fn remove(&self, name: &str) {
        let _ = std::fs::remove_file(self.path.join(name));
    }

    /// From now on the room that was kept back is anybody's.
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

/// Whether there is no room for more.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Opens a file that was not there before; a symlink of that name is an error, as any file is.
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
