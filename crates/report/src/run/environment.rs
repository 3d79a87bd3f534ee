//! What was run, with what and on which machine.

use scenario::plan::{NodeKind, Plan, Transport};

use super::{Lab, Run};
use crate::{Cell, Grid, Section};
use record::manifest::SCHEMA;
use record::quantity::{count, size, time};

/// Describes what was run, in a sentence.
pub(super) fn what(run: &Run<'_>) -> String {
    let plan = run.plan;
    let nodes = NodeKind::REGISTRY.iter().map(|kind| kind.name).map(|name| {
        let alike = plan.nodes.iter().filter(|node| node.kind.name() == name);
        (alike.count(), name, format!("{name}s"))
    });
    let nodes: Vec<_> = nodes.collect();
    let kinds = |wanted: fn(&Transport) -> bool| {
        plan.flows.iter().filter(|flow| wanted(&flow.transport)).count()
    };
    let flows = [
        (kinds(|kind| matches!(kind, Transport::Tcp(_))), "connection", "connections"),
        (kinds(|kind| matches!(kind, Transport::Udp(_))), "UDP flow", "UDP flows"),
        (kinds(|kind| matches!(kind, Transport::Program(_))), "program", "programs"),
    ];
    let controls = controls(plan).join(", ");
    let connections = if controls.is_empty() { controls } else { format!(" ({controls})") };
    let driver = if run.lab.is_some() { "on real packets" } else { "in the simulator" };
    let flows = [listed(&flows[..1]) + &connections, listed(&flows[1..])];
    let flows = flows.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    format!(
        "{}; {flows}; {} {driver}.",
        listed(&nodes),
        plan.units.duration.text(plan.duration.as_secs_f64())
    )
}

/// `2 hosts, 1 router`.
fn listed(parts: &[(usize, &str, impl AsRef<str>)]) -> String {
    let parts = parts.iter().filter(|(number, ..)| *number > 0);
    let words = parts.map(|(number, one, many)| {
        let noun = if *number == 1 { one } else { many.as_ref() };
        format!("{} {noun}", count(*number as u64))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Lists the congestion controls in use, each once, in alphabetical order.
fn controls(plan: &Plan) -> Vec<&str> {
    let controls = plan.flows.iter().filter_map(|flow| flow.tcp()).map(|tcp| {
        tcp.kernel_congestion.as_deref().unwrap_or_else(|| tcp.sender.congestion.algorithm().name())
    });
    let mut controls: Vec<_> = controls.collect();
    controls.sort_unstable();
    controls.dedup();
    controls
}

/// Returns versions, seed and effort; for a run on real packets, the machine too.
pub(super) fn section(run: &Run<'_>) -> Section {
    let mut section = Section::new("Environment");
    let mut grid = Grid::new(&["", ""]);
    let mut row = |name: &str, cell: Cell| grid.row(vec![Cell::text_of(name), cell]);
    row("Suimon", Cell::text_of(env!("CARGO_PKG_VERSION")));
    row("Run folder format", Cell::text_of(SCHEMA.to_string()));
    row("Driver", Cell::text_of(if run.lab.is_some() { "lab" } else { "simulate" }));
    row("Seed", Cell::text_of(run.plan.seed.to_string()));
    let engine = &run.summary.engine;
    let measured = |name: &str, value: u64| {
        Cell::measure(format!("engine.{name}"), value as f64, count(value))
    };
    row("Packets over links", measured("packet_hops", engine.packet_hops));
    row("Events", measured("events", engine.events));
    if let Some(lab) = &run.lab {
        machine(lab).into_iter().for_each(|(name, text)| row(name, Cell::text_of(text)));
    }
    section.grid(&grid);
    section.paragraph(match run.lab {
        None => {
            "manifest.json describes the machine and the run's cost. Neither changes the results."
        }
        Some(_) => "manifest.json has all of this as JSON.",
    });
    section
}

/// Lists what is known of the machine; fields that it does not report are left out.
fn machine(lab: &Lab<'_>) -> Vec<(&'static str, String)> {
    let Lab { environment, cost, .. } = lab;
    let facts = [
        ("Operating system", format!("{} {}", environment.os, environment.kernel)),
        ("Architecture", environment.architecture.clone()),
        ("Processor", environment.cpu.clone()),
        ("Processors", environment.processors.to_string()),
        ("CPU time", time(cost.cpu_seconds)),
        ("Elapsed time", time(cost.wall_seconds)),
        ("Peak memory", size(cost.peak_rss_bytes)),
    ];
    facts.into_iter().filter(|(_, text)| !text.trim().is_empty()).collect()
}
