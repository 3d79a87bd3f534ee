//! Links and the queues at their ends.

use network::trace::Trace;
use network::{impairment, link};
use traffic::{Bytes, Duration, Port, Rate, condition, qdisc};

use super::Directory;
use super::directory::{Members, member_name, pairs};
use super::filters::Entities;
use super::nodes::Nodes;
use super::{conditioners, impairments, queues};
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::joining::Joining;
use crate::plan::{End, Link, NodeKind, Wire};
use crate::value::{Count, Name, Quantity, RateUnit, SizeUnit, TraceUnit};

/// More than a fat tree of 8 192 hosts has.
const LINKS_MAX: usize = 65_536;
/// Ethernet's MTU.
const MTU: Bytes = Bytes(1_500);
/// What every IPv4 host must take (RFC 791), and IP's own limit.
const MTU_RANGE: std::ops::RangeInclusive<u64> = 576..=65_535;
/// Ethernet's preamble, start delimiter and least gap.
const OVERHEAD: Bytes = Bytes(traffic::packet::PREAMBLE_AND_GAP as u64);
/// Overheads of real links are tens of bytes.
const OVERHEAD_MAX: Bytes = Bytes(1_000_000);

/// Sixty times Ethernet's fastest (IEEE 802.3dj): what is faster is a unit mistaken.
const RATE_MAX: Rate = Rate::from_bits_per_second(100_000_000_000_000).unwrap();

/// The links and their names.
pub(super) struct Links<'f> {
    pub(super) list: Vec<Link>,
    pub(super) names: Directory<'f>,
}

/// A link's table, and what it joins.
pub(super) struct Laid<'f> {
    name: &'f Name,
    pub(super) table: &'f file::Link,
    config: link::Config,
    trace: Option<Trace>,
    /// The nodes at the two ends of each member.
    pub(super) ends: Vec<(usize, usize)>,
    /// Whether its members have numbers.
    counted: bool,
}

/// What is joined, before anything is known of queues.
pub(super) fn lay<'f>(
    file: &'f Scenario,
    nodes: &Nodes<'_>,
    problems: &mut Problems,
) -> Vec<Laid<'f>> {
    let tables = file.link.iter();
    tables.filter_map(|(name, table)| lay_one(name, table, nodes, problems)).collect()
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

