//! `suimon lab`: a scenario's hosts and network, to work in by hand.

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::output;
use crate::port::Fabric;

/// What `lab` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Open a shell in a host, while the scenario's network stands
    Shell {
        #[command(flatten)]
        network: Network,
        /// The host
        host: String,
    },
    /// Run a command in a host, while the scenario's network stands
    Exec {
        #[command(flatten)]
        network: Network,
        /// The host
        host: String,
        /// The command and its arguments, after `--`
        #[arg(required = true, last = true, value_name = "COMMAND")]
        words: Vec<String>,
    },
}

/// What is built.
#[derive(Debug, Args)]
struct Network {
    #[command(flatten)]
    experiment: Experiment,
    #[command(flatten)]
    fabric: Fabric,
}

/// Builds the lab, runs the command in it, and exits as that did.
pub(crate) fn act(arguments: &Arguments) -> Result<Exit, Failure> {
    lab::privilege::acquire()?;
    match &arguments.verb {
        Verb::Shell { network, host } => {
            let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".into());
            output::note(&format!("{host}: `exit` takes the network down"));
            within(network, host, &[shell])
        }
        Verb::Exec { network, host, words } => within(network, host, words),
    }
}

fn within(network: &Network, host: &str, words: &[String]) -> Result<Exit, Failure> {
    let Network { experiment, fabric } = network;
    let runs = experiment.read()?.runs()?;
    let [run] = runs.as_slice() else {
        let message = format!("{} is a sweep of {} runs", experiment.file.display(), runs.len());
        return Err(Failure::usage(message, "choose one of them with --set"));
    };
    let (status, report) = lab::exec(&run.plan()?, fabric.options(), host, words)?;
    // A person's own pace needs no judgement unless frames were lost.
    if let Some(warning) = report.warning().filter(|_| report.missed_frames > 0) {
        output::note(&warning);
    }
    for note in &report.notes {
        output::note(note);
    }
    Ok(Exit::of(status))
}
