//! `suimon mpi run`: runs a command whose ranks have paced restart, a short timeout and phases, as this machine has them
//! enabled.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::mpi::{Done, Phases, Profiler, Settings, Tagging};
use clap::{Args, ValueEnum};
use host::option::{Adopt, adopt};
use serde_json::json;

use super::launched::Launched;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{interruption, output};

/// What `mpi run` is told.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What has a slow start threshold of its own
    #[arg(long, value_enum, default_value_t = Of::Off)]
    phases: Of,
    /// How long a phase's threshold counts
    #[arg(long, value_name = "TIME", default_value = "300 s", value_parser = scenario::quantity::duration)]
    phase_age_max: traffic::Duration,
    /// Leave the congestion control as it is, without paced restart
    #[arg(long)]
    no_restart: bool,
    /// Leave the floor of the retransmission timeout as it is
    #[arg(long)]
    no_short_rto: bool,
    #[command(flatten)]
    launched: Launched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    /// Nothing
    Off,
    /// Collective operations but barrier and bcast together
    Collective,
    /// Each of these operations
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

/// Runs the command, and ends as it does.
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
    let (status, done) = match enabled() {
        Ok(()) => {
            let tagging = Tagging::new(Profiler::built(library)?, settings)?;
            let status = launched.run(|program, words| tagging.command(program, words))?;
            let done = tagging.finish()?;
            if done.ranks == 0 {
                output::note("nothing is told: no rank came to MPI_Finalize where its folder is");
            }
            (status, done)
        }
        Err(error) => {
            output::note(&format!(
                "the program runs without: this kernel has no such socket options ({error})\n  help: sudo \
                 suimon mpi enable"
            ));
            let plain = |program: &str, words: &[String]| {
                let mut command = Command::new(program);
                command.args(words);
                command
            };
            (launched.run(plain)?, Done::default())
        }
    };
    tell(launched.json, &done)?;
    if interrupted.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    Ok(if status.success() { Exit::Fine } else { Exit::of(status) })
}

/// Whether a socket of this user can adopt anything.
fn enabled() -> io::Result<()> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    adopt(socket.as_fd(), Adopt { congestion: false, rto_min: false })
}

fn tell(as_json: bool, done: &Done) -> Result<(), Failure> {
    let Done { ranks, connections, adopted, phases_entered, retransmitted, refused } = *done;
    let refused = refused.map(|errno| io::Error::from_raw_os_error(errno).to_string());
    if as_json {
        return output::print_json(&json!({
            "ranks": ranks,
            "connections": connections,
            "adopted": adopted,
            "phases_entered": phases_entered,
            "retransmitted": retransmitted,
            "refused": refused,
        }));
    }
    if ranks > 0 {
        output::note(&format!(
            "suimon mpi run: {ranks} ranks, {connections} connections, {adopted} sockets adopted what is enabled, phases \
             entered {phases_entered} times, {retransmitted} segments sent again"
        ));
    }
    if let Some(refused) = refused {
        output::note(&format!(
            "warning: the kernel refused an option: {refused}; sockets go on without"
        ));
    }
    Ok(())
}
