//! `scenario.lock.toml`: a plan as a scenario with every default written out.
//!
//! It parses to an equal plan, so that a run is repeatable after defaults change. Counted entities are written with
//! their count, so that the file has about as many tables as the scenario.

use measured::Kind;
use std::fmt::Write;
use std::net::IpAddr;

use base::Instant;
use base::setting::Settings;
use network::link::Direction;
use network::{impairment, link};
use transport::SocketOption;

use crate::congestion;
use crate::joining::Joining;
use crate::literal::{header, key, line, rate, size, string, time};
use crate::plan::{
    Action, Change, Comparison, End, Expectation, Link, NodeKind, Options, Plan, Target, Window,
    Within,
};
use crate::setting::written;
use crate::tcp::IdleRestart;
use crate::trace;
use crate::units::Units;

mod flows;
mod groups;
mod queues;

use groups::starting;
use queues::{conditioner, matches, queue};

pub(crate) use groups::{Group, Groups, node_programs, same_config};

/// The plan as a scenario file.
pub fn lock(plan: &Plan) -> String {
    let mut text =
        String::from("# Every default is written out; `suimon run` takes it like any other.\n");
    line(&mut text, "title", &string(&plan.title));
    line(&mut text, "duration", &time(plan.duration));
    line(&mut text, "seed", &plan.seed.to_string());
    let Units { rate, size, time: delay, duration } = plan.units;
    line(&mut text, "units.rate", &string(rate.name()));
    line(&mut text, "units.size", &string(size.name()));
    line(&mut text, "units.time", &string(delay.name()));
    line(&mut text, "units.duration", &string(duration.name()));
    if let Some(Window { from, until }) = plan.measure {
        line(&mut text, "measure.from", &instant(from));
        line(&mut text, "measure.until", &instant(until));
    }
    plan.expectations.iter().for_each(|e| expectation(e, &mut text));
    comparison(&plan.comparison, &mut text);
    let groups = Groups::of(plan);
    groups.nodes.iter().for_each(|group| node(&groups, group, &mut text));
    groups.links.iter().for_each(|group| link(&groups, group, &mut text));
    groups.flows.iter().for_each(|group| flows::flow(&groups, group, &mut text));
    plan.changes.iter().for_each(|c| change(&groups, c, &mut text));
    probes(&groups, &mut text);
    text
}

fn instant(instant: Instant) -> String {
    time(instant - Instant::ZERO)
}

fn node(groups: &Groups<'_>, group: &Group<'_>, text: &mut String) {
    let members = &groups.plan.nodes[group.range.clone()];
    let node = &members[0];
    header(text, &format!("{}.{}", node.kind.name(), key(group.name)));
    count(group, text);
    for (name, value) in written(node.kind.as_settings()) {
        line(text, name, &value);
    }
    if let NodeKind::Host(config) = &node.kind {
        crate::node::write_host(config, members, text);
    }
}

fn count(group: &Group<'_>, text: &mut String) {
    if group.counted {
        line(text, "count", &group.range.len().to_string());
    }
}

/// A link's table; its name is known only if one end of all members is named.
fn link(groups: &Groups<'_>, group: &Group<'_>, text: &mut String) {
    let members = &groups.plan.links[group.range.clone()];
    let (link, name) = (&members[0], key(group.name));
    let Some((ends, joining)) = groups.link_ends(members, group.counted) else { return };
    let [a, b] = &ends;
    header(text, &format!("link.{name}"));
    line(text, "between", &format!("[{}, {}]", string(a.name), string(b.name)));
    match joining {
        None => {}
        Some(Joining::Groups(groups)) => line(text, "groups", &groups.to_string()),
        Some(Joining::Planes(planes)) => line(text, "planes", &planes.to_string()),
    }
    for (name, value) in written(&link.config).into_iter().chain(written(&link.lab)) {
        line(text, name, &value);
    }
    for (side, end) in ends.iter().enumerate() {
        let path = format!("link.{name}.at.");
        let usual = usual_end(members, side);
        let usual_of = (&link.config, &usual);
        let address = groups.addresses(&group.range, side).flatten();
        link_end(groups, &(path.clone() + &key(end.name)), usual_of, (None, address), text);
        for own in members.iter().map(|link| &link.ends[side]) {
            let member = &groups.plan.nodes[own.node].name;
            let own = (&link.config, own);
            link_end(groups, &(path.clone() + &key(member)), own, (Some(&usual), None), text);
        }
    }
}

