//! Checks that a switch's packet memory holds the reserve of its ports, and that both ends of a link agree on the
//! unit of pausing.

use network::switch;

use super::nodes::Nodes;
use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::plan::{Link, NodeKind, headrooms};
use crate::units::Units;

/// Reports switches with impossible settings.
pub(super) fn check(
    file: &Scenario,
    nodes: &Nodes<'_>,
    links: &[Link],
    written: Units,
    problems: &mut Problems,
) {
    for (name, table) in file.nodes().of("switch") {
        let Some(mut members) = nodes.names.get(&name.text).map(|members| members.range) else {
            continue;
        };
        let span = table.settings.span_of("buffer").unwrap_or(&name.span);
        let too_much = members.clone().find_map(|node| {
            let config = switch_at(nodes, node)?;
            config.shared(headrooms(node, links)).err().map(|own| (config, own))
        });
        if let Some((config, own)) = too_much {
            let (has, text) = (config.buffer, &name.text);
            let (needs, has) = (written.size(own), written.size(has));
            let message = format!("the ports of `{text}` reserve {needs}, but its buffer is {has}");
            let help = "increase `buffer`, or reduce `reserved` or the `lossless` priorities";
            problems.push(span, message, help);
        }
        let other = members.find_map(|node| disagreeing(nodes, node, links));
        if let Some(other) = other {
            let other = &nodes.list[other].name;
            let message =
                format!("`{}` and `{other}` pause each other with different frames", name.text);
            problems.push(&name.span, message, "set the same `pause` on both");
        }
    }
}

/// The switch with that number, if it is one.
fn switch_at<'n>(nodes: &'n Nodes<'_>, node: usize) -> Option<&'n switch::Config> {
    match &nodes.list.get(node)?.kind {
        NodeKind::Switch(config) => Some(config),
        _ => None,
    }
}

/// The switch with that number, if it pauses the far ends of its links.
fn pausing<'n>(nodes: &'n Nodes<'_>, node: usize) -> Option<&'n switch::Config> {
    switch_at(nodes, node).filter(|config| config.pauses())
}

/// A switch at the other end of one of a switch's links that uses other pause frames.
fn disagreeing(nodes: &Nodes<'_>, node: usize, links: &[Link]) -> Option<usize> {
    let config = pausing(nodes, node)?;
    links.iter().find_map(|link| {
        let near = link.ends.iter().position(|end| end.node == node)?;
        let far = link.ends[1 - near].node;
        pausing(nodes, far).filter(|far| far.pause != config.pause).map(|_| far)
    })
}
