//! ECN over paths without a marking queue, and marking queues without an ECN flow.

use std::collections::{BTreeMap, BTreeSet};

use base::setting::{Settings, Value};
use traffic::qdisc;

use super::path::{path, ports};
use super::warning::{Kind, Warning};
use crate::lock::Groups;
use crate::plan::{Action, Flow, NodeKind, Plan, Tcp, Transport};

/// What one flow's packets ask for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// They are not ECN-capable.
    Nothing,
    /// The connection asks for ECN.
    Ecn,
    /// Its congestion control reacts to the share of marks, and needs them.
    Marks,
}

/// Flows that ask for marks over queues that make none, then queues that mark for flows that do not ask.
pub(super) fn unanswered(names: &Groups<'_>) -> Vec<Warning> {
    let plan = names.plan;
    let programs: BTreeSet<usize> = plan.commands().map(|command| command.node).collect();
    let mut unmarked = BTreeMap::new();
    // For each port that is to mark: whether it marks for somebody.
    let mut marking: BTreeMap<(usize, usize), bool> = BTreeMap::new();
    for (number, flow) in plan.flows.iter().enumerate() {
        let asks = asks(&programs, flow);
        let hops: Vec<_> = [[flow.source, flow.destination], [flow.destination, flow.source]]
            .into_iter()
            .flat_map(|ends| ports(plan, number, ends).unwrap_or_default())
            .collect();
        if asks.is_some_and(|asks| asks != Asks::Nothing)
            && !hops.iter().any(|&hop| may_mark(plan, hop))
        {
            unmarked.entry(names.flow_path(number)).or_insert((number, asks));
        }
        // Only the direction of the data counts: Linux sends pure ACKs without ECT.
        let there = ports(plan, number, [flow.source, flow.destination]).unwrap_or_default();
        for port in there.into_iter().filter(|&port| is_to_mark(plan, port)) {
            *marking.entry(port).or_default() |= asks != Some(Asks::Nothing);
        }
    }
    let unmarked = unmarked.into_iter().filter_map(|(about, (number, asks))| {
        without_marks(names, about, number, asks == Some(Asks::Marks))
    });
    let idle = marking.into_iter().filter(|(_, is_used)| !is_used).map(|(port, _)| port);
    let mut seen = BTreeSet::new();
    let idle = idle.filter_map(|port| {
        let warning = for_nobody(names, port);
        seen.insert(warning.about.clone()).then_some(warning)
    });
    unmarked.chain(idle).collect()
}

/// What a flow's packets ask for; none where only its programs know, or others on one of the nodes `programs`.
fn asks(programs: &BTreeSet<usize>, flow: &Flow) -> Option<Asks> {
    // The two bits of the ToS byte beside the code point.
    let is_marked_by_hand = flow.header.tos & 3 != 0;
    Some(match &flow.transport {
        Transport::Program(_) => return None,
        Transport::Udp(udp) if udp.datagrams().ecn => Asks::Ecn,
        Transport::Tcp(tcp) if needs_marks(tcp) => Asks::Marks,
        Transport::Tcp(tcp) if tcp.sender.segment.ecn == transport::config::Ecn::Request => {
            Asks::Ecn
        }
        _ if is_marked_by_hand => Asks::Ecn,
        // Programs at the ends set what the machine's kernel does.
        _ if [flow.from, flow.to].iter().any(|node| programs.contains(node)) => return None,
        _ => Asks::Nothing,
    })
}

fn needs_marks(tcp: &Tcp) -> bool {
    match &tcp.kernel_congestion {
        Some(name) => name == "dctcp",
        None => tcp.sender.congestion.algorithm().needs_ecn(),
    }
}

/// Whether a port may mark ECN-capable packets at any time.
fn may_mark(plan: &Plan, (link, end): (usize, usize)) -> bool {
    let sender = &plan.links[link].ends[end];
    let is_marking_switch = match &plan.nodes[sender.node].kind {
        NodeKind::Switch(config) => config.ecn.is_some(),
        _ => false,
    };
    // A change may put any queue at any port.
    let changed = plan.changes.iter().any(|change| match change.of_port() {
        Some((port, Action::Switch(queue))) => port.0 as usize == 2 * link + end && marks(queue),
        Some((port, _)) => port.0 as usize == 2 * link + end,
        None => false,
    });
    is_marking_switch || changed || marks(&sender.queue)
}

