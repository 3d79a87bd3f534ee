//! `suimon mpi serve` and `suimon mpi start`: commands at the hosts of a lab or of kernels, for launchers of MPI programs.

use std::env;
use std::path::Path;

use ::mpi::remote::{self, PORT};
use clap::Args;
use lab::program::HOST;

use crate::exit::Exit;
use crate::failure::Failure;

/// What `mpi start` is told.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The host, and a shell's command line; launchers put options for ssh before
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "HOST COMMAND"
    )]
    words: Vec<String>,
}

/// Runs what `mpi start` asks for, until it is ended.
pub(super) fn serve() -> Result<Exit, Failure> {
    if env::var_os(HOST).is_none() {
        return Err(Failure::usage(
            "it runs commands for everybody who comes to this host, which only a host of a scenario may do",
            "give the host of a scenario `program = \"suimon mpi serve\"`",
        ));
    }
    remote::serve(HOST).map_err(Failure::file(Path::new(&format!("port {PORT}"))))?;
    Ok(Exit::Fine)
}

/// Runs a command line at a host that serves, and ends as it does.
pub(super) fn start(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut words = arguments.words.iter().skip_while(|word| word.starts_with('-'));
    let Some(host) = words.next() else {
        return Err(Failure::usage("there is no host", "name one, and a command"));
    };
    let line: Vec<&str> = words.map(String::as_str).collect();
    let code = remote::run(host, &line.join(" ")).map_err(|error| {
        Failure::lacking(
            format!("{host}, port {PORT}: {error}"),
            "give that host `program = \"suimon mpi serve\"` in the scenario",
        )
    })?;
    Ok(Exit::As(code))
}
