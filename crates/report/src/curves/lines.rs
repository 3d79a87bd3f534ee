//! The lines in a chart of flows: one for each flow while they are few enough to distinguish, else one for all flows
//! of a `count`.

use scenario::Plan;

use super::TOGETHER;
use measured::group_of;

/// The most lines in a chart of groups of flows.
const LINES_MAX: usize = 12;

/// One line: a flow, or the flows of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its name in the legend.
    pub(super) name: String,
    /// Its flows, by their places in the plan.
    pub(super) flows: Vec<usize>,
}

/// A line for each flow, or for each group where there are too many flows.
pub(super) fn of(plan: &Plan) -> Vec<Line> {
    if plan.flows.len() > TOGETHER {
        let mut groups = groups(plan);
        groups.truncate(LINES_MAX);
        return groups;
    }
    let line = |(place, flow): (usize, &scenario::plan::Flow)| Line {
        name: flow.name.clone(),
        flows: vec![place],
    };
    plan.flows.iter().enumerate().map(line).collect()
}

/// A sentence about the groups that [`of`] leaves out, with a space before it; empty if it has all.
pub(super) fn left_out(plan: &Plan) -> String {
    let all = if plan.flows.len() > TOGETHER { groups(plan).len() } else { 0 };
    match all > LINES_MAX {
        true => format!(" The first {LINES_MAX} of {all} groups are drawn."),
        false => String::new(),
    }
}

/// The flows of each count together, and every other flow by itself, in the order of the plan.
pub(super) fn groups(plan: &Plan) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (place, flow) in plan.flows.iter().enumerate() {
        let name = group_of(&flow.name).unwrap_or(&flow.name);
        // The flows of a count share one line.
        match lines.last_mut().filter(|line| line.name == name) {
            Some(line) => line.flows.push(place),
            None => lines.push(Line { name: name.to_owned(), flows: vec![place] }),
        }
    }
    for line in &mut lines {
        if line.flows.len() > 1 {
            line.name = format!("{} ({} flows)", line.name, line.flows.len());
        }
    }
    lines
}

/// Returns the flows that represent all in a chart of values that cannot be added up: at least one of each line, and
/// more while there is room. In the order of the plan.
pub(super) fn examples(plan: &Plan, fits: impl Fn(usize) -> bool) -> Vec<usize> {
    let groups = groups(plan);
    let firsts = groups.iter().filter_map(|line| line.flows.iter().find(|&&flow| fits(flow)));
    let mut chosen: Vec<usize> = firsts.copied().take(LINES_MAX).collect();
    let others = (0..plan.flows.len()).filter(|&flow| fits(flow));
    for flow in others {
        if chosen.len() >= TOGETHER {
            break;
        }
        if !chosen.contains(&flow) {
            chosen.push(flow);
        }
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(web: usize, bulk: usize) -> Plan {
        let text = format!(
            "duration = \"1 s\"\n[host.a]\n[host.b]\n\
             [link.l]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             [flow.web]\nfrom = \"a\"\nto = \"b\"\ncount = {web}\n\
             [flow.bulk]\nfrom = \"a\"\nto = \"b\"\ncount = {bulk}\n\
             [flow.last]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let document = scenario::Document::parse("lines.toml", &text).expect("it parses");
        document.plan().expect("it is a scenario")
    }

    fn names(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.name.as_str()).collect()
    }

    #[test]
    fn many_flows_are_drawn_by_group() {
        assert_eq!(
            names(&of(&plan(2, 3))),
            ["web.1", "web.2", "bulk.1", "bulk.2", "bulk.3", "last"]
        );
        let lines = of(&plan(90, 30));
        assert_eq!(names(&lines), ["web (90 flows)", "bulk (30 flows)", "last"]);
        assert_eq!(lines[1].flows, (90..120).collect::<Vec<_>>());
    }

    #[test]
    fn every_group_has_an_example() {
        assert_eq!(examples(&plan(90, 30), |_| true), [0, 1, 2, 3, 90, 120]);
        assert_eq!(examples(&plan(90, 30), |flow| flow != 120), [0, 1, 2, 3, 4, 90]);
        assert_eq!(examples(&plan(1, 2), |_| true), [0, 1, 2, 3]);
    }
}
