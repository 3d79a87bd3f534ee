//! What is done to queues while the run goes on.

use network::PortId;
use traffic::reservation::{Request, TAKERS};
use traffic::{Bytes, Instant, Port};

use super::filters::{self, Entities};
use super::{Directory, Network, probes, queues};
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
    // Of faulty changes nobody knows what they would have put there.
    if changes.len() == file.change.0.len() {
        check_reservations(file, &changes, network, problems);
    }
    changes
}

/// Refuses to ask a discipline for a class that never takes any, and to give back what nobody asked for.
/// Whether a class is admitted only the run tells.
fn check_reservations(
    file: &Scenario,
    changes: &[Change],
    network: &Network<'_>,
    problems: &mut Problems,
) {
    for (at, change) in changes.iter().enumerate() {
        let before = || changes[..at].iter().filter(|earlier| earlier.port == change.port);
        let (Action::Reserve(Request { name: class, .. }) | Action::Release(class)) =
            &change.action
        else {
            continue;
        };
        let Some((name, _)) = file.change.iter().find(|(name, _)| name.text == change.name) else {
            continue;
        };
        let there = discipline(change.port, before(), network);
        let asked =
            |earlier: &Change| matches!(&earlier.action, Action::Reserve(r) if r.name == *class);
        if !TAKERS.contains(&there) {
            let help = format!("put one there that takes reservations: {}", TAKERS.join(", "));
            let text = format!("{there}, which is at the port then, takes no reservations");
            problems.push(&name.span, text, help);
        } else if matches!(change.action, Action::Release(_)) && !before().any(asked) {
            let help = "name the class of an earlier change that reserves it at this port";
            problems.push(&name.span, format!("nobody has reserved `{class}` by then"), help);
        }
    }
}

/// What is at a port after some changes of it.
fn discipline<'c>(
    port: PortId,
    changes: impl Iterator<Item = &'c Change>,
    network: &'c Network<'_>,
) -> &'c str {
    let mut asked = network.links.list[port.0 as usize / 2].ends[port.0 as usize % 2].queue.name();
    let mut enabled = true;
    for change in changes {
        match &change.action {
            Action::Switch(parameters) => (asked, enabled) = (parameters.name(), true),
            Action::Disable => enabled = false,
            Action::Enable => enabled = true,
            Action::Reserve(_) | Action::Release(_) => {}
        }
    }
    if enabled { asked } else { "fifo" }
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
    ];
    if given.into_iter().filter(|&given| given).count() != 1 {
        let help = "give one of queue, enabled, reserve and release";
        problems.push(&name.span, format!("`{}` is not one change", name.text), help);
        return None;
    }
    let config = &link.config;
    let port_seen = Port { rate: config.rate, mtu: config.mtu, overhead: config.overhead, seed: 0 };
    let entities = Entities { nodes: &network.nodes, flows };
    let action = if let Some(queue) = &table.queue {
        Action::Switch(queues::resolve(Some(queue), port_seen, entities, problems)?)
    } else if let Some(reserve) = &table.reserve {
        Action::Reserve(request(reserve, entities, problems)?)
    } else if let Some(class) = &table.release {
        Action::Release(class.text.clone())
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
