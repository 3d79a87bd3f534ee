//! Links and the queues at their ends.

use base::Rate;
use base::setting::{Settings, Value};
use network::link::{Direction, RATE_MAX};
use network::trace::Trace;
use network::{impairment, link};
use traffic::{Port, condition, qdisc};

use super::Directory;
use super::directory::{Members, member_name};
use super::filters::Entities;
use super::laid::{LINKS_MAX, Laid, RATE, trace};
use super::nodes::Nodes;
use super::{conditioners, impairments, queues};
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::plan::{End, Link, NodeKind};
use crate::value::{Name, Quantity, RateUnit};

/// The links and their names.
pub(super) struct Links<'f> {
    pub(super) list: Vec<Link>,
    pub(super) names: Directory<'f>,
}

pub(super) fn resolve<'f>(
    file: &'f Scenario,
    laid: Vec<Laid<'f>>,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Links<'f> {
    let mut links = Links { list: Vec::new(), names: Directory::new("link", LINKS_MAX) };
    file.link.iter().for_each(|(name, _)| links.names.mention(name));
    for laid in laid {
        add(&mut links, laid, entities, problems);
    }
    links
}

fn add<'f>(
    links: &mut Links<'f>,
    Laid { name, table, config, trace, ends, counted }: Laid<'f>,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<()> {
    let nodes = entities.nodes;
    let [a, b] = &table.between;
    let count = counted.then_some(ends.len());
    let port = Port { rate: config.rate, mtu: config.mtu, overhead: config.overhead, seed: 0 };
    let queue = queues::resolve(table.queue.as_ref(), port, entities, problems)?;
    let lab = table.settings.lab.read(problems)?;
    let given = impairments::resolve(&table.settings.impairments.0, problems)?;
    let mut impairments = Vec::new();
    impairments::override_by(&mut impairments, &given);
    let members = links.names.add(name, count, problems)?;
    let first = links.list.len();
    for (index, (from, to)) in ends.into_iter().enumerate() {
        let name = member_name(&name.text, members.counted, index);
        let end = |node: usize| {
            let (trace, impairments) = (trace.clone(), impairments.clone());
            let usual = usual(nodes, node, [from, to]).filter(|_| table.queue.is_none());
            let queue = usual.unwrap_or_else(|| queue.clone());
            let direction = Direction::from(&config);
            let conditioner = nodes.list[node].kind.conditioner();
            End { node, queue, direction, trace, conditioner, impairments }
        };
        let ends = [from, to].map(end);
        links.list.push(Link { name, config, lab, ends });
    }
    for (node, end) in table.at.iter() {
        let Some(at) = nodes.names.find(node, problems) else { continue };
        let Some(own) = own(node, end, &config, entities, problems) else { continue };
        if !override_end(&mut links.list[first..], &at, &own) {
            let help = format!("the ends are `{}` and `{}`", a.text, b.text);
            let message = format!("`{}` is not an end of this link", node.text);
            problems.push(&node.span, message, help);
        }
    }
    check_traces(&table.between, &links.list[first..], nodes, problems);
    for end in links.list[first..].iter_mut().flat_map(|link| &mut link.ends) {
        end.impairments.retain(|own| !own.is_idle());
    }
    Some(())
}

/// The default discipline at the end of a link at `node`, one of the two, as a switch determines it.
fn usual(nodes: &Nodes<'_>, node: usize, [from, to]: [usize; 2]) -> Option<qdisc::Parameters> {
    let far = if node == from { to } else { from };
    match (&nodes.list[node].kind, &nodes.list[far].kind) {
        (NodeKind::Switch(switch), _) => Some(switch.queue()),
        (NodeKind::Emulator(_), _) => None,
        (_, NodeKind::Switch(switch)) => Some(switch.far_queue()),
        _ => None,
    }
}

