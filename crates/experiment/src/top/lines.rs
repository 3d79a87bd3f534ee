//! Ports with their classes as a tree of lines, and flows, in the requested order.

use std::collections::{BTreeMap, BTreeSet};

use crate::statistics::{Class, Counts, Flow, Notifications, Pauses, Port, Statistics};

/// The order of siblings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The scenario's order.
    #[default]
    Scenario,
    /// The highest rate first.
    Rate,
    /// The longest queue first; the largest window for flows.
    Backlog,
    /// The most drops first; the most retransmissions for flows.
    Drops,
}

impl Sort {
    /// The next order.
    pub const fn next(self) -> Self {
        match self {
            Self::Scenario => Self::Rate,
            Self::Rate => Self::Backlog,
            Self::Backlog => Self::Drops,
            Self::Drops => Self::Scenario,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scenario => "scenario",
            Self::Rate => "rate",
            Self::Backlog => "backlog",
            Self::Drops => "drops",
        }
    }

    /// The sort key; the greatest comes first.
    fn of_counts(self, counts: &Counts) -> f64 {
        match self {
            Self::Scenario => 0.0,
            Self::Rate => counts.rate.unwrap_or(0.0),
            Self::Backlog => counts.backlog_bytes.unwrap_or(0) as f64,
            Self::Drops => counts.drop_rate.unwrap_or(0.0),
        }
    }

    fn of_flow(self, flow: &Flow) -> f64 {
        match self {
            Self::Scenario => 0.0,
            Self::Rate => flow.rate.unwrap_or(0.0),
            Self::Backlog => flow.cwnd_packets.unwrap_or(0) as f64,
            Self::Drops => flow.retransmission_rate.unwrap_or(0.0),
        }
    }
}

/// A port or a class.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// The port.
    pub port: &'a str,
    /// The class; empty for the port itself.
    pub class: &'a str,
    /// Depth below the port.
    pub depth: usize,
    /// The configured rate; the link rate if a port has none.
    pub promised: Option<f64>,
    /// The link rate.
    pub line_rate: Option<f64>,
    /// The port's discipline.
    pub discipline: &'a str,
    /// The counters.
    pub counts: &'a Counts,
    /// The port's pauses; none for a class.
    pub pauses: Option<&'a Pauses>,
    /// The port's congestion notifications; none for a class.
    pub notifications: Option<&'a Notifications>,
}

impl Line<'_> {
    /// Its name, indented by its depth.
    pub fn name(&self) -> String {
        match self.class {
            "" if self.discipline.is_empty() => self.port.to_owned(),
            "" => format!("{} {}", self.port, self.discipline),
            class => format!("{:depth$}{class}", "", depth = 2 * self.depth),
        }
    }
}

/// Whether a port or a class has sent gap frames.
pub fn have_gaps(now: &Statistics) -> bool {
    have(now, |counts| counts.gap_bytes > Some(0))
}

/// Whether the delay of a port or a class is known.
pub fn have_delays(now: &Statistics) -> bool {
    have(now, |counts| counts.delay_seconds.is_some())
}

fn have(now: &Statistics, has: fn(&Counts) -> bool) -> bool {
    now.port.0.iter().any(|(_, port)| {
        has(&port.counts) || port.class.0.iter().any(|(_, class)| has(&class.counts))
    })
}

/// The ports in their order.
pub fn ports(now: &Statistics, sort: Sort) -> Vec<(&str, &Port)> {
    let mut ports: Vec<_> = now.port.0.iter().map(|(name, port)| (name.as_str(), port)).collect();
    ports.sort_by(|(_, a), (_, b)| sort.of_counts(&b.counts).total_cmp(&sort.of_counts(&a.counts)));
    ports
}

/// The flows in their order.
pub fn flows(now: &Statistics, sort: Sort) -> Vec<(&str, &Flow)> {
    let mut flows: Vec<_> = now.flow.0.iter().map(|(name, flow)| (name.as_str(), flow)).collect();
    flows.sort_by(|(_, a), (_, b)| sort.of_flow(b).total_cmp(&sort.of_flow(a)));
    flows
}

/// A port, and its classes below it.
pub fn tree<'a>(name: &'a str, port: &'a Port, sort: Sort) -> Vec<Line<'a>> {
    let root = Line {
        port: name,
        class: "",
        depth: 0,
        promised: port.promised_rate.or(port.line_rate),
        line_rate: port.line_rate,
        discipline: &port.discipline,
        counts: &port.counts,
        pauses: port.pauses.as_ref(),
        notifications: port.notifications.as_ref(),
    };
    let known: BTreeSet<&str> = port.class.0.iter().map(|(name, _)| name.as_str()).collect();
    let mut within: Within<'a> = BTreeMap::new();
    for (name, class) in &port.class.0 {
        let parent = class.parent.as_deref().filter(|parent| known.contains(parent));
        within.entry(parent.unwrap_or_default()).or_default().push((name, class));
    }
    for classes in within.values_mut() {
        let key = |(_, class): &(&str, &Class)| sort.of_counts(&class.counts);
        classes.sort_by(|a, b| key(b).total_cmp(&key(a)));
    }
    let mut lines = vec![root.clone()];
    below(&root, &mut within, &mut lines);
    lines
}

/// The children of each class; those of the port itself have an empty name.
type Within<'a> = BTreeMap<&'a str, Vec<(&'a str, &'a Class)>>;

/// Adds each class once; classes in a cycle are left out.
fn below<'a>(above: &Line<'a>, within: &mut Within<'a>, lines: &mut Vec<Line<'a>>) {
    for (name, class) in within.remove(above.class).unwrap_or_default() {
        let line = Line {
            class: name,
            depth: above.depth + 1,
            promised: class.promised_rate,
            counts: &class.counts,
            pauses: None,
            notifications: None,
            ..above.clone()
        };
        lines.push(line.clone());
        below(&line, within, lines);
    }
}

#[cfg(test)]
mod tests {
    use record::summary::Named;

    use super::*;

    fn class(name: &str, parent: Option<&str>, rate: f64) -> (String, Class) {
        let counts = Counts { rate: Some(rate), ..Counts::default() };
        let parent = parent.map(Into::into);
        (name.into(), Class { parent, counts, ..Class::default() })
    }

    #[test]
    fn classes_are_a_tree_in_the_order_asked_for() {
        let port = Port {
            class: Named(vec![
                class("a", None, 1.0),
                class("b", None, 3.0),
                class("a1", Some("a"), 0.25),
                class("a2", Some("a"), 0.75),
                class("stray", Some("unknown"), 2.0),
                // A cycle: both are left out.
                class("x", Some("y"), 9.0),
                class("y", Some("x"), 9.0),
            ]),
            ..Port::default()
        };
        let names = |sort| {
            let lines = tree("r:out", &port, sort);
            lines.iter().skip(1).map(Line::name).collect::<Vec<_>>().join("|")
        };
        assert_eq!(names(Sort::Scenario), "  a|    a1|    a2|  b|  stray");
        assert_eq!(names(Sort::Rate), "  b|  stray|  a|    a2|    a1");
    }
}
