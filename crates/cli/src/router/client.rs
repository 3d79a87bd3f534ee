//! `suimon router stats`, `set` and `do`: requests to a running router.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use experiment::router::{self, VERSIONS};
use experiment::statistics::{REQUEST, Statistics};
use serde::Deserialize;
use serde_json::{Value, json};

use super::stats;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Requests to a running router.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Show what a running router's ports and classes carry and drop
    Stats(Stats),
    /// Change settings of a running router's queues; no queued packet is lost
    Set(Set),
    /// Change a port of a running router, as [change] does in a scenario
    Do(Do),
}

#[derive(Debug, Args)]
pub(super) struct Stats {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
#[command(after_help = "\
suimon router set \"link.out.at.r.queue.cbq.class.voice.rate=2 Mbit/s\"

Several assignments take effect together; if one is refused, none does.")]
pub(super) struct Set {
    /// Settings as in the scenario, below link.LINK.at.NODE.queue
    #[arg(required = true, value_name = "KEY=VALUE")]
    assignments: Vec<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
#[command(after_help = "\
suimon router do r:out enabled=false         # replace the discipline with a plain FIFO
suimon router do r:out enabled=true          # restore the discipline
suimon router do r:out queue.fq_codel={}     # set another discipline
suimon router do r:out reserve.class=call \"reserve.rate=1 Mbit/s\" \"reserve.burst=3 kB\" \\
    \"reserve.delay=20 ms\" reserve.match.destination_port=\\\"5060\\\"
suimon router do r:out release=call")]
pub(super) struct Do {
    /// The port, as NODE:LINK
    port: String,
    /// One of queue, enabled, reserve and release, with its settings
    #[arg(required = true, value_name = "KEY=VALUE")]
    change: Vec<String>,
    #[command(flatten)]
    target: Target,
}

/// The router, and the output format.
#[derive(Debug, Args)]
struct Target {
    /// The router's control socket [default: suimon-router.sock in $XDG_RUNTIME_DIR or /run]
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

/// Sends the request, and prints the answer.
pub(super) fn run(verb: &Verb) -> Result<Exit, Failure> {
    match verb {
        Verb::Stats(Stats { target }) => {
            let answer = target.ask(REQUEST)?;
            if target.json {
                return target.print(&answer, "");
            }
            let statistics = Statistics::deserialize(&answer).map_err(|error| {
                Failure::usage(format!("invalid statistics: {error}"), VERSIONS)
            })?;
            target.print(&answer, &stats::text(&statistics))
        }
        Verb::Set(Set { assignments, target }) => {
            let answer = target.ask(&json!({ "set": assignments }).to_string())?;
            let ports = answer["set"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let ports: Vec<_> = ports.collect();
            let text = match ports.as_slice() {
                [] => "nothing changed: already set\n".into(),
                ports => format!("{}: set\n", ports.join(", ")),
            };
            target.print(&answer, &text)
        }
        Verb::Do(Do { port, change, target }) => {
            let line = json!({ "do": { "at": port, "set": change } });
            let answer = target.ask(&line.to_string())?;
            target.print(&answer, &format!("{port}: done\n"))
        }
    }
}

impl Target {
    /// The router's answer to a request.
    fn ask(&self, line: &str) -> Result<Value, Failure> {
        let path = self.control.clone().unwrap_or_else(router::usual_path);
        router::ask(&path, line)
    }

    fn print(&self, answer: &Value, text: &str) -> Result<Exit, Failure> {
        if self.json {
            output::print_json(answer)?
        } else {
            output::print(text)?
        }
        Ok(Exit::Fine)
    }
}
