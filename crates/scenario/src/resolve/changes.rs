//! Changes of ports and connections during the run.

use base::{Bytes, Duration, Instant};
use traffic::Port;
use traffic::reservation::Request;
use transport::{ProgramPhase, SocketOption};

use super::filters::{self, Entities};
use super::network::Network;
use super::{Directory, links, probes, queues};
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::plan::{Action, Change, Flow, NodeKind, Options, Target};
use crate::value::{Name, Quantity, TimeUnit};

/// The changes, the earliest first; simultaneous ones in file order.
pub(super) fn resolve(
    file: &Scenario,
    network: &Network<'_>,
    (flows, plan): (&Directory<'_>, &[Flow]),
    problems: &mut Problems,
) -> Vec<Change> {
    let changes = file.change.iter();
    let changes =
        changes.filter_map(|(name, table)| change(name, table, network, (flows, plan), problems));
    let mut changes: Vec<_> = changes.collect();
    changes.sort_by_key(|change| change.when);
    changes
}

fn change(
    name: &Name,
    table: &file::Change,
    network: &Network<'_>,
    (flows, plan): (&Directory<'_>, &[Flow]),
    problems: &mut Problems,
) -> Option<Change> {
    let when = table.when.read(problems);
    if when.is_some_and(|when| when >= network.duration) {
        let help = "set `when` below `duration`";
        problems.push(&table.when.span, "the change comes after the end of the run", help);
    }
    let target = match (&table.at, &table.flow) {
        (Some(at), None) => of_port(name, at, table, network, flows, problems)?,
        (None, Some(flow)) => of_flow(name, flow, table, (flows, plan), problems)?,
        _ => {
            let help = "give at = \"node:link\" for a port, or flow = \"name\" for connections";
            problems.push(&name.span, format!("`{}` needs either `at` or `flow`", name.text), help);
            return None;
        }
    };
    Some(Change { name: name.text.clone(), when: Instant::ZERO + when?, target })
}

/// The number of given keys.
fn count<const N: usize>(given: [bool; N]) -> usize {
    given.into_iter().filter(|&given| given).count()
}

/// The numbers of given keys for a port, and for connections.
fn given(table: &file::Change) -> [usize; 2] {
    let of_port = [
        table.queue.is_some(),
        table.enabled.is_some(),
        table.reserve.is_some(),
        table.release.is_some(),
        table.rate.is_some(),
    ];
    let of_sockets = [
        table.congestion.is_some(),
        table.pacing_rate.is_some(),
        table.rto_min.is_some(),
        table.idle_restart.is_some(),
        table.nodelay.is_some(),
        table.save_window.is_some(),
        table.restore_window.is_some(),
        table.phase.is_some(),
    ];
    [count(of_port), count(of_sockets)]
}

/// The change of a port.
fn of_port(
    name: &Name,
    at: &Name,
    table: &file::Change,
    network: &Network<'_>,
    flows: &Directory<'_>,
    problems: &mut Problems,
) -> Option<Target> {
    let port = probes::port(at, network, problems)?;
    let link = &network.links.list[port.0 as usize / 2];
    let end = &link.ends[port.0 as usize % 2];
    if let NodeKind::Emulator(_) = network.nodes.list[end.node].kind {
        let help = "choose a port of a router, switch or host; an emulator has only its buffer";
        problems.push(&at.span, "an emulator's port has no discipline", help);
        return None;
    }
    if given(table) != [1, 0] {
        let help = "give exactly one of queue, enabled, reserve, release and rate";
        problems.push(&name.span, format!("`{}` is not exactly one change", name.text), help);
        return None;
    }
    let config = &link.config;
    let port_seen =
        Port { rate: end.direction.rate, mtu: config.mtu, overhead: config.overhead, seed: 0 };
    let entities = Entities { nodes: &network.nodes, interfaces: &network.interfaces, flows };
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
    Some(Target::Port(port, action))
}

/// The change of a flow's connections. A window is saved first and restored last.
fn of_flow(
    name: &Name,
    flow: &Name,
    table: &file::Change,
    (flows, plan): (&Directory<'_>, &[Flow]),
    problems: &mut Problems,
) -> Option<Target> {
    let members = flows.find(flow, problems)?;
    // Flows are complete only if there are no other problems.
    let connection = |flow: &Flow| flow.tcp().is_some();
    if problems.is_empty() && !plan[members.range.clone()].iter().all(connection) {
        let help = "name a flow without `datagrams` and `program`";
        problems.push(&flow.span, format!("`{}` is not a TCP connection", flow.text), help);
        return None;
    }
    let [of_port, options] = given(table);
    if of_port > 0 || options == 0 {
        let help = "give congestion, pacing_rate, rto_min, idle_restart, nodelay, save_window, restore_window \
                    or phase";
        problems.push(&name.span, format!("`{}` sets no option of a flow", name.text), help);
        return None;
    }
    let rate = table.pacing_rate.as_ref().and_then(|rate| rate.read(problems));
    let floor = table.rto_min.as_ref().and_then(|floor| rto_min(floor, problems));
    let restart = table.idle_restart.as_ref().and_then(|restart| restart.value(problems));
    let congestion = table.congestion.as_ref().and_then(|given| given.read(problems));
    let text = |name: &Name| name.text.as_str().into();
    let list = [
        table.save_window.as_ref().map(text).map(SocketOption::SaveWindow),
        congestion.map(SocketOption::Congestion),
        rate.map(SocketOption::PacingRate),
        floor.map(SocketOption::RtoMin),
        restart.map(SocketOption::IdleRestart),
        table.nodelay.map(SocketOption::NoDelay),
        table.restore_window.as_ref().map(text).map(SocketOption::RestoreWindow),
        table.phase.as_ref().map(phase),
    ];
    let list = list.into_iter().flatten().collect();
    Some(Target::Sockets(Options { flows: members.range, list }))
}

/// A phase of the program.
fn phase(given: &Name) -> SocketOption {
    let (name, age_max) = (given.text.as_str().into(), ProgramPhase::AGE_MAX);
    SocketOption::Phase(ProgramPhase { name, age_max })
}

/// The minimum of the retransmission timeout.
fn rto_min(given: &Quantity<TimeUnit>, problems: &mut Problems) -> Option<Duration> {
    let floor = given.read(problems)?;
    if floor == Duration::ZERO {
        problems.push(&given.span, "a minimum timeout of zero", "use 1 ms or more");
        return None;
    }
    Some(floor)
}

/// The requested class.
fn request(
    table: &file::Reserve,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Request> {
    let rate = table.rate.read(problems);
    let burst = table.burst.read(problems);
    let delay = table.delay.read(problems);
    if burst == Some(Bytes(0)) {
        let help = "set the burst in bytes: \"3 kB\"";
        problems.push(&table.burst.span, "a burst of zero", help);
    }
    let mut filters = Vec::new();
    for matched in &table.matches.0 {
        if let Some(priority) = &matched.priority {
            let help = "remove it: the filters of a reservation precede those of other classes";
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
