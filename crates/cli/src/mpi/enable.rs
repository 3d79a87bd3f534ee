//! `suimon mpi enable`, `disable` and `status`: what MPI programs of this machine may take.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use congestion::{Algorithm, Config, Refused};
use host::mpi::{ALGORITHM, Counts, Settings};
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// What `mpi enable` is told.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The congestion control that sockets adopt (`suimon list algorithms`)
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion: String,
    /// A parameter of it: restart=2; restart is 1 unless given, paced by the threshold
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    set: Vec<(String, u32)>,
    /// The floor of the retransmission timeout that sockets adopt
    #[arg(long, value_name = "TIME", default_value = "12 ms", value_parser = scenario::quantity::duration)]
    rto_min: traffic::Duration,
    /// Only for programs of this cgroup, a folder of the cgroup2 hierarchy
    #[arg(long, value_name = "FOLDER")]
    cgroup: Option<PathBuf>,
}

/// What `mpi status` is told.
#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn parameter(text: &str) -> Result<(String, u32), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let value = value.trim().parse().map_err(|_| format!("`{value}` is no whole number"))?;
    Ok((name.trim().to_owned(), value))
}

/// Enables it.
pub(super) fn enable(arguments: &Arguments) -> Result<Exit, Failure> {
    let rto_min = Duration::from_micros(arguments.rto_min.as_us());
    let settings = Settings {
        congestion: algorithm(arguments)?,
        rto_min: Some(rto_min),
        cgroup: arguments.cgroup.clone(),
    };
    host::mpi::enable(&settings)?;
    output::print(&format!(
        "enabled until `suimon mpi disable` or the next start of this machine: {} as `{ALGORITHM}`, timeouts from {rto_min:?}\n",
        arguments.congestion
    ))?;
    Ok(Exit::Fine)
}

fn algorithm(arguments: &Arguments) -> Result<Config, Failure> {
    let name = &arguments.congestion;
    let algorithm = Algorithm::by_name(name).ok_or_else(|| {
        Failure::usage(format!("there is no congestion control `{name}`"), "suimon list algorithms")
    })?;
    let mut config = Config::from(algorithm);
    if config.set("restart", 1).is_err() {
        output::note(&format!("`{name}` has no paced restart: sockets adopt it without"));
    }
    for (parameter, value) in &arguments.set {
        config.set(parameter, *value).map_err(|refused| match refused {
            Refused::Unknown => Failure::usage(
                format!("`{name}` has no parameter `{parameter}`"),
                format!("see its page: suimon list algorithms {name}"),
            ),
            Refused::Range(range) => Failure::usage(
                format!("{value} is no value of `{parameter}`"),
                format!("choose from {} to {}", range.start(), range.end()),
            ),
        })?;
    }
    Ok(config)
}

/// Takes it out of the kernel.
pub(super) fn disable() -> Result<Exit, Failure> {
    let was = host::mpi::disable()?;
    output::print(if was { "disabled: nothing is left\n" } else { "it was not enabled\n" })?;
    Ok(Exit::Fine)
}

/// What was done since it was enabled.
pub(super) fn status(arguments: &StatusArguments) -> Result<Exit, Failure> {
    let Counts { phases_entered, sockets, refused } = host::mpi::counts()?;
    if arguments.json {
        output::print_json(&json!({
            "phases_entered": phases_entered, "sockets": sockets, "refused": refused,
        }))?;
    } else {
        output::print(&format!(
            "enabled\nsockets that adopted it  {sockets}\nphases entered           {phases_entered}\noptions refused          {refused}\n"
        ))?;
    }
    Ok(Exit::Fine)
}
