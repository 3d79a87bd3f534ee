//! `suimon mpi record`: runs a command with the profiling library preloaded, and writes one trace of all ranks.

use std::fs;
use std::path::PathBuf;

use ::mpi::{Profiler, Recording};
use clap::Args;
use mpi_trace::Trace;

use super::launched::Launched;
use super::summary::Summary;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::{interruption, output};

/// Maximum number of inconsistencies reported.
const INCONSISTENCIES_MAX: usize = 5;

/// Arguments of `mpi record`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The trace file [default: PROGRAM.parquet]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Round times to this, such as `1 us`, for a smaller trace
    #[arg(long, value_name = "TIME", value_parser = resolution)]
    resolution: Option<u64>,
    #[command(flatten)]
    launched: Launched,
}

/// The resolution in nanoseconds.
fn resolution(text: &str) -> Result<u64, String> {
    let time = scenario::quantity::duration(text).map_err(|error| error.to_string())?;
    match time.as_ps() / 1000 {
        0 => Err("less than 1 ns".to_owned()),
        nanoseconds => Ok(nanoseconds),
    }
}

/// Runs the command, and exits with its status.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let recording = Recording::new(Profiler::built(arguments.launched.library()?)?)?;
    let interrupted = interruption::watch()?;
    let status = arguments.launched.run(|program, words| recording.command(program, words))?;
    let trace = match recording.finish() {
        Ok(trace) => trace,
        // The command's own error is already on the terminal.
        Err(::mpi::Error::NoRanks(_)) if !status.success() => {
            output::note(&format!(
                "no trace written: the command ended with {status} before a rank called MPI_Init"
            ));
            return Ok(Exit::of(status));
        }
        Err(error) if !status.success() => {
            let error = Failure::from(error);
            output::note(&format!(
                "no trace written: the command ended with {status}, and {error}"
            ));
            return Ok(Exit::of(status));
        }
        Err(error) => return Err(error.into()),
    };
    write(arguments, trace)?;
    if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    Ok(if status.success() { Exit::Fine } else { Exit::of(status) })
}

/// Writes the trace and prints a summary.
fn write(arguments: &Arguments, mut trace: Trace) -> Result<(), Failure> {
    if let Some(resolution) = arguments.resolution {
        trace.round(resolution);
    }
    let path = arguments.out.clone().unwrap_or_else(|| format!("{}.parquet", trace.program).into());
    let mut file = Vec::new();
    trace.write(&mut file).map_err(::mpi::Error::from)?;
    fs::write(&path, &file).map_err(failure::unwritten(&path))?;
    for found in trace.inconsistencies(INCONSISTENCIES_MAX) {
        output::note(&format!("warning: the trace is inconsistent: {found}"));
    }
    let summary = Summary::of(&trace, &path, file.len());
    if arguments.launched.json {
        output::print_json(&summary.json())
    } else {
        output::print(&summary.text())
    }
}
