//! `suimon check`: what is wrong with a scenario, and what looks wrong with its physics.

use std::collections::BTreeSet;

use clap::Args;
use results::report::quantity;
use scenario::plan::{NodeKind, Plan};
use serde::Serialize;
use serde_json::json;

use crate::amount;
use crate::execution::Driver;
use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::failure::{Failure, problem};
use crate::output;

/// What `check` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: Experiment,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Checks the scenario at every point of its grid.
pub(crate) fn act(arguments: &Arguments) -> Result<Exit, Failure> {
    match plans(&arguments.experiment) {
        Ok(plans) if arguments.json => as_json(arguments, &plans),
        Ok(plans) => as_text(arguments, &plans),
        Err(Failure::Scenario(errors)) if arguments.json => {
            let problems: Vec<_> = errors.diagnostics().iter().map(problem).collect();
            let file = arguments.experiment.file.display().to_string();
            output::print_json(
                &json!({ "file": file, "ok": false, "errors": problems, "warnings": [] }),
            )?;
            Ok(Exit::Usage)
        }
        Err(failure) => Err(failure),
    }
}

fn plans(experiment: &Experiment) -> Result<Vec<Plan>, Failure> {
    let runs = experiment.read()?.runs()?;
    runs.iter().map(|run| Ok(run.plan()?)).collect()
}

/// The warnings of all plans, each once.
pub(crate) fn warnings<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for warning in plans.into_iter().flat_map(scenario::physics) {
        let text = warning.to_string();
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// Tells warnings on stderr.
pub(crate) fn tell(warnings: &[String]) {
    for warning in warnings {
        output::note(&format!("warning: {warning}"));
    }
}

/// What of the programs of plans is shown at most, in lines.
const PROGRAMS_MAX: usize = 20;

/// A program that is started on this machine.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Started {
    command: String,
    host: String,
    /// As whom.
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

/// Tells on stderr which programs will be started on this machine.
pub(crate) fn tell_programs<'a>(plans: impl IntoIterator<Item = &'a Plan>) {
    let all = programs(plans);
    for Started { command, host, user } in all.iter().take(PROGRAMS_MAX) {
        output::note(&format!("starts `{command}` at {host} as {user}"));
    }
    if all.len() > PROGRAMS_MAX {
        output::note(&format!("starts {} more programs", all.len() - PROGRAMS_MAX));
    }
}

/// Tells on stderr that a program of the scenario failed.
pub(crate) fn tell_failed(program: &str) {
    output::note(&format!("failed: {program}"));
}

/// Why the simulator cannot run them all, if it cannot.
fn only_in_the_lab(plans: &[Plan]) -> Option<simulate::Refusal> {
    plans.iter().find_map(|plan| simulate::refusal::check(plan).err())
}

fn as_text(arguments: &Arguments, plans: &[Plan]) -> Result<Exit, Failure> {
    tell(&warnings(plans));
    tell_programs(plans);
    if let Some(refusal) = only_in_the_lab(plans) {
        output::note(&format!("not for the simulator: {refusal}"));
    }
    let Some(first) = plans.first() else { return Ok(Exit::Fine) };
    let runs = if plans.len() > 1 { format!("; {} runs", plans.len()) } else { String::new() };
    let file = arguments.experiment.file.display();
    output::print(&format!("{file}: fine: {}{runs}\n", inventory(first)))?;
    Ok(Exit::Fine)
}

/// What a plan consists of.
fn inventory(plan: &Plan) -> String {
    let nodes = |is: fn(&NodeKind) -> bool| plan.nodes.iter().filter(|n| is(&n.kind)).count();
    let parts = [
        (nodes(|kind| matches!(kind, NodeKind::Host(_))), "host"),
        (nodes(|kind| matches!(kind, NodeKind::Router)), "router"),
        (nodes(|kind| matches!(kind, NodeKind::Emulator(_))), "emulator"),
        (plan.links.len(), "link"),
        (plan.flows.len(), "flow"),
        (plan.expectations.len(), "expectation"),
    ];
    let present = parts.iter().filter(|(number, _)| *number > 0);
    let mut words: Vec<_> = present.map(|&(number, noun)| amount::count(number, noun)).collect();
    words.push(quantity::time(plan.duration.as_secs_f64()));
    words.join(", ")
}

fn as_json(arguments: &Arguments, plans: &[Plan]) -> Result<Exit, Failure> {
    let file = arguments.experiment.file.display().to_string();
    let warnings = warnings(plans);
    let simulator = only_in_the_lab(plans).is_none().then_some(Driver::Simulator.name());
    let drivers: Vec<&str> = simulator.into_iter().chain([Driver::Lab.name()]).collect();
    output::print_json(&json!({
        "file": file,
        "ok": true,
        "errors": [],
        "warnings": warnings,
        "programs": programs(plans),
        "runs": plans.len(),
        "drivers": drivers,
    }))?;
    Ok(Exit::Fine)
}
