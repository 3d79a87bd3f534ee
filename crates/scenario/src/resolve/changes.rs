//! Changes of ports while the run goes on.

use traffic::reservation::Request;
use traffic::{Bytes, Instant, Port};

use super::filters::{self, Entities};
use super::{Directory, Network, links, probes, queues};
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::plan::{Action, Change, NodeKind};
use crate::value::Name;

/// The changes, the earliest first; at one instant in the order of the file.
pub(super) fn resolve(
    file: &Scenario,
    network: &Network<'_>,
    flows: &Directory<'_>,
    problems: &mut Problems,
) -> Vec<Change> {
    let changes = file.change.iter();
    let changes = changes.filter_map(|(name, table)| change(name, table, network, flows, problems));
    let mut changes: Vec<_> = changes.collect();
    changes.sort_by_key(|change| change.when);
    changes
}

fn change(
    name: &Name,
    table: &file::Change,
    network: &Network<'_>,
    flows: &Directory<'_>,
    problems: &mut Problems,
) -> Option<Change> {
    let when = table.when.read(problems);
    if when.is_some_and(|when| when >= network.duration) {
        let help = "let it come before the scenario's duration";
        problems.push(&table.when.span, "it comes when the run is over", help);
    }
    let port = probes::port(&table.at, network, problems)?;
    let link = &network.links.list[port.0 as usize / 2];
    let end = &link.ends[port.0 as usize % 2];
    if let NodeKind::Emulator(_) = network.nodes.list[end.node].kind {
        let help = "put a discipline on a router's or a host's port; an emulator has its buffer";
        problems.push(&table.at.span, "an emulator's port has no discipline", help);
        return None;
    }
    let given = [
        table.queue.is_some(),
        table.enabled.is_some(),
        table.reserve.is_some(),
        table.release.is_some(),
        table.rate.is_some(),
    ];
    if given.into_iter().filter(|&given| given).count() != 1 {
        let help = "give one of queue, enabled, reserve, release and rate";
        problems.push(&name.span, format!("`{}` is not one change", name.text), help);
        return None;
    }
    let config = &link.config;
    let port_seen = Port { rate: end.rate, mtu: config.mtu, overhead: config.overhead, seed: 0 };
    let entities = Entities { nodes: &network.nodes, flows };
    let action = if let Some(queue) = &table.queue {
        Action::Switch(queues::resolve(Some(queue), port_seen, entities, problems)?)
    } else if let Some(reserve) = &table.reserve {
        Action::Reserve(request(reserve, entities, problems)?)
    } else if let Some(class) = &table.release {
        Action::Release(class.text.clone())
    } else if let Some(rate) = &table.rate {
        Action::Rate(links::rate(rate, problems)?)
    } else if table.enabled == Some(true) {
        Action::Enable
    } else {
        Action::Disable
    };
    let when = Instant::ZERO + when?;
    Some(Change { name: name.text.clone(), when, port, action })
}

/// The class that is asked for.
fn request(
    table: &file::Reserve,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Request> {
    let rate = table.rate.read(problems);
    let burst = table.burst.read(problems);
    let delay = table.delay.read(problems);
    if burst == Some(Bytes(0)) {
        let help = "say how many bytes may come at once: \"3 kB\"";
        problems.push(&table.burst.span, "a burst of nothing", help);
    }
    let mut filters = Vec::new();
    for matched in &table.matches.0 {
        if let Some(priority) = &matched.priority {
            let help =
                "leave it out: a reservation's filters are looked at before the other classes'";
            problems.push(&priority.span, "a reservation has no priority", help);
        }
        filters.extend(filters::resolve(matched, entities, problems)?.filters);
    }
    Some(Request {
        name: table.class.text.clone(),
        parent: table.parent.as_ref().map(|parent| parent.text.clone()),
        rate: rate?,
        burst: burst?,
        delay: delay?,
        filters,
    })
}
