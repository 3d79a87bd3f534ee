//! `suimon cost`: the cost of a queueing discipline per packet, in time and in instructions, and the CPU costs
//! of a host's operations.

use clap::{Args, Subcommand};
use experiment::format;
use traffic::qdisc::REGISTRY;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

mod machine;
mod render;

use ::cost::{Case, Costs, Load, Workload, instructions};

/// What to measure instead of disciplines.
#[derive(Debug, Subcommand)]
enum Command {
    /// Measure copies, system calls, wake-ups and segments on this machine, as a file for `processor.machine`
    Host(machine::Arguments),
}

/// Measure the cost of queueing disciplines and of host operations on this machine
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Disciplines by name, or queues as in a scenario: 'wfq.mode = "exact"', 'cbq.class.each.queue.red = {}'.
    /// A class is repeated --classes times [default: every discipline]
    #[arg(value_name = "QUEUE")]
    queues: Vec<String>,
    #[command(flatten)]
    load: Load,
    /// Number of rounds; the best one counts
    #[arg(long, default_value_t = 7, value_name = "N")]
    rounds: usize,
    /// Do not count instructions, which needs valgrind and some seconds
    #[arg(long)]
    no_instructions: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Carry packets for the cases on stdin and print nothing, for callgrind (internal)
    #[arg(long, hide = true)]
    carry: bool,
}

/// Measures, and prints a line for each case.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(Command::Host(arguments)) = &arguments.command {
        return machine::run(arguments);
    }
    if arguments.carry {
        return carry();
    }
    let costs = measure(cases(arguments)?, arguments.rounds, !arguments.no_instructions, false)?;
    if arguments.json {
        output::print_json(&costs)?;
    } else {
        output::print(&render::text(&costs, arguments.rounds))?;
    }
    Ok(Exit::Fine)
}

/// Times every case, and counts its instructions if this machine can; `quiet` draws no bar.
pub(crate) fn measure(
    cases: Vec<Case>,
    rounds: usize,
    instructions: bool,
    quiet: bool,
) -> Result<Costs, Failure> {
    let progress = Progress::of_work("measuring", cases.len(), quiet);
    let costs = ::cost::measure(cases, rounds, instructions, || progress.step());
    progress.finish();
    costs
}

fn carry() -> Result<Exit, Failure> {
    let cases: Vec<Case> = serde_json::from_reader(std::io::stdin())
        .map_err(|error| Failure::usage(error.to_string(), "only callgrind uses this option"))?;
    instructions::carry(&cases)?;
    Ok(Exit::Fine)
}

/// The cases requested. If none are named, all disciplines except those that refuse the load.
fn cases(arguments: &Arguments) -> Result<Vec<Case>, Failure> {
    let case = |queue: &str| Case { queue: queue.to_owned(), load: arguments.load.clone() };
    if arguments.rounds == 0 {
        return Err(Failure::usage("no rounds", "use at least 1"));
    }
    if !arguments.queues.is_empty() {
        return Ok(arguments.queues.iter().map(|queue| case(queue)).collect());
    }
    let mut cases = Vec::new();
    for entry in REGISTRY {
        let case = case(entry.name);
        match Workload::new(&case) {
            Ok(_) => cases.push(case),
            Err(why) => {
                let classes = format::things(arguments.load.classes, "class", "classes");
                output::note(&format!("{} left out with {classes}: {why}", entry.name));
            }
        }
    }
    Ok(cases)
}