fn lay_one<'f>(
    name: &'f Name,
    table: &'f file::Link,
    nodes: &Nodes<'_>,
    problems: &mut Problems,
) -> Option<Laid<'f>> {
    let config = config(name, table, problems);
    let [a, b] = &table.between;
    let (from, to) = (nodes.names.find(a, problems), nodes.names.find(b, problems));
    let ((config, trace), from, to) = (config?, from?, to?);
    let ends = match joining(table, problems)? {
        None => pairs([&from, &to], [a, b], problems)?,
        Some(joining) => joined(table, joining, [&from, &to], problems)?,
    };
    if ends.iter().any(|(from, to)| from == to) {
        let help = "a link joins two different nodes";
        problems.push(&b.span, format!("`{}` links `{}` to itself", name.text, b.text), help);
        return None;
    }
    Some(Laid { name, table, config, trace, ends, counted: from.counted || to.counted })
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
    let wire = match table.wire {
        None | Some(file::Wire::Time) => Wire::Time,
        Some(file::Wire::Frames) => Wire::Frames,
    };
    let given = impairments::resolve(&table.impairments.0, problems)?;
    let mut impairments = Vec::new();
    impairments::override_by(&mut impairments, &given);
    let gso = table.gso.unwrap_or(false);
    let members = links.names.add(name, count, problems)?;
    let first = links.list.len();
    for (index, (from, to)) in ends.into_iter().enumerate() {
        let name = member_name(&name.text, members.counted, index);
        let end = |node| {
            let (queue, trace, impairments) = (queue.clone(), trace.clone(), impairments.clone());
            let link::Config { rate, delay, .. } = config;
            let (device_buffer, conditioner) = (Bytes(0), None);
            End { node, queue, rate, trace, delay, device_buffer, conditioner, impairments }
        };
        let ends = [from, to].map(end);
        links.list.push(Link { name, config, wire, gso, ends });
    }
    for (node, end) in table.at.iter() {
        let Some(at) = nodes.names.find(node, problems) else { continue };
        let Some(own) = own(node, end, port, entities, problems) else { continue };
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

/// How the table joins two counted ends, if not by number.
fn joining(table: &file::Link, problems: &mut Problems) -> Option<Option<Joining>> {
    let number = |count: &Count| usize::try_from(count.value).unwrap_or(usize::MAX);
    match (&table.groups, &table.planes) {
        (None, None) => Some(None),
        (Some(groups), None) => Some(Some(Joining::Groups(number(groups)))),
        (None, Some(planes)) => Some(Some(Joining::Planes(number(planes)))),
        (Some(_), Some(planes)) => {
            problems.push(&planes.span, "`planes` beside `groups`", "leave out one of them");
            None
        }
    }
}

/// The pairs of nodes that are joined, in equal parts of both ends.
fn joined(
    table: &file::Link,
    joining: Joining,
    [from, to]: [&Members; 2],
    problems: &mut Problems,
) -> Option<Vec<(usize, usize)>> {
    let span = table.groups.as_ref().or(table.planes.as_ref()).map(|count| count.span.clone());
    let span = span.unwrap_or_default();
    let [a, b] = [from, to].map(|members| members.range.len());
    match joining.count([a, b]) {
        Some(count) if count <= LINKS_MAX => {
            Some(joining.pairs(from.range.clone(), to.range.clone()).collect())
        }
        Some(count) => {
            let help = format!("leave at most {LINKS_MAX}, with more parts or fewer nodes");
            problems.push(&span, format!("these are {count} links"), help);
            None
        }
        None => {
            let [one, other] = [&table.between[0].text, &table.between[1].text];
            let message =
                format!("`{one}` are {a} and `{other}` {b}: they have no so many equal parts");
            problems.push(&span, message, "give a number that divides both counts");
            None
        }
    }
}

/// What an end has of its own.
struct Own {
    queue: Option<qdisc::Parameters>,
    line: Option<Line>,
    delay: Option<Duration>,
    device_buffer: Option<Bytes>,
    conditioner: Option<condition::Parameters>,
    impairments: Vec<impairment::Parameters>,
}

/// `None` if any of it is faulty.
fn own(
    node: &Name,
    end: &file::LinkEnd,
    port: Port,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Own> {
    let own_line = line(end.rate.as_ref(), end.trace.as_ref(), port.overhead, problems)?;
    let delay = end.delay.as_ref().map(|delay| delay.read(problems));
    let own_rate = own_line.as_ref().map_or(port.rate, |line| line.rate);
    let port = Port { rate: own_rate, ..port };
    let queue = end.queue.as_ref().map(|own| queues::resolve(Some(own), port, entities, problems));
    let device_buffer = end.device_buffer.as_ref().map(|buffer| buffer.read(problems));
    let table = end.conditioner.as_ref();
    let conditioner = table.map(|own| conditioners::resolve(node, own, entities, problems));
    let impairments = impairments::resolve(&end.impairments.0, problems);
    Some(Own {
        queue: settled(queue)?,
        line: own_line,
        delay: settled(delay)?,
        device_buffer: settled(device_buffer)?,
        conditioner: settled(conditioner)?,
        impairments: impairments?,
    })
}

/// `None` if what is given is faulty.
fn settled<T>(given: Option<Option<T>>) -> Option<Option<T>> {
    given.map_or(Some(None), |read| read.map(Some))
}

/// Gives the ends at `at` what is their own; false if there are none.
fn override_end(links: &mut [Link], at: &Members, own: &Own) -> bool {
    let mut found = false;
    for end in links.iter_mut().flat_map(|link| &mut link.ends) {
        if at.range.contains(&end.node) {
            if let Some(queue) = &own.queue {
                end.queue = queue.clone();
            }
            if let Some(Line { rate, trace }) = &own.line {
                (end.rate, end.trace) = (*rate, trace.clone());
            }
            end.delay = own.delay.unwrap_or(end.delay);
            end.device_buffer = own.device_buffer.unwrap_or(end.device_buffer);
            if own.conditioner.is_some() {
                end.conditioner.clone_from(&own.conditioner);
            }
            impairments::override_by(&mut end.impairments, &own.impairments);
            found = true;
        }
    }
    found
}

/// The rate of a link, an emulator or a source; a complaint if nothing is as fast.
pub(crate) fn rate(quantity: &Quantity<RateUnit>, problems: &mut Problems) -> Option<Rate> {
    let rate = quantity.read(problems)?;
    if rate > RATE_MAX {
        let help = "look at its unit: the fastest is 100 Tbit/s";
        problems.push(&quantity.span, format!("no link has a rate of {rate}"), help);
        return None;
    }
    Some(rate)
}

/// The rate of a wire, and what it follows if it varies.
struct Line {
    rate: Rate,
    trace: Option<Trace>,
}

/// An emulator has a rate of its own, which follows nothing.
fn check_traces(between: &[Name; 2], links: &[Link], nodes: &Nodes<'_>, problems: &mut Problems) {
    for (end, name) in between.iter().enumerate() {
        let emulates = |end: &End| matches!(nodes.list[end.node].kind, NodeKind::Emulator(_));
        if links.iter().any(|link| link.ends[end].trace.is_some() && emulates(&link.ends[end])) {
            let message =
                format!("what `{}` sends follows its own rate, and no `trace`", name.text);
            problems.push(
                &name.span,
                message,
                "put a router there, or give the other end the trace",
            );
        }
    }
}

/// What is given of a wire's rate, if anything is; the outer `None` if it is faulty.
fn line(
    given: Option<&Quantity<RateUnit>>,
    trace: Option<&Quantity<TraceUnit>>,
    overhead: Bytes,
    problems: &mut Problems,
) -> Option<Option<Line>> {
    match (given, trace) {
        (None, None) => Some(None),
        (Some(given), None) => Some(Some(Line { rate: rate(given, problems)?, trace: None })),
        (None, Some(trace)) => {
            let trace = trace.read(problems)?;
            Some(Some(Line { rate: trace.mean(overhead), trace: Some(trace) }))
        }
        (Some(_), Some(trace)) => {
            problems.push(&trace.span, "`trace` beside `rate`", "leave out one of them");
            None
        }
    }
}

/// What a link is in both directions, and the trace that its rate follows.
fn config(
    name: &Name,
    table: &file::Link,
    problems: &mut Problems,
) -> Option<(link::Config, Option<Trace>)> {
    let delay = match &table.delay {
        Some(quantity) => quantity.read(problems),
        None => Some(Duration::ZERO),
    };
    let within = |bytes: Bytes| MTU_RANGE.contains(&bytes.0);
    let mtu = size(table.mtu.as_ref(), MTU, within, "an MTU is 576 B to 65535 B", problems);
    let within = |bytes: Bytes| bytes <= OVERHEAD_MAX;
    let help = "an overhead is 0 B to 1 MB; Ethernet's is 20 B";
    let overhead = size(table.overhead.as_ref(), OVERHEAD, within, help, problems);
    let usual = overhead.unwrap_or(OVERHEAD);
    let line = line(table.rate.as_ref(), table.trace.as_ref(), usual, problems)?;
    let Some(Line { rate, trace }) = line else {
        let message = format!("link `{}` has no rate", name.text);
        problems.push(&name.span, message, "add `rate = \"1 Gbit/s\"`, or a `trace`");
        return None;
    };
    Some((link::Config { rate, delay: delay?, mtu: mtu?, overhead: overhead? }, trace))
}

fn size(
    quantity: Option<&Quantity<SizeUnit>>,
    default: Bytes,
    within: impl Fn(Bytes) -> bool,
    help: &str,
    problems: &mut Problems,
) -> Option<Bytes> {
    let Some(quantity) = quantity else { return Some(default) };
    let bytes = quantity.read(problems)?;
    if !within(bytes) {
        problems.push(&quantity.span, format!("{bytes} is out of range"), help);
        return None;
    }
    Some(bytes)
}