/// The settings of a single end.
struct Own {
    settings: Vec<(&'static str, Value)>,
    queue: Option<qdisc::Parameters>,
    trace: Option<Trace>,
    conditioner: Option<condition::Parameters>,
    impairments: Vec<impairment::Parameters>,
}

/// Reads the settings of a single end; `None` if any is faulty.
fn own(
    node: &Name,
    end: &file::LinkEnd,
    link: &link::Config,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Own> {
    let declared = &end.settings.direction;
    let mut settings = declared.values(problems)?;
    let trace = trace(declared, end.trace.as_ref(), problems)?;
    if let Some(trace) = &trace {
        settings.push((RATE, Value::Rate(trace.mean(link.overhead))));
    }
    let mut direction = Direction::from(link);
    apply(&settings, &mut direction);
    let port = Port { rate: direction.rate, mtu: link.mtu, overhead: link.overhead, seed: 0 };
    let queue = end.queue.as_ref().map(|own| queues::resolve(Some(own), port, entities, problems));
    let table = end.conditioner.as_ref();
    if table.is_some() && conditions(node, entities.nodes) {
        let message = format!("`{}` conditions what arrives at its ports itself", node.text);
        problems.push(&node.span, message, "remove `conditioner`, or put a router there");
        return None;
    }
    let conditioner = table.map(|own| conditioners::resolve(node, own, entities, problems));
    let impairments = impairments::resolve(&end.settings.impairments.0, problems);
    let (queue, conditioner) = (settled(queue)?, settled(conditioner)?);
    Some(Own { settings, queue, trace, conditioner, impairments: impairments? })
}

/// Whether the named node's kind has a conditioner at each port.
fn conditions(name: &Name, nodes: &Nodes<'_>) -> bool {
    let members = nodes.names.get(&name.text).and_then(|members| nodes.list.get(members.range));
    members.into_iter().flatten().any(|node| node.kind.conditioner().is_some())
}

fn apply(settings: &[(&'static str, Value)], direction: &mut Direction) {
    for (name, value) in settings {
        direction.set(name, value.clone());
    }
}

/// The given value, if any; `None` if it is faulty.
fn settled<T>(given: Option<Option<T>>) -> Option<Option<T>> {
    given.map_or(Some(None), |read| read.map(Some))
}

/// Applies the settings of single ends at `at`; false if there are none.
fn override_end(links: &mut [Link], at: &Members, own: &Own) -> bool {
    let mut found = false;
    for end in links.iter_mut().flat_map(|link| &mut link.ends) {
        if at.range.contains(&end.node) {
            if let Some(queue) = &own.queue {
                end.queue = queue.clone();
            }
            apply(&own.settings, &mut end.direction);
            if own.settings.iter().any(|(name, _)| *name == RATE) {
                end.trace.clone_from(&own.trace);
            }
            if own.conditioner.is_some() {
                end.conditioner.clone_from(&own.conditioner);
            }
            impairments::override_by(&mut end.impairments, &own.impairments);
            found = true;
        }
    }
    found
}

/// The rate of a link or a source; reports one above the maximum.
pub(crate) fn rate(quantity: &Quantity<RateUnit>, problems: &mut Problems) -> Option<Rate> {
    let rate = quantity.read(problems)?;
    if rate > RATE_MAX {
        let help = "check its unit: the maximum is 100 Tbit/s";
        problems.push(&quantity.span, format!("the link rate {rate} is too high"), help);
        return None;
    }
    Some(rate)
}

/// An emulator sends at its own rate, without a trace.
fn check_traces(between: &[Name; 2], links: &[Link], nodes: &Nodes<'_>, problems: &mut Problems) {
    for (end, name) in between.iter().enumerate() {
        let emulates = |end: &End| matches!(nodes.list[end.node].kind, NodeKind::Emulator(_));
        if links.iter().any(|link| link.ends[end].trace.is_some() && emulates(&link.ends[end])) {
            let message = format!("`{}` sends at its own rate and ignores `trace`", name.text);
            problems.push(
                &name.span,
                message,
                "put a router there, or give the other end the trace",
            );
        }
    }
}
