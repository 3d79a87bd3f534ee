//! A command whose ranks are recorded.

use std::fs;
use std::path::Path;
use std::process::Command;

use base::Fault;
use mpi_trace::Trace;
use record::folder::TemporaryFolder;

use crate::error::Error;
use crate::folder;
use crate::library::Library;
use crate::merge::merge;
use crate::profiler::Profiler;
use crate::raw::Rank;

/// The environment variable with the folder for a rank's file.
const FOLDER: &str = "SUIMON_MPI_RECORD";

/// A folder to which ranks write their calls, until they are merged.
#[derive(Debug)]
pub struct Recording {
    profiler: Profiler,
    folder: TemporaryFolder,
}

impl Recording {
    /// Creates the folder, among temporary files.
    ///
    /// # Errors
    /// If there is no room for temporary files.
    pub fn new(profiler: Profiler) -> Result<Self, Error> {
        let folder = folder::among_temporary()?;
        Ok(Self { profiler, folder })
    }

    /// Creates a command that is recorded. The processes that it starts on this machine are recorded too.
    pub fn command(&self, program: &str, arguments: &[String]) -> Command {
        let mut command = self.profiler.command(program, arguments);
        command.env(FOLDER, self.folder.path());
        command
    }

    /// Returns the trace of the ranks' calls, after the command has ended.
    ///
    /// # Errors
    /// If no rank was recorded, or the recording of a rank is incomplete.
    pub fn finish(self) -> Result<Trace, Error> {
        trace(self.profiler.library(), self.folder.path())
    }
}

/// Reads the trace from the files that the ranks of one program wrote to a folder.
///
/// # Errors
/// If there are no files, or one is incomplete.
pub fn trace(library: Library, folder: &Path) -> Result<Trace, Error> {
    let file = |rank: usize| folder.join(format!("rank.{rank}"));
    let entries = fs::read_dir(folder).map_err(Error::io(folder))?.flatten();
    let is_rank = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("rank.");
    let recorded = entries.filter(is_rank).count();
    if recorded == 0 {
        return Err(Error::NoRanks(library));
    }
    // If a rank is missing, any other rank's file has the number of ranks.
    let mut ranks = Vec::with_capacity(recorded);
    for rank in 0..recorded {
        let missing = |_| Error::incomplete(rank, recorded);
        ranks.push(Rank::read(rank, &fs::read(file(rank)).map_err(missing)?)?);
    }
    let all = ranks[0].header.ranks;
    if recorded < all {
        return Err(Error::incomplete(recorded, all));
    }
    if ranks.iter().any(|rank| rank.header.ranks != recorded) {
        let what = "the command ran several MPI programs";
        return Err(Fault::lacking(what, "record one at a time").into());
    }
    Ok(merge(library, ranks))
}