/// The settings that most members have at one end. A conditioner or impairments are included only if all members have
/// some, because nothing removes them again.
fn usual_end(members: &[Link], side: usize) -> End {
    let mut usual = members[0].ends[side].clone();
    if members.iter().any(|link| link.ends[side].conditioner.is_none()) {
        usual.conditioner = None;
    }
    usual.impairments.retain(|own| {
        let has = |end: &End| end.impairments.iter().any(|other| other.name() == own.name());
        members.iter().all(|link| has(&link.ends[side]))
    });
    usual
}

/// One end with its address, if it has one; only the differences if others match `usual`.
fn link_end(
    groups: &Groups<'_>,
    path: &str,
    (config, end): (&link::Config, &End),
    (usual, address): (Option<&End>, Option<IpAddr>),
    text: &mut String,
) {
    let impairments = match usual {
        Some(usual) if usual.impairments == end.impairments => &[],
        _ => end.impairments.as_slice(),
    };
    let single = |own: &&impairment::Parameters| written(own.as_settings()).len() == 1;
    let mut own = String::new();
    if let Some(address) = address {
        line(&mut own, "address", &string(&address.to_string()));
    }
    let usual_direction = usual.map_or_else(|| Direction::from(config), |usual| usual.direction);
    let varies = end.trace.as_ref().filter(|_| usual.is_none_or(|usual| usual.trace != end.trace));
    if let Some(trace) = varies {
        line(&mut own, "trace", &string(&trace::text(trace)));
    }
    let steady = end.trace.is_none() && usual.is_some_and(|usual| usual.trace.is_some());
    for (name, value) in written(&end.direction) {
        let is_usual = usual_direction.get(name) == end.direction.get(name);
        if (name == "rate" && steady) || !(is_usual || name == "rate" && varies.is_some()) {
            line(&mut own, name, &value);
        }
    }
    for one in impairments.iter().filter(single) {
        written(one.as_settings()).iter().for_each(|(_, value)| line(&mut own, one.name(), value));
    }
    if !own.is_empty() {
        header(text, path);
        text.push_str(&own);
    }
    if usual.is_none_or(|usual| usual.queue != end.queue) {
        queue(groups, &format!("{path}.queue"), &end.queue, text);
    }
    let kind = &groups.plan.nodes[end.node].kind;
    if let Some(parameters) = end.conditioner.as_ref().filter(|_| kind.conditioner().is_none())
        && usual.is_none_or(|usual| usual.conditioner != end.conditioner)
    {
        conditioner(groups, &format!("{path}.conditioner"), parameters, text);
    }
    for one in impairments.iter().filter(|one| !single(one)) {
        header(text, &format!("{path}.{}", one.name()));
        written(one.as_settings()).iter().for_each(|(name, value)| line(text, name, value));
    }
}

fn change(plan: &Groups<'_>, change: &Change, text: &mut String) {
    let path = format!("change.{}", key(&change.name));
    header(text, &path);
    line(text, "when", &instant(change.when));
    match &change.target {
        Target::Port(at, action) => {
            line(text, "at", &port(plan.plan, *at));
            port_change(plan, &path, action, text);
        }
        Target::Sockets(options) => socket_options(plan.plan, options, text),
    }
}

/// The options of connections.
fn socket_options(plan: &Plan, Options { flows, list }: &Options, text: &mut String) {
    let name = match &plan.flows[flows.clone()] {
        // The members of a counted flow, from one number to another.
        [first, .., last] => {
            let (_, number) = last.name.rsplit_once('.').unwrap_or_default();
            format!("{}..{number}", first.name)
        }
        one => one.iter().map(|flow| flow.name.as_str()).collect(),
    };
    line(text, "flow", &string(&name));
    for option in list {
        let value = match option {
            SocketOption::RtoMin(min) => time(*min),
            SocketOption::PacingRate(most) => rate(*most),
            SocketOption::Congestion(congestion) => congestion::text(congestion),
            SocketOption::IdleRestart(restart) => IdleRestart::text(*restart),
            SocketOption::NoDelay(yes) => yes.to_string(),
            SocketOption::SaveWindow(name) | SocketOption::RestoreWindow(name) => string(name),
            SocketOption::Phase(phase) => string(&phase.name),
        };
        line(text, option.name(), &value);
    }
}

fn port_change(plan: &Groups<'_>, path: &str, action: &Action, text: &mut String) {
    match action {
        Action::Switch(parameters) => queue(plan, &format!("{path}.queue"), parameters, text),
        Action::Disable => line(text, "enabled", "false"),
        Action::Enable => line(text, "enabled", "true"),
        Action::Release(class) => line(text, "release", &string(class)),
        Action::Rate(given) => line(text, "rate", &rate(*given)),
        Action::Reserve(request) => {
            line(text, "reserve.class", &string(&request.name));
            if let Some(parent) = &request.parent {
                line(text, "reserve.parent", &string(parent));
            }
            line(text, "reserve.rate", &rate(request.rate));
            line(text, "reserve.burst", &size(request.burst));
            line(text, "reserve.delay", &time(request.delay));
            let filters: Vec<_> = request.filters.iter().map(|filter| (*filter, 0)).collect();
            line(text, "reserve.match", &matches(plan, &filters));
        }
    }
}

