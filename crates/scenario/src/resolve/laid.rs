//! Links with the nodes that they join, before their queues are known.

use network::link;
use network::trace::Trace;

use super::directory::{Members, pairs};
use super::nodes::Nodes;
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::joining::Joining;
use crate::setting::{Declared, Named};
use crate::value::{Count, Name, Quantity, TraceUnit};

/// The setting that a trace replaces.
pub(super) const RATE: &str = "rate";
/// The maximum number of links, above that of a fat tree of switches with 96 ports.
pub(super) const LINKS_MAX: usize = 1 << 20;

/// A link's table, with the nodes it joins.
pub(super) struct Laid<'f> {
    pub(super) name: &'f Name,
    pub(super) table: &'f file::Link,
    pub(super) config: link::Config,
    pub(super) trace: Option<Trace>,
    /// The nodes at the two ends of each member.
    pub(super) ends: Vec<(usize, usize)>,
    /// Whether its members have numbers.
    pub(super) counted: bool,
}

/// Resolves the joined nodes, before queues are known.
pub(super) fn lay<'f>(
    file: &'f Scenario,
    nodes: &Nodes<'_>,
    problems: &mut Problems,
) -> Vec<Laid<'f>> {
    let tables = file.link.iter();
    tables.filter_map(|(name, table)| lay_one(name, table, nodes, problems)).collect()
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

/// The joining of two counted ends, if not by number.
fn joining(table: &file::Link, problems: &mut Problems) -> Option<Option<Joining>> {
    let number = |count: &Count| usize::try_from(count.value).unwrap_or(usize::MAX);
    match (&table.groups, &table.planes) {
        (None, None) => Some(None),
        (Some(groups), None) => Some(Some(Joining::Groups(number(groups)))),
        (None, Some(planes)) => Some(Some(Joining::Planes(number(planes)))),
        (Some(_), Some(planes)) => {
            problems.push(
                &planes.span,
                "`planes` and `groups` are mutually exclusive",
                "remove one of them",
            );
            None
        }
    }
}

/// The pairs of joined nodes, in equal parts of both ends.
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
            let help =
                format!("reduce them to at most {LINKS_MAX}, with more parts or fewer nodes");
            problems.push(&span, format!("this makes {count} links"), help);
            None
        }
        None => {
            let [one, other] = [&table.between[0].text, &table.between[1].text];
            let message = format!(
                "`{one}` has {a} members and `{other}` has {b}: they cannot be split into that many equal parts"
            );
            problems.push(&span, message, "use a number that divides both counts");
            None
        }
    }
}

/// The settings of a link in both directions, and the trace of its rate.
fn config(
    name: &Name,
    table: &file::Link,
    problems: &mut Problems,
) -> Option<(link::Config, Option<Trace>)> {
    let settings = &table.settings.link;
    let config = settings.read(problems);
    let trace = trace(settings, table.trace.as_ref(), problems)?;
    if trace.is_none() && settings.span_of(RATE).is_none() {
        let message = format!("link `{}` has no rate", name.text);
        problems.push(&name.span, message, "add `rate = \"1 Gbit/s\"`, or a `trace`");
        return None;
    }
    let mut config = config?;
    if let Some(trace) = &trace {
        config.rate = trace.mean(config.overhead);
    }
    Some((config, trace))
}

/// The trace of a link's rate, if it varies; the outer `None` if it is faulty.
pub(super) fn trace<T: Named>(
    settings: &Declared<T>,
    given: Option<&Quantity<TraceUnit>>,
    problems: &mut Problems,
) -> Option<Option<Trace>> {
    let Some(trace) = given else { return Some(None) };
    if settings.span_of(RATE).is_some() {
        problems.push(
            &trace.span,
            "`trace` and `rate` are mutually exclusive",
            "remove one of them",
        );
        return None;
    }
    trace.read(problems).map(Some)
}
