//! `suimon cost`: the cost of a queueing discipline per packet, in time and in instructions, and the CPU costs
//! of a host's operations.

use clap::{Args, Subcommand};
use experiment::format;
use serde::Serialize;
use traffic::qdisc::REGISTRY;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

mod machine;
mod render;
mod time;

use ::cost::instructions::{self, Instructions};
use ::cost::{Case, Load, Workload};
use time::Timed;

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

/// The cost of a case.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cost {
    /// The case.
    #[serde(flatten)]
    pub(crate) case: Case,
    /// Its time.
    #[serde(flatten)]
    pub(crate) timed: Timed,
    /// Its instructions; none if this machine cannot count them.
    pub(crate) instructions: Option<Instructions>,
}

/// Costs, and why instructions were not counted.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Costs {
    /// In the order of the cases.
    pub(crate) cases: Vec<Cost>,
    /// Why instructions were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_counted: Option<String>,
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
    let timed = cases.iter().map(|case| time::measure(case, rounds).inspect(|_| progress.step()));
    let timed = timed.collect::<Result<Vec<_>, _>>();
    progress.finish();
    let timed = timed?;
    let (counted, not_counted) =
        match instructions.then(|| instructions::count(&cases, &["cost", "--carry"])) {
            Some(Ok(counted)) => (counted.into_iter().map(Some).collect(), None),
            Some(Err(why)) => (vec![None; cases.len()], Some(why)),
            None => (vec![None; cases.len()], None),
        };
    let costs = cases.into_iter().zip(timed).zip(counted);
    let cost = |((case, timed), instructions)| Cost { case, timed, instructions };
    Ok(Costs { cases: costs.map(cost).collect(), not_counted })
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
