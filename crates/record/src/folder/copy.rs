//! Copies the files that programs wrote. A program chooses the apparent length of its files, so holes stay holes and
//! a limit counts the space that the copy takes.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::{Whence, lseek};

/// The bytes that a file or folder counts against the limit beside its data.
const ENTRY: u64 = 1024;
/// The bytes that are copied before the next check whether the copy is still wanted.
const PIECE: usize = 1 << 20;

/// Copies a folder with all folders and files in it, into one that may not exist yet; links and special files are
/// left out. Files keep their holes and their read, write and execute permissions; no copy runs as its owner
/// (set-user-ID).
///
/// # Errors
/// If a file cannot be read or written; [`ErrorKind::QuotaExceeded`] if the copy takes more than `limit` bytes; and
/// [`ErrorKind::Interrupted`] once `is_interrupted`.
pub fn copy(
    from: &Path,
    to: &Path,
    limit: u64,
    is_interrupted: &dyn Fn() -> bool,
) -> io::Result<()> {
    Copy { limit, left: limit, buffer: vec![0; PIECE], is_interrupted }.folder(from, to)
}

struct Copy<'i> {
    limit: u64,
    left: u64,
    buffer: Vec<u8>,
    is_interrupted: &'i dyn Fn() -> bool,
}

impl Copy<'_> {
    fn folder(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
            self.take(ENTRY)?;
            if kind.is_dir() {
                self.folder(&entry.path(), &to)?;
            } else if kind.is_file() {
                self.file(&entry.path(), &to)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let flags = O_NOFOLLOW | O_NONBLOCK;
        let source = OpenOptions::new().read(true).custom_flags(flags).open(from)?;
        let target = OpenOptions::new().write(true).create(true).truncate(true).open(to)?;
        let found = source.metadata()?;
        let mut end = 0;
        while let Some(data) = next_data(&source, end, found.len())? {
            end = data.end;
            self.data(&source, &target, data)?;
        }
        target.set_len(found.len())?;
        target.set_permissions(Permissions::from_mode(found.permissions().mode() & 0o777 | 0o600))
    }

    fn data(&mut self, source: &File, target: &File, data: Range<u64>) -> io::Result<()> {
        let mut at = data.start;
        while at < data.end {
            let piece = usize::try_from(data.end - at).map_or(PIECE, |left| left.min(PIECE));
            let read = source.read_at(&mut self.buffer[..piece], at)?;
            if read == 0 {
                break;
            }
            self.take(read as u64)?;
            target.write_all_at(&self.buffer[..read], at)?;
            at += read as u64;
        }
        Ok(())
    }

    /// Counts `bytes` bytes against the limit.
    fn take(&mut self, bytes: u64) -> io::Result<()> {
        if (self.is_interrupted)() {
            return Err(ErrorKind::Interrupted.into());
        }
        let left = self.left.checked_sub(bytes).ok_or_else(|| {
            let why = format!("files of more than {} MiB", self.limit >> 20);
            io::Error::new(ErrorKind::QuotaExceeded, why)
        })?;
        self.left = left;
        Ok(())
    }
}

/// Returns the next part of the file that is not a hole, from that offset on: all of it where the file system has no
/// holes.
fn next_data(file: &File, from: u64, length: u64) -> io::Result<Option<Range<u64>>> {
    let seek = |at: u64, kind| {
        let at = i64::try_from(at).map_err(|_| Errno::EOVERFLOW)?;
        lseek(file, at, kind).map(i64::cast_unsigned)
    };
    match seek(from, Whence::SeekData) {
        Ok(start) => Ok(Some(start..seek(start, Whence::SeekHole)?)),
        Err(Errno::ENXIO) => Ok(None),
        Err(Errno::EINVAL) => Ok((from < length).then_some(from..length)),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const NEVER: &dyn Fn() -> bool = &|| false;

    /// Makes a folder with one file of 1 GiB that is a hole except for a few bytes.
    fn sparse() -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(place.path().join("from/in")).expect("a folder");
        let path = place.path().join("from/in/sparse");
        let file = File::create(&path).expect("a file");
        file.set_len(1 << 30).expect("a length");
        file.write_all_at(b"within", 1 << 29).expect("written");
        file.set_permissions(Permissions::from_mode(0o4755)).expect("permissions");
        place
    }

    #[test]
    fn holes_stay_holes_and_no_copy_runs_as_its_owner() {
        let place = sparse();
        copy(&place.path().join("from"), &place.path().join("to"), 1 << 20, NEVER).expect("copied");
        let copied = File::open(place.path().join("to/in/sparse")).expect("it is there");
        let found = copied.metadata().expect("metadata");
        assert_eq!((found.len(), found.mode() & 0o7777), (1 << 30, 0o755));
        assert!(found.blocks() * 512 <= 1 << 16, "{} blocks", found.blocks());
        let mut bytes = [0; 8];
        copied.read_exact_at(&mut bytes, (1 << 29) - 1).expect("its bytes");
        assert_eq!(&bytes, b"\0within\0");
    }

    #[test]
    fn a_copy_has_a_limit_and_can_be_interrupted() {
        let place = sparse();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        let data = vec![1; 3 << 20];
        fs::write(from.join("data"), data).expect("written");
        let refused = copy(&from, &to, 2 << 20, NEVER).expect_err("3 MiB");
        assert_eq!(refused.kind(), ErrorKind::QuotaExceeded);
        assert!(refused.to_string().contains("2 MiB"), "{refused}");
        let left = copy(&from, &to, u64::MAX, &|| true).expect_err("interrupted");
        assert_eq!(left.kind(), ErrorKind::Interrupted);
        let folders = place.path().join("folders");
        (0..10).for_each(|n| fs::create_dir_all(folders.join(n.to_string())).expect("a folder"));
        copy(&folders, &to, 9 * ENTRY, NEVER).expect_err("ten folders");
    }
}
