//! Counted flows, links and nodes that are too many for a table to have a column for each number of each member.

use std::collections::{BTreeMap, BTreeSet};

use measured::group_of;
use scenario::Plan;

use crate::sweep::point::Point;

/// The members that a `count` may have for each to have columns.
const MEMBERS_MAX: usize = 8;

/// The names of all that is counted beyond [`MEMBERS_MAX`], as paths of the summary: `flow.bulk`.
#[derive(Debug, Default)]
pub(super) struct Crowds(BTreeSet<String>);

impl Crowds {
    /// Those of any of the runs.
    pub(super) fn of(points: &[Point]) -> Self {
        Self(points.iter().flat_map(|point| crowds(&point.job.plan)).collect())
    }

    /// The member that a path of the summary is of, if it is one of many: `flow.bulk.7` of `flow.bulk.7.goodput`.
    pub(super) fn holds<'p>(&self, path: &'p str) -> Option<&'p str> {
        let dots = path.match_indices('.').map(|(place, _)| place);
        let mut ends = dots.chain([path.len()]).skip(1);
        ends.find_map(|end| {
            let crowd = group_of(&path[..end])?;
            self.0.contains(crowd).then_some(&path[..end])
        })
    }
}

fn crowds(plan: &Plan) -> impl Iterator<Item = String> {
    let flows = plan.flows.iter().map(|flow| ("flow", flow.name.as_str()));
    let links = plan.links.iter().map(|link| ("link", link.name.as_str()));
    let nodes = plan.nodes.iter().map(|node| node.name.as_str());
    // The summary has what an emulator sends beside what a node drops.
    let nodes = nodes.flat_map(|name| [("node", name), ("emulator", name)]);
    let mut members: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (entity, name) in flows.chain(links).chain(nodes) {
        if let Some(crowd) = group_of(name) {
            *members.entry((entity, crowd)).or_default() += 1;
        }
    }
    let many = members.into_iter().filter(|(_, count)| *count > MEMBERS_MAX);
    many.map(|((entity, crowd), _)| format!("{entity}.{crowd}")).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_member() {
        let crowds = Crowds(["flow.bulk".to_owned(), "link.a.b".into()].into());
        assert_eq!(crowds.holds("flow.bulk.7.goodput"), Some("flow.bulk.7"));
        assert_eq!(crowds.holds("link.a.b.12.forward.class.x.1.drops"), Some("link.a.b.12"));
        assert_eq!(crowds.holds("group.bulk.goodput"), None);
        assert_eq!(crowds.holds("flow.solo.goodput"), None);
        assert_eq!(crowds.holds("flow.bulk.completion.seconds"), None);
    }
}
