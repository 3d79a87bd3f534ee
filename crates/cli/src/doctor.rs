//! `suimon doctor`: tries what this machine supports, and prints the commands that install or enable the rest.

use clap::{Args, ValueEnum};
use experiment::doctor::{guest_kernel, programs, simulator};
use experiment::driver::Description;
use lab::machine::{Finding, Machine, State};
use scenario::capability::{Capability, Support};
use serde_json::{Map, Value, json};

use crate::drivers::{self, words};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::table::{Cell, Table};

/// Report what this machine supports, and the commands that install what is missing
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only these topics [default: all]
    #[arg(value_name = "TOPIC")]
    topics: Vec<Topic>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Topic {
    /// Simulated runs
    Simulator,
    /// Real packets: privileges, namespaces, veth pairs, CPUs
    Lab,
    /// AF_XDP, the faster access to interfaces for the lab and the router
    Xdp,
    /// Congestion control loaded into the kernel
    Congestion,
    /// The guest kernel: Linux on the simulator's clock
    Linux,
    /// Programs for use in the lab, and the tools to build suimon
    Programs,
}

impl Topic {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn findings(self, machine: Option<&Machine>) -> Vec<Finding> {
        let of_lab = |ask: fn(&Machine) -> Vec<Finding>| machine.map(ask).unwrap_or_default();
        match self {
            Self::Simulator => simulator::findings(),
            Self::Lab => of_lab(Machine::lab),
            Self::Xdp => of_lab(Machine::xdp),
            Self::Congestion => of_lab(Machine::congestion),
            Self::Linux => guest_kernel::findings(),
            Self::Programs => programs::findings(),
        }
    }

    /// Whether the topic needs a lab.
    const fn takes_lab(self) -> bool {
        matches!(self, Self::Lab | Self::Xdp | Self::Congestion)
    }
}

/// The findings of a topic.
type Section = (Topic, Vec<Finding>);

/// Tries all topics requested, and says of all topics which drivers run here; exits with 3 if anything is missing.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let chosen = |topic: &Topic| arguments.topics.is_empty() || arguments.topics.contains(topic);
    let topics: Vec<Topic> = Topic::value_variants().iter().copied().filter(chosen).collect();
    // Must come before the first thread.
    let machine = topics.iter().any(|topic| topic.takes_lab()).then(Machine::enter);
    let find = |topic: Topic| (topic, topic.findings(machine.as_ref()));
    let sections: Vec<Section> = topics.into_iter().map(find).collect();
    let all = if arguments.topics.is_empty() { drivers(&sections) } else { Vec::new() };
    match arguments.json {
        true => output::print_json(&document(&sections, &all))?,
        false => output::print(&text(&sections, &all))?,
    }
    Ok(if complete(&sections) { Exit::Fine } else { Exit::Lacking })
}

fn complete(sections: &[Section]) -> bool {
    sections.iter().flat_map(|(_, found)| found).all(|found| found.state != State::Missing)
}

/// The name of a state.
const fn word(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Limited => "limited",
        State::Missing => "missing",
    }
}

/// The listed drivers, each with the worst state of its topic.
fn drivers(sections: &[Section]) -> Vec<(&'static Description, State)> {
    let worst = |about: &Description| {
        let of_it = sections.iter().filter(|(topic, _)| about.topic == Some(topic.name().as_str()));
        let states = of_it.flat_map(|(_, found)| found).map(|finding| finding.state);
        states.max().unwrap_or(State::Ok)
    };
    drivers::listed().map(|driver| driver.description()).map(|it| (it, worst(it))).collect()
}

/// What a driver can do, in a line: names of those features that it has or lacks, whichever are fewer.
fn abilities(about: &Description) -> String {
    let rows = about.capabilities.iter();
    let (lacking, has): (Vec<&Capability>, Vec<_>) =
        rows.partition(|row| words(row.support).0 == "no");
    let limited = has.iter().filter(|row| row.support != Support::Full).count();
    let count = format!("{} features, {limited} with a limit", has.len());
    let (join, fewer) =
        if has.len() < lacking.len() { (": ", has) } else { ("; without ", lacking) };
    let names: Vec<&str> = fewer.iter().map(|row| row.feature.name).collect();
    if names.is_empty() { count } else { count + join + &names.join(", ") }
}

fn text(sections: &[Section], drivers: &[(&Description, State)]) -> String {
    let mut table = Table::new(&["", "", ""]);
    let mut commands = Table::new(&["", ""]);
    for (topic, found) in sections {
        table.row([Cell::heading(topic.name())]);
        for Finding { what, state, why, command } in found {
            let cell = Cell::state(word(*state), *state == State::Ok, *state == State::Missing);
            table.row([format!("  {what}").into(), cell, why.as_str().into()]);
            if !command.is_empty() {
                commands.row([format!("  {what}").into(), command.as_str().into()]);
            }
        }
    }
    if !drivers.is_empty() {
        table.row([Cell::heading("drivers")]);
    }
    for (about, state) in drivers {
        let cell = Cell::state(word(*state), *state == State::Ok, *state == State::Missing);
        table.row([format!("  {}", about.name).into(), cell, abilities(about).into()]);
    }
    if commands.is_empty() {
        return table.render();
    }
    format!("{}\nto fix the rest, type:\n{}", table.render(), commands.render())
}

fn document(sections: &[Section], drivers: &[(&Description, State)]) -> Value {
    let finding = |Finding { what, state, why, command }: &Finding| {
        let command = (!command.is_empty()).then_some(command);
        json!({ "what": what, "state": word(*state), "why": why, "command": command })
    };
    let topics: Map<String, Value> = sections
        .iter()
        .map(|(topic, found)| (topic.name(), found.iter().map(finding).collect()))
        .collect();
    let features = |about: &Description| -> Map<String, Value> {
        let rows = about.capabilities.iter();
        rows.map(|row| (row.feature.name.to_owned(), words(row.support).0.into())).collect()
    };
    let driver = |(about, state): &(&Description, State)| json!({ "name": about.name, "state": word(*state), "features": features(about) });
    let mut document = json!({ "complete": complete(sections), "topics": topics });
    if !drivers.is_empty() {
        document["drivers"] = drivers.iter().map(driver).collect();
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topic_of_each_driver_exists() {
        for topic in drivers::listed().filter_map(|driver| driver.description().topic) {
            assert!(Topic::from_str(topic, false).is_ok(), "{topic}");
        }
    }
}
