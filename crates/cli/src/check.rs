//! `suimon check`: errors in a scenario, and warnings about its physics.

use std::collections::{BTreeMap, BTreeSet};

use base::Fault;
use clap::Args;
use experiment::driver::{self, Description, Role, Stacks};
use experiment::{DriverChoice, Job, format};
use record::summary::InputSummary;
use scenario::Input;
use scenario::plan::{NodeKind, Plan};
use serde::Serialize;
use serde_json::json;

use crate::exit::Exit;
use crate::failure::{Failure, problem};
use crate::output;
use crate::scenario_args::ScenarioArgs;

/// Check a scenario for errors without running it
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Checks the scenario at every point of its grid.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match plans(&arguments.scenario) {
        Ok(plans) if arguments.json => as_json(arguments, &plans),
        Ok(plans) => as_text(arguments, &plans),
        Err(failure) if arguments.json && !failure.diagnostics.is_empty() => {
            let problems: Vec<_> = failure.diagnostics.iter().map(problem).collect();
            let file = arguments.scenario.file.display().to_string();
            output::print_json(
                &json!({ "file": file, "ok": false, "errors": problems, "warnings": [] }),
            )?;
            Ok(Exit::Usage)
        }
        Err(failure) => Err(failure),
    }
}

fn plans(scenario: &ScenarioArgs) -> Result<Vec<Plan>, Failure> {
    let runs = scenario.experiment()?.runs()?;
    runs.iter().map(|run| Ok(run.plan()?)).collect()
}

/// The warnings of all plans, each once, and those that only several runs have.
pub(crate) fn warnings<'a>(plans: impl Iterator<Item = &'a Plan> + Clone) -> Vec<String> {
    let all = plans.clone().flat_map(scenario::physics).chain(scenario::idle_seeds(plans));
    each_once(all.map(|warning| warning.to_string()))
}

/// Prints warnings on stderr.
pub(crate) fn warn(warnings: &[String]) {
    for warning in warnings {
        output::note(&format!("warning: {warning}"));
    }
}

/// Maximum number of programs shown, one a line.
const PROGRAMS_MAX: usize = 20;

/// A program that is started on this machine.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Started {
    command: String,
    host: String,
    /// The user that it runs as.
    #[serde(rename = "as")]
    user: &'static str,
}

/// Every program that the plans start on real packets, each once.
fn programs<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> BTreeSet<Started> {
    let of_plan = |plan: &'a Plan| {
        plan.commands().map(|command| Started {
            command: command.words.join(" "),
            host: plan.nodes[command.node].name.clone(),
            user: command.user.name(),
        })
    };
    plans.into_iter().flat_map(of_plan).collect()
}

/// Lists on stderr the programs that will be started on this machine.
pub(crate) fn note_programs<'a>(plans: impl IntoIterator<Item = &'a Plan>) {
    let all = programs(plans);
    for Started { command, host, user } in all.iter().take(PROGRAMS_MAX) {
        output::note(&format!("starts `{command}` at {host} as {user}"));
    }
    if all.len() > PROGRAMS_MAX {
        let more = format::count(all.len() - PROGRAMS_MAX, "more program");
        output::note(&format!("starts {more}"));
    }
}

/// Reports on stderr that a program of the scenario failed.
pub(crate) fn warn_of_failed(program: &str) {
    output::note(&format!("failed: {program}"));
}

/// Lists on stderr what the driver leaves out of `jobs`, each once.
pub(crate) fn note_left_out<'a>(jobs: impl IntoIterator<Item = &'a Job>) {
    let all = jobs.into_iter().flat_map(|job| job.left_out.iter().cloned());
    for what in each_once(all) {
        output::note(&format!("left out of the simulation: {what}"));
    }
}

/// The texts without duplicates.
pub(crate) fn each_once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// What a simulation of the plans leaves out; empty if the simulator refuses them.
fn left_out(plans: &[Plan]) -> Vec<String> {
    let simulator = DriverChoice::default();
    if obstacle(simulator, plans).is_some() {
        return Vec::new();
    }
    each_once(plans.iter().flat_map(|plan| simulator.left_out(plan)))
}

/// The listed drivers, each with the first obstacle that keeps it from running all plans.
fn takers(plans: &[Plan]) -> Vec<(&'static Description, Option<Fault>)> {
    let listed = driver::of_role(Role::Run);
    listed.map(|driver| (driver.description(), obstacle(driver, plans))).collect()
}