/// Whether a queue may mark.
fn marks(queue: &qdisc::Parameters) -> bool {
    let of = |settings: &dyn Settings| {
        settings.settings().iter().any(|setting| match settings.get(setting.name) {
            Some(Value::Flag(is_on)) => is_on && setting.name == "ecn",
            Some(value) => {
                setting.name == "mark_above" || qdisc::Parameters::of(&value).is_some_and(marks)
            }
            None => false,
        })
    };
    let settings = queue.as_settings();
    let in_class = |classes: &dyn base::setting::Classes| {
        (0..classes.count()).any(|index| of(classes.class(index).2))
    };
    queue.name() == "mark" || of(settings) || settings.classes().is_some_and(in_class)
}

/// Whether marking is what the file asks of a port: `mark`, or ECN where it is not the default.
fn is_to_mark(plan: &Plan, (link, end): (usize, usize)) -> bool {
    let sender = &plan.links[link].ends[end];
    match &plan.nodes[sender.node].kind {
        NodeKind::Switch(config) => config.ecn.is_some(),
        _ => sender.queue.name() == "mark" || is_set(&sender.queue),
    }
}

/// Whether ECN is on in a discipline that has it off by default.
fn is_set(queue: &qdisc::Parameters) -> bool {
    let is_on = queue.get("ecn") == Some(Value::Flag(true));
    let by_default = qdisc::Parameters::by_name(queue.name());
    let by_default = by_default.and_then(|queue| queue.get("ecn"));
    is_on && by_default == Some(Value::Flag(false))
}

fn without_marks(names: &Groups<'_>, about: String, number: usize, needs: bool) -> Option<Warning> {
    let plan = names.plan;
    let flow = &plan.flows[number];
    let path = path(plan, flow, number)?;
    let narrow = path.links.iter().min_by_key(|hop| hop.rate)?;
    let why = match flow.tcp().filter(|_| needs) {
        Some(tcp) => format!("its congestion control, {}, slows down by marks", algorithm(tcp)),
        None => "it asks for ECN".to_owned(),
    };
    let node = plan.links[narrow.link].ends[narrow.end].node;
    let help = match plan.nodes[node].kind {
        NodeKind::Emulator(_) => format!(
            "an emulator does not mark: put a router with a queue that does at {} in its place",
            narrow.at
        ),
        NodeKind::Switch(_) => format!("set `{}.ecn`", names.node_path(node)),
        _ => format!(
            "set `{}.queue` to one that does, such as {{ mark = {{ threshold = \"30 kB\" }} }}",
            names.end_path(narrow.link, narrow.end)
        ),
    };
    Some(Warning {
        kind: Kind::Unmarked,
        message: format!("`{about}`: {why}, but no queue on its path marks"),
        help,
        about,
    })
}

fn algorithm(tcp: &Tcp) -> &str {
    match &tcp.kernel_congestion {
        Some(name) => name,
        None => tcp.sender.congestion.algorithm().name(),
    }
}

fn for_nobody(names: &Groups<'_>, (link, end): (usize, usize)) -> Warning {
    let plan = names.plan;
    let sender = &plan.links[link].ends[end];
    let at = format!("{}:{}", plan.nodes[sender.node].name, plan.links[link].name);
    let (about, key) = match &plan.nodes[sender.node].kind {
        NodeKind::Switch(_) => {
            let path = names.node_path(sender.node);
            (path.clone(), format!("{path}.ecn"))
        }
        _ => {
            let path = format!("{}.queue.{}", names.end_path(link, end), sender.queue.name());
            let key =
                if sender.queue.name() == "mark" { path.clone() } else { format!("{path}.ecn") };
            (path, key)
        }
    };
    Warning {
        kind: Kind::Unmarked,
        message: format!("`{key}` marks at {at}, but no flow that passes there asks for ECN"),
        help: "set `tcp.segment.ecn = true` of a flow or host, or a congestion control that asks for it, \
               such as dctcp"
            .into(),
        about,
    }
}
