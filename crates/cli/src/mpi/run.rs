//! `suimon mpi run`: runs a command whose ranks use paced restart, a short timeout and phases, if this machine
//! has them enabled.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::mpi::{Done, Offered, Phases, Profiler, Settings, Tagging};
use clap::{Args, ValueEnum};
use experiment::format;
use mpi_trace::Trace;
use serde_json::json;

use super::launched::Launched;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::{interruption, output};

/// Arguments of `mpi run`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The operations that form phases, each phase with its own slow start threshold
    #[arg(long, value_enum, default_value_t = Of::Off)]
    phases: Of,
    /// How long a phase's threshold stays valid
    #[arg(long, value_name = "TIME", default_value = "300 s", value_parser = scenario::quantity::duration)]
    phase_age_max: base::Duration,
    /// Keep the congestion control unchanged, without paced restart
    #[arg(long)]
    no_restart: bool,
    /// Keep the minimum retransmission timeout unchanged
    #[arg(long)]
    no_short_rto: bool,
    /// Charge ranks for the computing times in this trace of `mpi record`, where computing takes no time
    #[arg(long, value_name = "TRACE")]
    computing: Option<PathBuf>,
    /// Multiply the computing times by this ratio
    #[arg(long, value_name = "RATIO", default_value = "1/1", value_parser = ratio, requires = "computing")]
    computing_scale: (u32, u32),
    #[command(flatten)]
    launched: Launched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    /// No phases
    Off,
    /// All collective operations except barrier and bcast, as one phase
    Collective,
    /// The same operations, each as a phase of its own
    Each,
}

impl From<Of> for Phases {
    fn from(of: Of) -> Self {
        match of {
            Of::Off => Self::Off,
            Of::Collective => Self::Collective,
            Of::Each => Self::Each,
        }
    }
}

/// Parses a ratio such as 3/4.
fn ratio(text: &str) -> Result<(u32, u32), String> {
    let read = || {
        let (over, under) = text.split_once('/')?;
        Some((over.trim().parse().ok()?, under.trim().parse().ok().filter(|&under| under > 0)?))
    };
    read().ok_or_else(|| "write it as \"3/4\" or \"4/1\"".to_owned())
}

/// Runs the command, and exits with its status.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let launched = &arguments.launched;
    let library = launched.library()?;
    let interrupted = interruption::watch()?;
    let settings = Settings {
        restart: !arguments.no_restart,
        short_rto: !arguments.no_short_rto,
        phases: arguments.phases.into(),
        phase_age_max: Duration::from_micros(arguments.phase_age_max.as_us()),
    };
    let settings = match Offered::here() {
        Offered::All => Some(settings),
        Offered::Phases => {
            output::note("restart and timeouts are set by the scenario for this host");
            Some(Settings { restart: false, short_rto: false, ..settings })
        }
        Offered::Nothing(error) => {
            output::note(&format!(
                "the program runs without them: this kernel lacks the socket options ({error})\n  help: sudo \
                 suimon mpi enable"
            ));
            (launched.hosts.is_some() || arguments.computing.is_some()).then(Settings::nothing)
        }
    };
    let (status, done) = if let Some(settings) = settings {
        let mut tagging = Tagging::new(Profiler::built(library)?, settings)?;
        if let Some(path) = &arguments.computing {
            let file = fs::read(path).map_err(failure::file(path))?;
            let trace = Trace::read(&file).map_err(::mpi::Error::from)?;
            tagging.charge(&trace, arguments.computing_scale)?;
        }
        let status = launched.run(|program, words| tagging.command(program, words))?;
        let done = tagging.finish()?;
        if done.ranks == 0 {
            output::note("no results: no rank reached MPI_Finalize");
        }
        (status, done)
    } else {
        let plain = |program: &str, words: &[String]| {
            let mut command = Command::new(program);
            command.args(words);
            command
        };
        (launched.run(plain)?, Done::default())
    };
    print_done(launched.json, &done)?;
    if interrupted.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    Ok(if status.success() { Exit::Fine } else { Exit::of(status) })
}

fn print_done(as_json: bool, done: &Done) -> Result<(), Failure> {
    let Done { ranks, connections, adopted, phases_entered, retransmitted, refused, time } = *done;
    let refused = refused.map(|errno| io::Error::from_raw_os_error(errno).to_string());
    if as_json {
        return output::print_json(&json!({
            "ranks": ranks,
            "connections": connections,
            "adopted": adopted,
            "phases_entered": phases_entered,
            "retransmitted": retransmitted,
            "refused": refused,
            "time_seconds": time.as_secs_f64(),
        }));
    }
    if ranks > 0 {
        output::note(&format!(
            "suimon mpi run: {}, {:.3} s, {}, {} adopted the enabled options, phases entered {}, {}",
            format::count(ranks, "rank"),
            time.as_secs_f64(),
            format::count(connections as usize, "connection"),
            format::count(adopted as usize, "socket"),
            format::count(phases_entered as usize, "time"),
            format::count(retransmitted as usize, "retransmission")
        ));
    }
    if let Some(refused) = refused {
        output::note(&format!(
            "warning: the kernel refused an option: {refused}; sockets continue without it"
        ));
    }
    Ok(())
}
