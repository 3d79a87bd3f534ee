//! What a run measures: one table per entity of the summary, which declares each quantity once.
//!
//! Units in tables, reports and sweeps, the short names of `[expect]` and `[compare]`, what several entities
//! have of a quantity together, the rows of `suimon compare` and the reference page of results follow from it.

use std::fmt::Write;

use crate::{Unit, Units};

mod table;

/// What kind of quantity it is, which decides the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes per second.
    Rate,
    /// Bytes.
    Size,
    /// Seconds, of a delay or a round trip.
    Time,
    /// Seconds, of the run's own time.
    Duration,
    /// A share of one.
    Share,
    /// An index from 0 to 1.
    Ratio,
    /// Anything else.
    Number,
}

/// What several entities, or both directions of a link, have of a quantity together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The sum of all.
    Sum,
    /// The greatest.
    Max,
    /// The mean, weighted by what each counts.
    Mean,
    /// Nothing that follows from the members' values alone.
    None,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It describes, and is neither.
    Neither,
}

/// Something of which the summary has quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// The run as a whole: `run`.
    Run,
    /// One flow: `flow.NAME`.
    Flow,
    /// The flows of a `count`: `group.NAME`.
    Group,
    /// Those of them of about one size: `group.NAME.size.BUCKET`.
    Size,
    /// Both directions of a link: `link.NAME`.
    Link,
    /// One direction of a link: `link.NAME.forward`, `link.NAME.reverse`.
    Direction,
    /// A class of a discipline: `link.NAME.forward.class.CLASS`.
    Class,
    /// An element of a conditioner: `link.NAME.forward.element.ELEMENT`.
    Element,
    /// A WAN emulator: `emulator.NAME`.
    Emulator,
    /// A node's own drops: `node.NAME`.
    Node,
    /// A queue change: `change.NAME`.
    Change,
    /// The engine: `engine`.
    Engine,
}

/// A quantity that a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// What `[expect]`, `[compare]` and sweeps call it.
    pub name: &'static str,
    /// Where the summary has it within the entity; its name unless told otherwise.
    pub field: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// What several entities have of it together.
    pub aggregate: Aggregate,
    /// Which way is better.
    pub better: Better,
    /// Whether `suimon compare` shows it.
    pub compared: bool,
    /// What counts how often it was measured, within the entity: where that is zero it has no value.
    pub samples: Option<&'static str>,
    /// What it is and how it is computed.
    pub what: &'static str,
}

/// Sizes that completion times are told apart by: the name of those up to so many bytes. The last takes the rest.
pub const SIZE_BUCKETS: [(&str, u64); 5] = [
    ("to_10_kB", 10_000),
    ("to_100_kB", 100_000),
    ("to_1_MB", 1_000_000),
    ("to_10_MB", 10_000_000),
    ("above_10_MB", u64::MAX),
];

/// A part of the summary that not every entity has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A connection's own state.
    Connection,
    /// What became of datagrams.
    Datagrams,
    /// What became of requests.
    Exchanges,
    /// What became of events.
    Events,
    /// What became of an MPI job.
    Mpi,
    /// Completion times of flows of a set size.
    Completion,
    /// Sojourn times, where they are counted.
    Sojourn,
    /// What impairments did, where a wire has some.
    Impairments,
    /// Pauses, where one end of a link stops the other.
    Pauses,
    /// Congestion notifications, where a switch may send some.
    Notifications,
}

/// Entries whose names are not known beforehand: drops by reason, relaxed guarantees by kind.
const COUNTED: Quantity = Quantity {
    name: "NAME",
    field: "NAME",
    kind: Kind::Number,
    aggregate: Aggregate::Sum,
    better: Better::Lower,
    compared: false,
    samples: None,
    what: "Packets, by the reason of their drop or the guarantee that was relaxed.",
};

impl Entity {
    /// Every entity, in the order of the reference.
    pub const ALL: [Self; 12] = [
        Self::Run,
        Self::Flow,
        Self::Group,
        Self::Size,
        Self::Link,
        Self::Direction,
        Self::Class,
        Self::Element,
        Self::Emulator,
        Self::Node,
        Self::Change,
        Self::Engine,
    ];

