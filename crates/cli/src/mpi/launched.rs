//! A command that starts an MPI program.

use std::env;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use ::mpi::{Launcher, Library, hosts};
use clap::{Args, ValueEnum};

use crate::failure::{self, Failure};

/// The command, and how to start it.
#[derive(Debug, Args)]
pub(super) struct Launched {
    /// The MPI library [default: the one that the program loads]
    #[arg(long)]
    library: Option<Of>,
    /// The hosts of a scenario on which ranks are started, one after the other: `node.1..16`
    #[arg(long, value_name = "HOSTS")]
    pub(super) hosts: Option<String>,
    /// Print one JSON document; the command's stdout goes to stderr
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
    /// MPICH, or another library with its ABI
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

    /// The launcher for ranks on these hosts.
    fn launcher(&self, list: &str) -> Result<Launcher, Failure> {
        let program = env::current_exe().map_err(failure::file(Path::new("suimon")))?;
        Ok(Launcher::new(self.library()?, &hosts(list), &program)?)
    }

    /// Starts the command that `command` makes of the words, and waits until it ends.
    pub(super) fn run(
        &self,
        command: impl FnOnce(&str, &[String]) -> Command,
    ) -> Result<ExitStatus, Failure> {
        let [program, words @ ..] = &self.words[..] else {
            return Err(Failure::usage("no command given", "add one after `--`"));
        };
        let launcher = self.hosts.as_deref().map(|list| self.launcher(list)).transpose()?;
        let mut command = command(program, words);
        if let Some(launcher) = &launcher {
            launcher.set_environment(&mut command);
        }
        if self.json {
            command.stdout(to_stderr()?);
        }
        wait(&mut command).map_err(failure::file(Path::new(program)))
    }
}

fn to_stderr() -> Result<Stdio, Failure> {
    let stderr = io::stderr().as_fd().try_clone_to_owned();
    Ok(stderr.map_err(failure::file(Path::new("stderr")))?.into())
}

fn wait(command: &mut Command) -> io::Result<ExitStatus> {
    command.spawn()?.wait()
}
