//! Events: checks that a table's flows can be the sources of one event builder.

use base::{Distribution, Duration};

use super::network::{Ends, Network};
use crate::diagnostic::Problems;
use crate::file;
use crate::value::Name;

/// Reports several builders, and sources that do not start together, because their triggers would differ.
pub(super) fn check(
    name: &Name,
    table: &file::Flow,
    pairs: &[Ends],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<()> {
    if table.workloads().triggered().is_none() {
        return Some(());
    }
    let node = |end| network.node(end);
    if pairs.iter().any(|&[_, to]| node(to) != node(pairs[0][1])) {
        let message = format!("`{}` has several event builders", name.text);
        let help = "name one host, and use one flow per builder";
        problems.push(&table.to.span, message, help);
        return None;
    }
    let demand = table.demand();
    let read = demand.read(problems)?;
    let together = Distribution::Fixed(Duration::ZERO);
    if let Some(stagger) = demand.span_of("stagger").filter(|_| read.stagger != together) {
        let help = "remove it, and use `spread` to separate the sources in time";
        problems.push(stagger, "`stagger` and `events` are mutually exclusive", help);
        return None;
    }
    if let Some(start) = demand.span_of("start").filter(|_| !read.start.is_fixed()) {
        let help = "use a constant time: all sources share the triggers";
        problems.push(start, "a random `start` with events", help);
        return None;
    }
    Some(())
}
