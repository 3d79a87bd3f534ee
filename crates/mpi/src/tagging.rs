//! A command whose ranks make their sockets adopt the enabled settings, and report their phases to the kernel.

use std::env;
use std::fs;
use std::io;
use std::iter::Sum;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use mpi_trace::Trace;
use record::folder::TemporaryFolder;

use crate::computing;
use crate::error::Error;
use crate::folder;
use crate::library::Library;
use crate::profiler::{PRELOAD, Profiler};

/// The environment variables that `profiler/sockets.c` reads.
const FOLDER: &str = "SUIMON_MPI_RUN";
const ADOPT: &str = "SUIMON_MPI_ADOPT";
const PHASES: &str = "SUIMON_MPI_PHASES";
const PHASE_AGE: &str = "SUIMON_MPI_PHASE_AGE";
/// The environment variable that `profiler/computing.c` reads.
const COMPUTING: &str = "SUIMON_MPI_COMPUTING";

/// The list of variables that Open MPI's launcher passes to ranks on other machines. MPICH's launcher passes all.
const PASSED_ON: &str = "OMPI_MCA_mca_base_env_list";

/// The division of a program into phases, as for an MPI job of a scenario (`phases`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phases {
    /// No phases.
    #[default]
    Off,
    /// Two phases: collective operations except barrier and bcast, and everything else.
    Collective,
    /// One phase for each of these operations.
    Each,
}

/// The settings for a command's ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether sockets adopt the enabled congestion control, with its paced restart.
    pub restart: bool,
    /// Whether sockets adopt the minimum retransmission timeout.
    pub short_rto: bool,
    /// The division into phases.
    pub phases: Phases,
    /// The time for which a phase's threshold is valid.
    pub phase_age_max: Duration,
}

impl Settings {
    /// Settings that leave sockets unchanged.
    pub const fn nothing() -> Self {
        Self {
            restart: false,
            short_rto: false,
            phases: Phases::Off,
            phase_age_max: Duration::ZERO,
        }
    }
}

/// The results of the ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The number of ranks that reported: those that reached `MPI_Finalize` where the folder is.
    pub ranks: usize,
    /// TCP connections that the ranks opened or accepted.
    pub connections: u64,
    /// Sockets, including listening ones, that adopted the enabled settings.
    pub adopted: u64,
    /// Entries of connections into phases.
    pub phases_entered: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// The first error with which the kernel refused an option.
    pub refused: Option<i32>,
    /// The time from the return of `MPI_Init` to `MPI_Finalize`, of the slowest rank.
    pub time: Duration,
}

impl Sum for Done {
    fn sum<I: Iterator<Item = Self>>(ranks: I) -> Self {
        ranks.fold(Self::default(), |all, one| Self {
            ranks: all.ranks + one.ranks,
            connections: all.connections + one.connections,
            adopted: all.adopted + one.adopted,
            phases_entered: all.phases_entered + one.phases_entered,
            retransmitted: all.retransmitted + one.retransmitted,
            refused: all.refused.or(one.refused),
            time: all.time.max(one.time),
        })
    }
}

/// A command, and the folder for the results of its ranks.
#[derive(Debug)]
pub struct Tagging {
    profiler: Profiler,
    settings: Settings,
    folder: TemporaryFolder,
    charges: bool,
}

impl Tagging {
    /// Creates the folder, among temporary files.
    ///
    /// # Errors
    /// If there is no room for temporary files.
    pub fn new(profiler: Profiler, settings: Settings) -> Result<Self, Error> {
        let folder = folder::among_temporary()?;
        Ok(Self { profiler, settings, folder, charges: false })
    }

    /// Makes ranks sleep before each call for the computing time in `trace`, multiplied by the fraction `scale`
    /// (numerator, denominator): for hosts where computing takes no time.
    ///
    /// # Errors
    /// If there is no room for temporary files.
    pub fn charge(&mut self, trace: &Trace, scale: (u32, u32)) -> Result<(), Error> {
        self.charges = true;
        computing::write(trace, scale, self.folder.path())
    }

    /// Creates a command whose processes inherit the settings.
    pub fn command(&self, program: &str, arguments: &[String]) -> Command {
        let Settings { restart, short_rto, phases, phase_age_max } = self.settings;
        let mut command = self.profiler.command(program, arguments);
        command
            .env(FOLDER, self.folder.path())
            .env(ADOPT, (u32::from(restart) | u32::from(short_rto) << 1).to_string())
            .env(PHASES, (phases as u32).to_string())
            .env(PHASE_AGE, phase_age_max.as_millis().to_string());
        if self.charges {
            command.env(COMPUTING, self.folder.path());
        }
        if self.profiler.library() == Library::OpenMpi {
            let mut names = env::var(PASSED_ON).map_or_else(|_| String::new(), |list| list + ";");
            names += &[PRELOAD, FOLDER, ADOPT, PHASES, PHASE_AGE].join(";");
            // Open MPI warns about a listed name without a variable.
            if self.charges {
                names += ";";
                names += COMPUTING;
            }
            command.env(PASSED_ON, names);
        }
        command
    }

    /// Returns the results of the ranks, after the command has ended.
    ///
    /// # Errors
    /// If their files cannot be read.
    pub fn finish(self) -> Result<Done, Error> {
        let folder = self.folder.path();
        let files = fs::read_dir(folder).map_err(Error::io(folder))?;
        let paths: Vec<PathBuf> = files
            .map(|file| Ok(file.map_err(Error::io(folder))?.path()))
            .collect::<Result<_, Error>>()?;
        let is_report = |path: &PathBuf| path.file_stem().is_some_and(|name| name == "sockets");
        let ranks = paths.into_iter().filter(is_report).map(|path| {
            let line = fs::read_to_string(&path).map_err(Error::io(&path))?;
            parse(&line).ok_or_else(|| Error::io(&path)(io::ErrorKind::InvalidData.into()))
        });
        ranks.sum()
    }
}

/// Parses a line written by `report_sockets`.
fn parse(line: &str) -> Option<Done> {
    let numbers: Vec<u64> =
        line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [connections, adopted, phases_entered, retransmitted, refused, time] = numbers[..] else {
        return None;
    };
    let refused = i32::try_from(refused).ok().filter(|&errno| errno != 0);
    let time = Duration::from_nanos(time);
    Some(Done { ranks: 1, connections, adopted, phases_entered, retransmitted, refused, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ranks_say_is_added_up() {
        let ranks = ["3 4 20 1 0 7\n", "2 0 0 5 92 5\n", "1 2 3"].map(parse);
        assert_eq!(ranks[2], None);
        let done: Done = ranks.into_iter().flatten().sum();
        let expected = Done {
            ranks: 2,
            connections: 5,
            adopted: 4,
            phases_entered: 20,
            retransmitted: 6,
            refused: Some(92),
            time: Duration::from_nanos(7),
        };
        assert_eq!(done, expected);
    }
}
