//! A command that starts an MPI program.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use ::mpi::Library;
use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// The command, and what is said of it.
#[derive(Debug, Args)]
pub(super) struct Launched {
    /// The MPI library; what the program loads unless given
    #[arg(long)]
    library: Option<Of>,
    /// Print one JSON document; what the command prints goes to stderr
    #[arg(long)]
    pub(super) json: bool,
    /// The command and its arguments, after `--`: `mpirun -n 4 ./program`
    #[arg(required = true, last = true, value_name = "COMMAND")]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    /// Open MPI
    #[value(name = "openmpi")]
    OpenMpi,
    /// MPICH, or another of its binary interface
    Mpich,
}

impl From<Of> for Library {
    fn from(of: Of) -> Self {
        match of {
            Of::OpenMpi => Self::OpenMpi,
            Of::Mpich => Self::Mpich,
        }
    }
}

impl Launched {
    /// The MPI library of the program.
    pub(super) fn library(&self) -> Result<Library, Failure> {
        let of = self.library.map_or_else(|| Library::of_command(&self.words), |of| Ok(of.into()));
        Ok(of?)
    }

    /// Starts what `command` makes of the words, and waits for its end.
    pub(super) fn run(
        &self,
        command: impl FnOnce(&str, &[String]) -> Command,
    ) -> Result<ExitStatus, Failure> {
        let [program, words @ ..] = &self.words[..] else {
            return Err(Failure::usage("there is no command", "name one after `--`"));
        };
        let mut command = command(program, words);
        if self.json {
            command.stdout(to_stderr()?);
        }
        wait(&mut command).map_err(Failure::file(Path::new(program)))
    }
}

fn to_stderr() -> Result<Stdio, Failure> {
    let stderr = io::stderr().as_fd().try_clone_to_owned();
    Ok(stderr.map_err(Failure::file(Path::new("stderr")))?.into())
}

fn wait(command: &mut Command) -> io::Result<ExitStatus> {
    command.spawn()?.wait()
}
