//! Which quantities of a summary are compared: what a person would look at first, by the paths that a
//! scenario's `[compare]` and `[expect]` use.

use serde_json::Value;

const RUN: [&str; 6] = ["goodput", "fairness", "drops", "loss", "retransmissions", "timeouts"];
const FLOW: [&str; 9] = [
    "goodput",
    "goodput_last_half",
    "bytes",
    "drops",
    "retransmissions",
    "timeouts",
    "min_rtt",
    "delay_mean",
    "delay_max",
];
const LINK: [&str; 4] = ["utilisation", "queue_max", "sojourn_p50", "sojourn_p99"];
const CLASS: [&str; 2] = ["rate", "drops"];
const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

/// The paths in the order of the summary; not all of them need be measured. Flows that a `count` made
/// stand together under its name, unless `all` are asked for.
pub(super) fn paths(summary: &Value, all: bool) -> Vec<String> {
    let mut paths = under("run", &RUN);
    let groups = names(&summary["group"]);
    for group in &groups {
        paths.extend(under(&format!("flow.{group}"), &FLOW));
    }
    let single = |flow: &&str| {
        all || flow.rsplit_once('.').is_none_or(|(group, _)| !groups.contains(&group))
    };
    for flow in names(&summary["flow"]).into_iter().filter(single) {
        paths.extend(under(&format!("flow.{flow}"), &FLOW));
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
    let mut paths = under(&format!("link.{name}"), &LINK);
    let mut classes = Vec::new();
    for direction in DIRECTIONS {
        let reasons = names(&link[direction]["drops_by_reason"]);
        paths.extend(under(&format!("link.{name}.{direction}.drops_by_reason"), &reasons));
        classes.extend(names(&link[direction]["class"]));
    }
    for (place, class) in classes.iter().enumerate() {
        if !classes[..place].contains(class) {
            paths.extend(under(&format!("link.{name}.class.{class}"), &CLASS));
        }
    }
    paths
}

fn under(entity: &str, quantities: &[&str]) -> Vec<String> {
    quantities.iter().map(|quantity| format!("{entity}.{quantity}")).collect()
}

fn names(table: &Value) -> Vec<&str> {
    table.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}