    /// Where the summary has such entities.
    pub const fn place(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Flow => "flow.NAME",
            Self::Group => "group.NAME",
            Self::Size => "group.NAME.size.BUCKET",
            Self::Link => "link.NAME",
            Self::Direction => "link.NAME.forward",
            Self::Class => "link.NAME.forward.class.CLASS",
            Self::Element => "link.NAME.forward.element.ELEMENT",
            Self::Emulator => "emulator.NAME",
            Self::Node => "node.NAME",
            Self::Change => "change.NAME",
            Self::Engine => "engine",
        }
    }

    /// The quantities of such an entity, in the order of tables.
    pub const fn quantities(self) -> &'static [Quantity] {
        match self {
            Self::Run => table::RUN,
            Self::Flow => table::FLOW,
            Self::Group => table::GROUP,
            Self::Size => table::SIZE,
            Self::Link => table::LINK,
            Self::Direction => table::DIRECTION,
            Self::Class => table::CLASS,
            Self::Element => table::ELEMENT,
            Self::Emulator => table::EMULATOR,
            Self::Node => table::NODE,
            Self::Change => table::CHANGE,
            Self::Engine => table::ENGINE,
        }
    }

    /// The names of those that `suimon compare` shows.
    pub fn compared(self) -> impl Iterator<Item = &'static str> {
        self.quantities().iter().filter(|quantity| quantity.compared).map(|quantity| quantity.name)
    }

    /// The entity of which a path of the summary tells, or one that is short for it.
    fn of(path: &str) -> Option<Self> {
        let (root, _) = path.split_once('.')?;
        Some(match root {
            "run" => Self::Run,
            "flow" | "group" if path.contains(".size.") => Self::Size,
            "flow" => Self::Flow,
            "group" => Self::Group,
            "link" if path.contains(".class.") => Self::Class,
            "link" if path.contains(".element.") => Self::Element,
            "link" if path.contains(".forward.") || path.contains(".reverse.") => Self::Direction,
            "link" => Self::Link,
            "emulator" => Self::Emulator,
            "node" => Self::Node,
            "change" => Self::Change,
            "engine" => Self::Engine,
            _ => return None,
        })
    }
}

impl Quantity {
    /// The quantity that the summary has under `path`, or for which that is short; none if nothing is so called.
    pub fn of(path: &str) -> Option<&'static Self> {
        let entity = Entity::of(path)?;
        let counted =
            |table: &str| path.rsplit_once('.').is_some_and(|(at, _)| at.ends_with(table));
        if counted(".drops_by_reason") || counted(".relaxed") {
            return Some(&COUNTED);
        }
        if counted(".stopped_seconds_by_priority") {
            return Some(&table::PAUSED_PRIORITY);
        }
        let ends = |name: &str| path.strip_suffix(name).is_some_and(|entity| entity.ends_with('.'));
        let of = |entity: Entity| {
            let known = entity.quantities().iter().filter(|q| ends(q.name) || ends(q.field));
            // `exchanges.completed` of a flow is no `completed`.
            known.max_by_key(|q| if ends(q.field) { q.field.len() } else { q.name.len() })
        };
        // A flow with a count stands for its group.
        of(entity).or_else(|| if entity == Entity::Flow { of(Entity::Group) } else { None })
    }

    /// The part of the summary that it stands in, if not every entity has it.
    pub fn part(&self) -> Option<Part> {
        match self.field.split_once('.') {
            Some(("datagrams", _)) => Some(Part::Datagrams),
            Some(("exchanges", _)) => Some(Part::Exchanges),
            Some(("events", _)) => Some(Part::Events),
            Some(("mpi", _)) => Some(Part::Mpi),
            Some(("completion", _)) => Some(Part::Completion),
            Some(("impairments", _)) => Some(Part::Impairments),
            Some(("pause", _)) => Some(Part::Pauses),
            Some(("cnm", _)) => Some(Part::Notifications),
            _ if self.field == "min_rtt_seconds" => Some(Part::Connection),
            _ if self.field.starts_with("sojourn_") => Some(Part::Sojourn),
            _ => None,
        }
    }

    /// What several have together; none of none.
    pub fn together(&self, values: impl Iterator<Item = f64>) -> Option<f64> {
        match self.aggregate {
            Aggregate::Sum => values.reduce(|a, b| a + b),
            Aggregate::Max => values.reduce(f64::max),
            Aggregate::Mean | Aggregate::None => None,
        }
    }
}