/// What keeps a driver from running all plans.
fn obstacle(driver: DriverChoice, plans: &[Plan]) -> Option<Fault> {
    plans.iter().find_map(|plan| driver.check(&driver.prepared(plan)).err())
}

fn as_text(arguments: &Arguments, plans: &[Plan]) -> Result<Exit, Failure> {
    warn(&warnings(plans.iter()));
    note_programs(plans);
    let mut taking = Vec::new();
    let mut reported = Vec::new();
    for (Description { name, subject, stacks, .. }, obstacle) in takers(plans) {
        match obstacle {
            None => taking.push(*name),
            // What the simulator refuses need not be said again of its kernels.
            Some(obstacle) if *stacks == Stacks::Guests && reported.contains(&obstacle) => {}
            Some(obstacle) => {
                output::note(&format!("{subject} cannot run it: {obstacle}"));
                reported.push(obstacle);
            }
        }
    }
    for what in left_out(plans) {
        output::note(&format!("left out of the simulation: {what}"));
    }
    let Some(first) = plans.first() else { return Ok(Exit::Fine) };
    let runs = if plans.len() > 1 { format!("; {} runs", plans.len()) } else { String::new() };
    let file = arguments.scenario.file.display();
    let (means, on) = (means(plans), on(&taking));
    output::print(&format!("{file}: ok: {}{runs}\n{on}{means}", inventory(first)))?;
    Ok(Exit::Fine)
}

/// The line that says which drivers run the scenario.
fn on(takers: &[&str]) -> String {
    match takers {
        [] => "  no driver runs it\n".to_owned(),
        [one] => format!("  for --on {one} only\n"),
        [first @ .., last] => format!("  for --on {} or {last}\n", first.join(", ")),
    }
}

/// Maximum number of distributions and traces shown, one a line.
const INPUTS_MAX: usize = 20;

/// The mean of each distribution and trace that the scenario gives point by point, one a line.
fn means(plans: &[Plan]) -> String {
    let of_plan = |plan: &Plan| {
        let line =
            |input: Input| format!("  {}: mean {}\n", input.key, input.mean.text(plan.units));
        scenario::inputs(plan).into_iter().map(line).collect::<Vec<_>>()
    };
    let all = each_once(plans.iter().flat_map(of_plan));
    let more = match all.len().saturating_sub(INPUTS_MAX) {
        0 => String::new(),
        more => format!("  and {more} more in --json\n"),
    };
    all.into_iter().take(INPUTS_MAX).collect::<String>() + &more
}

/// The means by key, for JSON; if they differ between runs, those of the first run.
fn inputs(plans: &[Plan]) -> BTreeMap<String, InputSummary> {
    let all = plans.iter().rev().flat_map(|plan| InputSummary::of(plan).0);
    all.collect()
}

/// What a plan consists of.
fn inventory(plan: &Plan) -> String {
    let nodes = NodeKind::REGISTRY.iter().map(|kind| kind.name).map(|name| {
        let alike = plan.nodes.iter().filter(|node| node.kind.name() == name);
        (alike.count(), name)
    });
    let others = [
        (plan.links.len(), "link"),
        (plan.flows.len(), "flow"),
        (plan.expectations.len(), "expectation"),
    ];
    let present = nodes.chain(others).filter(|(number, _)| *number > 0);
    let mut words: Vec<_> = present.map(|(number, noun)| format::count(number, noun)).collect();
    words.push(plan.units.duration.text(plan.duration.as_secs_f64()));
    words.join(", ")
}

fn as_json(arguments: &Arguments, plans: &[Plan]) -> Result<Exit, Failure> {
    let file = arguments.scenario.file.display().to_string();
    let warnings = warnings(plans.iter());
    let takers = takers(plans);
    let taking = takers.iter().filter(|(_, obstacle)| obstacle.is_none());
    let on: Vec<&str> = taking.clone().map(|(about, _)| about.name).collect();
    // Without guest kernels, which were added to `on` only.
    let drivers = taking.filter(|(about, _)| about.stacks != Stacks::Guests);
    let drivers: Vec<&str> = drivers.map(|(about, _)| about.manifest).collect();
    output::print_json(&json!({
        "file": file,
        "ok": true,
        "errors": [],
        "warnings": warnings,
        "programs": programs(plans),
        "runs": plans.len(),
        "drivers": drivers,
        "on": on,
        "left_out": left_out(plans),
        "inputs": inputs(plans),
    }))?;
    Ok(Exit::Fine)
}
