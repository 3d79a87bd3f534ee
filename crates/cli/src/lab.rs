//! `suimon lab`: a scenario's hosts and network, to work in by hand.

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::output;

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
        experiment: Experiment,
        /// The host
        host: String,
    },
    /// Run a command in a host, while the scenario's network stands
    Exec {
        #[command(flatten)]
        experiment: Experiment,
        /// The host
        host: String,
        /// The command and its arguments, after `--`
        #[arg(required = true, last = true, value_name = "COMMAND")]
        words: Vec<String>,
    },
}

/// Builds the lab, runs the command in it, and exits as that did.
pub(crate) fn act(arguments: &Arguments) -> Result<Exit, Failure> {
    lab::privilege::acquire()?;
    match &arguments.verb {
        Verb::Shell { experiment, host } => {
            let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".into());
            output::note(&format!("{host}: `exit` takes the network down"));
            within(experiment, host, &[shell])
        }
        Verb::Exec { experiment, host, words } => within(experiment, host, words),
    }
}

fn within(experiment: &Experiment, host: &str, words: &[String]) -> Result<Exit, Failure> {
    let runs = experiment.read()?.runs()?;
    let [run] = runs.as_slice() else {
        let message = format!("{} is a sweep of {} runs", experiment.file.display(), runs.len());
        return Err(Failure::usage(message, "choose one of them with --set"));
    };
    let (status, report) = lab::exec(&run.plan()?, lab::Options::default(), host, words)?;
    // A person's own pace needs no judgement unless frames were lost.
    if let Some(warning) = report.warning().filter(|_| report.missed_frames > 0) {
        output::note(&warning);
    }
    for note in &report.notes {
        output::note(note);
    }
    Ok(Exit::of(status))
}
