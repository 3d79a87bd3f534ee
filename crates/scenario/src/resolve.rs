//! Resolution of the file's tables to the plan: names become numbers, defaults are filled in, and quantities are
//! checked against each other. Problems are collected. Parts that depend on a faulty one are skipped.

mod changes;
mod conditioners;
mod datagrams;
mod demand;
mod directory;
mod events;
mod expectations;
mod filters;
mod flows;
mod impairments;
mod interfaces;
mod ip;
mod judgements;
mod laid;
mod links;
mod load;
mod network;
mod nodes;
mod probes;
mod programs;
mod queues;
mod ranks;
pub(crate) mod reach;
mod routes;
mod switches;
mod tolerances;

use base::Duration;
use traffic::qdisc;

use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::included::Files;
use crate::plan::Plan;
use crate::queue::Queue;
use crate::topology;
use crate::units::Units;
use crate::value::{Quantity, UnitOfTime};
use directory::Directory;
use network::Network;
pub use routes::{Attachment, Routes};

/// The plan, or `None` with the reasons in `problems`. Its units are `written` unless the file sets them.
pub(crate) fn resolve(
    file: &Scenario,
    written: Units,
    files: &Files,
    problems: &mut Problems,
) -> Option<Plan> {
    let expanded = expanded(file, problems);
    let file = expanded.as_ref().unwrap_or(file);
    let duration = duration(file, problems);
    let nodes = nodes::resolve(file, problems);
    let declared = flows::declare(file, &nodes, problems);
    let laid = laid::lay(file, &nodes, problems);
    let interfaces = interfaces::resolve(file, &laid, &nodes, problems);
    let entities =
        filters::Entities { nodes: &nodes, interfaces: &interfaces, flows: &declared.names };
    let links = links::resolve(file, laid, entities, problems);
    switches::check(file, &nodes, &links.list, written, problems);
    routes::check(file, &nodes.list, &links.list, problems);
    // Routes of a network with a faulty node or link are not worth an error.
    let complete = problems.is_empty();
    let routes = match complete {
        true => Routes::resolve(&nodes.list, &interfaces.list, &links.list),
        false => Routes::default(),
    };
    let seed = file.seed();
    let network = Network { nodes, interfaces, links, routes, duration, seed, files };
    let flows = flows::resolve(&declared, &network, problems);
    let changes = changes::resolve(file, &network, (&declared.names, &flows), problems);
    let probes = probes::resolve(file, &network, &declared.names, problems);
    let file::Measure { from, until } = &file.measure;
    let (from, until) = (from.as_ref(), until.as_ref());
    let measure = from.or(until).and_then(|_| probes::window(from, until, duration, problems));
    let known = judgements::Known {
        names: &declared.names,
        flows: &flows,
        changes: &changes,
        delays: probes.delays,
    };
    let expectations = expectations::resolve(file, &network, known, problems);
    let comparison = tolerances::resolve(file, &network, known, problems);
    let units = units(&file.units, written, problems);
    problems.is_empty().then(|| Plan {
        title: file.title.clone().unwrap_or_default(),
        units,
        seed,
        duration,
        measure,
        nodes: network.nodes.list,
        interfaces: network.interfaces.list,
        links: network.links.list,
        routes: network.routes,
        flows,
        changes,
        probes,
        expectations,
        comparison,
        file_warnings: Vec::new(),
    })
}

/// The file with the nodes and links of its topologies; `None` if it has none.
fn expanded(file: &Scenario, problems: &mut Problems) -> Option<Scenario> {
    (!file.topology.0.is_empty()).then(|| {
        let mut expanded = file.clone();
        let (nodes, rest) = expanded.parts_mut();
        topology::expand(&file.topology, (nodes, &mut rest.link), problems);
        expanded
    })
}

fn units(keys: &file::Units, written: Units, problems: &mut Problems) -> Units {
    let mut time = |key: &Option<Quantity<UnitOfTime>>| key.as_ref()?.read(problems);
    let (delay, duration) = (time(&keys.time), time(&keys.duration));
    Units {
        rate: keys.rate.as_ref().and_then(|key| key.read(problems)).unwrap_or(written.rate),
        size: keys.size.as_ref().and_then(|key| key.read(problems)).unwrap_or(written.size),
        time: delay.unwrap_or(written.time),
        duration: duration.unwrap_or(written.duration),
    }
}

/// The parameters of a single queue without nodes and flows to match. The discipline checks them when it is attached.
pub(crate) fn queue(queue: &Queue, problems: &mut Problems) -> Option<qdisc::Parameters> {
    let names = Directory::new("node", 0);
    let nodes = nodes::Nodes { list: Vec::new(), names, profiles: Vec::new() };
    let (interfaces, flows) = (interfaces::Interfaces::default(), Directory::new("flow", 0));
    let entities = filters::Entities { nodes: &nodes, interfaces: &interfaces, flows: &flows };
    queues::parameters(queue, entities, problems)
}

fn duration(file: &Scenario, problems: &mut Problems) -> Duration {
    match file.duration.read(problems) {
        Some(Duration::ZERO) => {
            let help = "set the duration of the run: \"300 s\"";
            problems.push(&file.duration.span, "a duration of zero", help);
            Duration::MAX
        }
        duration => duration.unwrap_or(Duration::MAX),
    }
}
