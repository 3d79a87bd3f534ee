//! `suimon lab`: shells and commands on a scenario's hosts.

mod console;
mod in_simulator;
mod network;
mod render;
mod up;

use std::path::Path;

use clap::{Args, Subcommand};
use experiment::networks::{self, Folder, Standing};
use lab::Attached;
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::port::Fabric;
use crate::{check, output};
use network::Network;

/// Open a shell or run commands on a scenario's hosts, with real packets or in virtual time
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a scenario's network and its hosts' programs, and keep them running until `lab down`
    Up(up::Arguments),
    /// List running networks with their hosts and programs
    Ps {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Run a command on a host of a running network (FILE is its name or its scenario), or of a temporary
    /// network
    #[command(after_help = in_simulator::HELP)]
    Exec {
        #[command(flatten)]
        network: Network,
        /// The host
        host: String,
        /// The command and its arguments, after `--`
        #[arg(required = true, last = true, value_name = "COMMAND")]
        words: Vec<String>,
    },
    /// Open a shell on a host of a running network (FILE is its name or its scenario), or of a temporary
    /// network
    #[command(after_help = in_simulator::HELP)]
    Shell {
        #[command(flatten)]
        network: Network,
        /// The host
        host: String,
    },
    /// Take a network down, with all its processes
    Down {
        /// The network [default: the only one that is running]
        name: Option<String>,
        /// All networks
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
}

/// Runs on running networks, or on a temporary one. A command's exit code becomes the exit code of this
/// program.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Up(arguments) => up::run(arguments),
        Verb::Ps { json } => list(*json),
        Verb::Exec { network, host, words } if !network.on.is_real_time() => {
            in_simulator::exec(network, host, words)
        }
        Verb::Exec { network, host, words } => within(network, host, words),
        Verb::Shell { network, host } => {
            let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".into());
            if network.on.is_real_time() {
                within(network, host, &[shell])
            } else {
                in_simulator::shell(network, host, shell)
            }
        }
        Verb::Down { name, all } => down(name.as_deref(), *all),
    }
}

/// Runs a command on a host: of the running network if there is one, otherwise of a temporary one.
fn within(network: &Network, host: &str, words: &[String]) -> Result<Exit, Failure> {
    let Network { scenario, fabric, on, qdisc } = network;
    on.check(*fabric, *qdisc)?;
    if let Some(mut standing) = networks::find(&scenario.file)? {
        if !scenario.is_plain() || *fabric != Fabric::default() {
            let message = format!("network `{}` is already running", standing.name);
            return Err(Failure::usage(message, "leave out the options that say how to build it"));
        }
        return attach(&mut standing, host, words);
    }
    if scenario.file != Path::new("-") && !scenario.file.exists() {
        let file = scenario.file.display();
        let message = format!("no network `{file}` is running, and there is no such file");
        return Err(Failure::usage(
            message,
            "start one: suimon lab up FILE; list them: suimon lab ps",
        ));
    }
    lab::privilege::acquire()?;
    let plan = scenario.experiment()?.plan()?;
    check::note_programs([&plan]);
    let (status, report) =
        lab::exec(&plan, experiment::Fabric::from(*fabric).options(), host, words)?;
    // At interactive pace, the warning matters only if frames were lost.
    if let Some(warning) = report.warning().filter(|_| report.missed_frames > 0) {
        output::note(&warning);
    }
    report.failed_programs.iter().for_each(|program| check::warn_of_failed(program));
    check::warn(&report.substitutions);
    report.notes.iter().for_each(|note| output::note(note));
    Ok(Exit::of(status))
}

fn attach(standing: &mut Standing, host: &str, words: &[String]) -> Result<Exit, Failure> {
    let place = standing.host(host)?;
    let attached = Attached::open(place.pid, place.descriptor, host, place.names)?;
    // The network still answers, so the opened descriptor belongs to it.
    standing.state()?;
    let status = attached.run(words)?;
    if !attached.stands() {
        output::note(&format!("network `{}` was taken down", standing.name));
    }
    Ok(Exit::of(status))
}

fn list(json: bool) -> Result<Exit, Failure> {
    let mut states = Vec::new();
    for mut standing in Folder::networks()? {
        // A network that ends at this moment is not listed.
        states.extend(standing.state());
    }
    if json {
        output::print_json(&json!({ "networks": states }))?;
    } else if states.is_empty() {
        output::note("no network is running; start one: suimon lab up FILE");
    } else {
        let texts: Vec<String> = states
            .iter()
            .map(|state| render::shown(state) + &render::traffic_shown(state))
            .collect();
        output::print(&texts.join("\n"))?;
    }
    Ok(Exit::Fine)
}

fn down(name: Option<&str>, all: bool) -> Result<Exit, Failure> {
    let mut standing = match name {
        Some(name) => networks::find(Path::new(name))?.into_iter().collect(),
        None => Folder::networks()?,
    };
    if let (Some(name), []) = (name, standing.as_slice()) {
        let message = format!("no network `{name}` is running");
        return Err(Failure::usage(message, "list them: suimon lab ps"));
    }
    if standing.len() > 1 && !all {
        let names: Vec<&str> = standing.iter().map(|network| network.name.as_str()).collect();
        let message = format!("{} networks are running: {}", names.len(), names.join(", "));
        return Err(Failure::usage(message, "name one of them, or add --all"));
    }
    for network in &mut standing {
        network.take_down()?;
        output::note(&format!("{}: down", network.name));
    }
    if standing.is_empty() {
        output::note("no network is running");
    }
    Ok(Exit::Fine)
}
