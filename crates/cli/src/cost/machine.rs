//! `suimon cost host`: this machine's CPU times for a host's operations, as a machine file for scenarios.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use cost::machine;

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::output;

/// Arguments of `cost host`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Write the file there, for `processor.machine = "file:FILE"` [default: print it]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Number of rounds; the best one counts
    #[arg(long, default_value_t = 7, value_name = "N")]
    rounds: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Measures, and writes the machine's file.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.rounds == 0 {
        return Err(Failure::usage("no rounds", "use at least 1"));
    }
    let measured = machine::measure(arguments.rounds).map_err(|error| {
        Failure::lacking(format!("no loopback interface: {error}"), "ip link set lo up")
    })?;
    let text = measured.file();
    if let Some(path) = &arguments.out {
        fs::write(path, &text).map_err(failure::unwritten(path))?;
    }
    if arguments.json {
        output::print_json(&measured)?;
    } else if let Some(path) = &arguments.out {
        output::print(&format!("{}: written\n", path.display()))?;
    } else {
        output::print(&text)?;
    }
    Ok(Exit::Fine)
}
