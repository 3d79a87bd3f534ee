//! The MPI library of a command.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// An MPI library that programs can be recorded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and libraries with its application binary interface.
    Mpich,
}

impl Library {
    /// The library's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
        }
    }

    /// The names of its compiler, in Debian and in its own installation.
    pub const fn compilers(self) -> [&'static str; 2] {
        match self {
            Self::OpenMpi => ["mpicc.openmpi", "mpicc"],
            Self::Mpich => ["mpicc.mpich", "mpicc"],
        }
    }

    /// The Debian packages of the launcher and the compiler.
    pub const fn packages(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi-bin libopenmpi-dev",
            Self::Mpich => "mpich libmpich-dev",
        }
    }

    /// The library of a command: the one that a program among its words loads, or else the one whose launcher is its
    /// first word.
    ///
    /// # Errors
    /// If neither is known, or the first word is not a program.
    pub fn of_command(words: &[String]) -> Result<Self, Error> {
        let launcher = words.first().map(String::as_str).unwrap_or_default();
        let path = find(launcher).ok_or_else(|| Error::NoProgram(launcher.to_owned()))?;
        let programs = words.iter().filter_map(|word| find(word)).filter(|path| is_elf(path));
        let loaded = programs.filter_map(|path| Self::loaded_by(&path)).next_back();
        let named = || Self::of_launcher(&path.canonicalize().unwrap_or(path.clone()));
        loaded.or_else(named).ok_or_else(|| Error::Unknown(words.join(" ")))
    }

    /// The library by the shared objects that the dynamic linker would load for `program`.
    fn loaded_by(program: &Path) -> Option<Self> {
        let output = Command::new("ldd").arg(program).output().ok()?;
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let loads = |name: &str| output.lines().any(|line| line.trim_start().starts_with(name));
        // The MPICH ABI Compatibility Initiative names the library libmpi.so.12.
        if loads("libmpich.so") || loads("libmpi.so.12") {
            return Some(Self::Mpich);
        }
        loads("libmpi.so").then_some(Self::OpenMpi)
    }

    /// The library by the name of the launcher, after following all links.
    fn of_launcher(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let is = |names: &[&str]| names.iter().any(|part| name.contains(part));
        if is(&["openmpi", "orterun", "prterun", "prun"]) {
            return Some(Self::OpenMpi);
        }
        is(&["mpich", "hydra"]).then_some(Self::Mpich)
    }
}

/// The file named by a word of a command, if it exists: the path itself, or a file in a folder of `PATH`.
pub(crate) fn find(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(|path| path.is_file());
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut paths = env::split_paths(&folders).map(|folder| folder.join(word));
    paths.find(|path| !word.is_empty() && path.is_file())
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_their_names() {
        let of = |path| Library::of_launcher(Path::new(path));
        assert_eq!(of("/usr/bin/orterun"), Some(Library::OpenMpi));
        assert_eq!(of("/usr/bin/mpirun.openmpi"), Some(Library::OpenMpi));
        assert_eq!(of("/opt/mpich/bin/mpiexec.hydra"), Some(Library::Mpich));
        assert_eq!(of("/usr/bin/srun"), None);
    }

    #[test]
    fn what_is_not_a_program_is_reported() {
        let words = ["no-such-launcher".to_owned()];
        assert!(matches!(Library::of_command(&words), Err(Error::NoProgram(_))));
        let words = ["sh".to_owned(), "-c".to_owned(), "true".to_owned()];
        assert!(matches!(Library::of_command(&words), Err(Error::Unknown(_))));
    }
}
