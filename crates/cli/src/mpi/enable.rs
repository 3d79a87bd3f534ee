//! `suimon mpi enable`, `disable` and `status`: the kernel support for MPI programs of this machine.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use congestion::{Algorithm, Config, Refused};
use host::mpi::{ALGORITHM, Counts, Settings};
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Arguments of `mpi enable`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The congestion control that sockets adopt (`suimon list algorithms`)
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion: String,
    /// Set a parameter of it, such as restart=2 [default: restart=1, paced by the slow start threshold]
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    set: Vec<(String, u32)>,
    /// The minimum retransmission timeout that sockets adopt
    #[arg(long, value_name = "TIME", default_value = "12 ms", value_parser = scenario::quantity::duration)]
    rto_min: base::Duration,
    /// Enable it only for programs of this cgroup, a folder of the cgroup2 hierarchy
    #[arg(long, value_name = "FOLDER")]
    cgroup: Option<PathBuf>,
}

/// Arguments of `mpi status`.
#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn parameter(text: &str) -> Result<(String, u32), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let value = value.trim().parse().map_err(|_| format!("`{value}` is not a whole number"))?;
    Ok((name.trim().to_owned(), value))
}

/// Enables it in the kernel.
pub(super) fn enable(arguments: &Arguments) -> Result<Exit, Failure> {
    let rto_min = Duration::from_micros(arguments.rto_min.as_us());
    let settings = Settings {
        congestion: algorithm(arguments)?,
        rto_min: Some(rto_min),
        cgroup: arguments.cgroup.clone(),
    };
    host::mpi::enable(&settings)?;
    output::print(&format!(
        "enabled until `suimon mpi disable` or a reboot: {} as `{ALGORITHM}`, minimum timeout {rto_min:?}\n",
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
        output::note(&format!("`{name}` has no paced restart: sockets use it without"));
    }
    for (parameter, value) in &arguments.set {
        config.set(parameter, *value).map_err(|refused| match refused {
            Refused::Unknown => Failure::usage(
                format!("`{name}` has no parameter `{parameter}`"),
                format!("see suimon list algorithms {name}"),
            ),
            Refused::Range(range) => Failure::usage(
                format!("{value} is out of range for `{parameter}`"),
                format!("use a value from {} to {}", range.start(), range.end()),
            ),
        })?;
    }
    Ok(config)
}

/// Removes it from the kernel.
pub(super) fn disable() -> Result<Exit, Failure> {
    let was = host::mpi::disable()?;
    output::print(if was { "disabled, and removed from the kernel\n" } else { "not enabled\n" })?;
    Ok(Exit::Fine)
}

/// Prints how often it was used since it was enabled.
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