fn probes(groups: &Groups<'_>, text: &mut String) {
    let plan = groups.plan;
    let probes = &plan.probes;
    if !probes.delays || probes.idle {
        header(text, "probe");
    }
    if !probes.delays {
        line(text, "automatic", "false");
    }
    if probes.idle {
        line(text, "idle", "true");
    }
    for (name, every) in [("flows", probes.flows), ("queues", probes.queues)] {
        if let Some(every) = every {
            header(text, &format!("probe.{name}"));
            line(text, "every", &time(every));
        }
    }
    for probe in &probes.bandwidth {
        header(text, &format!("probe.bandwidth.{}", string(&probe.name)));
        line(text, "bin", &time(probe.bin));
        if let Some(flows) = &probe.flows {
            let names: Vec<String> = flow_names(groups, flows).into_iter().map(string).collect();
            line(text, "flows", &format!("[{}]", names.join(", ")));
        }
        at(plan, probe.port, probe.window, text);
    }
    for probe in &probes.sequences {
        header(text, &format!("probe.sequence.{}", string(&probe.name)));
        line(text, "flow", &string(&plan.flows[probe.flow].name));
        at(plan, probe.port, probe.window, text);
    }
    for probe in &probes.captures {
        header(text, &format!("probe.capture.{}", string(&probe.name)));
        at(plan, probe.port, probe.window, text);
    }
}

/// The names of these flows, one for each counted group.
fn flow_names<'p>(groups: &Groups<'p>, flows: &[usize]) -> Vec<&'p str> {
    let (mut names, mut rest) = (Vec::new(), flows);
    while let Some(&first) = rest.first() {
        let group = starting(&groups.flows, first).filter(|group| {
            let members = rest.get(..group.range.len());
            group.counted && members.is_some_and(|all| all.iter().copied().eq(group.range.clone()))
        });
        names.push(group.map_or(groups.plan.flows[first].name.as_str(), |group| group.name));
        rest = &rest[group.map_or(1, |group| group.range.len())..];
    }
    names
}

fn at(plan: &Plan, port: network::PortId, window: Window, text: &mut String) {
    line(text, "at", &self::port(plan, port));
    line(text, "from", &instant(window.from));
    line(text, "until", &instant(window.until));
}

/// A port as `node:link`.
fn port(plan: &Plan, port: network::PortId) -> String {
    let link = &plan.links[(port.0 / 2) as usize];
    let node = &plan.nodes[link.ends[(port.0 % 2) as usize].node];
    string(&format!("{}:{}", node.name, link.name))
}

/// `flow.bulk.goodput` under `[expect]`, with each quantity in its own unit.
fn expectation(expectation: &Expectation, text: &mut String) {
    let path = dotted(&expectation.path);
    for (bound, value) in [("min", expectation.low), ("max", expectation.high)] {
        if let Some(value) = value {
            let _ =
                writeln!(text, "expect.{path}.{bound} = \"{}\"", in_unit(value, &expectation.path));
        }
    }
}

/// `[compare]`.
fn comparison(comparison: &Comparison, text: &mut String) {
    line(text, "compare.tolerance", &format!("\"{} %\"", comparison.percent));
    for tolerance in &comparison.tolerances {
        let within = match tolerance.within {
            Within::Percent(percent) => format!("\"{percent} %\""),
            Within::Amount(amount) => string(&in_unit(amount, &tolerance.path)),
        };
        line(text, &format!("compare.{}", dotted(&tolerance.path)), &within);
    }
}

/// The path of a quantity as keys; a member's name contains a dot.
fn dotted(path: &str) -> String {
    let (entity, quantity) = path.rsplit_once('.').unwrap_or(("run", path));
    let (entity, class) = match entity.split_once(".class.") {
        Some((entity, class)) => (entity, format!(".class.{}", key(class))),
        None => (entity, String::new()),
    };
    match entity.split_once('.') {
        Some((table, name)) => format!("{table}.{}{class}.{quantity}", key(name)),
        None => format!("{entity}.{quantity}"),
    }
}

/// A quantity in its base unit.
fn in_unit(value: f64, path: &str) -> String {
    match Kind::of(path) {
        kind @ (Kind::Rate | Kind::Size | Kind::Time | Kind::Duration) => {
            format!("{value} {}", kind.base_unit())
        }
        Kind::Share | Kind::Ratio | Kind::Number => value.to_string(),
    }
}
