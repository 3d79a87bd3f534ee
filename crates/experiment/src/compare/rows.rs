//! The quantities of a summary that are compared by default: the most informative ones, by the paths that a
//! scenario's `[compare]` and `[expect]` use.

use measured::{Entity, group_of};
use serde_json::Value;

const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

/// The paths in the order of the summary; not all of them need be measured. Flows made by a `count` are grouped
/// under its name, unless `all` is set.
pub(super) fn paths(summary: &Value, all: bool) -> Vec<String> {
    let mut paths = shown("run", Entity::Run);
    let groups = names(&summary["group"]);
    for group in &groups {
        let (at, before) = (format!("flow.{group}"), paths.len());
        paths.extend(shown(&at, Entity::Flow));
        let own = shown(&at, Entity::Group).into_iter();
        let own: Vec<_> = own.filter(|path| !paths[before..].contains(path)).collect();
        paths.extend(own);
    }
    let single = |flow: &&str| all || group_of(flow).is_none_or(|group| !groups.contains(&group));
    for flow in names(&summary["flow"]).into_iter().filter(single) {
        paths.extend(shown(&format!("flow.{flow}"), Entity::Flow));
    }
    for link in names(&summary["link"]) {
        paths.extend(of_link(link, &summary["link"][link]));
    }
    for node in names(&summary["node"]) {
        let reasons = names(&summary["node"][node]["drops_by_reason"]);
        paths.extend(under(&format!("node.{node}.drops_by_reason"), &reasons));
    }
    paths
}

fn of_link(name: &str, link: &Value) -> Vec<String> {
    let mut paths = shown(&format!("link.{name}"), Entity::Link);
    let mut classes = Vec::new();
    for direction in DIRECTIONS {
        let reasons = names(&link[direction]["drops_by_reason"]);
        paths.extend(under(&format!("link.{name}.{direction}.drops_by_reason"), &reasons));
        classes.extend(names(&link[direction]["class"]));
    }
    for (place, class) in classes.iter().enumerate() {
        if !classes[..place].contains(class) {
            paths.extend(shown(&format!("link.{name}.class.{class}"), Entity::Class));
        }
    }
    paths
}

/// The quantities of an entity that are shown.
fn shown(at: &str, entity: Entity) -> Vec<String> {
    entity.compared().map(|quantity| format!("{at}.{quantity}")).collect()
}

fn under(entity: &str, quantities: &[&str]) -> Vec<String> {
    quantities.iter().map(|quantity| format!("{entity}.{quantity}")).collect()
}

pub(super) fn names(table: &Value) -> Vec<&str> {
    table.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}
