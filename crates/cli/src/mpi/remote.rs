//! `suimon mpi serve` and `suimon mpi start`: commands on hosts of a lab or with a guest kernel, for MPI
//! launchers.

use std::env;
use std::path::Path;

use ::mpi::remote::{self, PORT};
use clap::Args;
use lab::program::HOST;

use crate::exit::Exit;
use crate::failure::{self, Failure};

/// Arguments of `mpi start`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The host and a shell command; ssh options of launchers before the host are ignored
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "HOST COMMAND"
    )]
    words: Vec<String>,
}

/// Runs commands from `mpi start` until it is stopped.
pub(super) fn serve() -> Result<Exit, Failure> {
    if env::var_os(HOST).is_none() {
        return Err(Failure::usage(
            "`mpi serve` runs any command that it receives, and is allowed only on a host of a scenario",
            "set `program = \"suimon mpi serve\"` for the host in the scenario",
        ));
    }
    remote::serve(HOST).map_err(failure::file(Path::new(&format!("port {PORT}"))))?;
    Ok(Exit::Fine)
}

/// Runs a command on a host that runs `mpi serve`, and exits with its status.
pub(super) fn start(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut words = arguments.words.iter().skip_while(|word| word.starts_with('-'));
    let Some(host) = words.next() else {
        return Err(Failure::usage("no host given", "add a host and a command"));
    };
    let line: Vec<&str> = words.map(String::as_str).collect();
    let code = remote::run(host, &line.join(" ")).map_err(|error| {
        Failure::lacking(
            format!("{host}, port {PORT}: {error}"),
            "set `program = \"suimon mpi serve\"` for that host in the scenario",
        )
    })?;
    Ok(Exit::As(code))
}