impl Kind {
    /// The kind of the quantity under a path of the summary, or under one that is short for it.
    pub fn of(path: &str) -> Self {
        Quantity::of(path).map_or(Self::Number, |quantity| quantity.kind)
    }

    /// The unit of such a quantity.
    pub const fn unit(self, units: Units) -> Unit {
        match self {
            Self::Rate => units.rate,
            Self::Size => units.size,
            Self::Time => units.time,
            Self::Duration => units.duration,
            Self::Share => Unit::PERCENT,
            Self::Ratio | Self::Number => Unit::NUMBER,
        }
    }

    /// The unit in `summary.json` and in tables.
    pub const fn base_unit(self) -> &'static str {
        match self {
            Self::Rate => "B/s",
            Self::Size => "B",
            Self::Time | Self::Duration => "s",
            Self::Share => "share of 1",
            Self::Ratio | Self::Number => "",
        }
    }
}

/// The reference of results in Markdown: every quantity of every entity.
pub fn reference() -> String {
    let mut text = "# Results\n\nWhat `summary.json` holds, by entity. `[expect]`, `[compare]` and sweeps use \
                    the same paths, with the short name\nin place of the field. \"Together\" says what several \
                    entities, or both directions of a link, have together.\n"
        .to_owned();
    for entity in Entity::ALL {
        let _ = write!(text, "\n## `{}`\n\n", entity.place());
        text += "| name | field | unit | together | better | what |\n";
        text += "| --- | --- | --- | --- | --- | --- |\n";
        entity.quantities().iter().for_each(|quantity| row(&mut text, quantity));
    }
    text
}

fn row(text: &mut String, quantity: &Quantity) {
    let Quantity { name, field, kind, what, .. } = quantity;
    let together = match quantity.aggregate {
        Aggregate::Sum => "sum",
        Aggregate::Max => "max",
        Aggregate::Mean => "mean",
        Aggregate::None => "",
    };
    let better = match quantity.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "",
    };
    let unit = kind.base_unit();
    let _ = writeln!(text, "| `{name}` | `{field}` | {unit} | {together} | {better} | {what} |");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_one_quantity() {
        let field = |path| Quantity::of(path).map(|quantity| quantity.field);
        assert_eq!(field("flow.a.completed"), Some("completed"));
        assert_eq!(field("flow.a.exchanges.completed"), Some("exchanges.completed"));
        assert_eq!(field("flow.a.exchanges"), Some("exchanges.completed"));
        assert_eq!(field("flow.delay_max.1.delay_max"), Some("datagrams.delay_max_seconds"));
        assert_eq!(field("link.wan.1.queue_max"), Some("backlog_bytes_max"));
        assert_eq!(field("link.wan.reverse.class.rate.drops"), Some("drops"));
        assert_eq!(field("flow.a.fct_p99"), Some("completion.fct_p99_seconds"));
        assert_eq!(field("flow.a.godput"), None);
        assert_eq!(field("goodput"), None);
        assert_eq!(Kind::of("link.wan.forward.drops_by_reason.queue_bytes"), Kind::Number);
        assert_eq!(Kind::of("link.wan.forward.class.a.relaxed.rate"), Kind::Number);
    }

    #[test]
    fn no_entity_has_two_of_a_name() {
        for entity in Entity::ALL {
            let known = entity.quantities();
            for (place, one) in known.iter().enumerate() {
                let other =
                    known[..place].iter().find(|q| q.name == one.name || q.field == one.field);
                assert_eq!(other, None, "{entity:?}");
                let counted = |samples| known.iter().any(|q| q.field == samples);
                assert!(one.samples.is_none_or(counted), "{entity:?}: {}", one.name);
            }
        }
    }
}
