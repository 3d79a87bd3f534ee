//! The entities of a summary, and the quantity that a path of the summary names.

use crate::part::Part;
use crate::quantity::{Kind, Quantity};

use crate::table;

/// An entity with quantities in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// The run as a whole: `run`.
    Run,
    /// One flow: `flow.NAME`.
    Flow,
    /// The flows of a `count`: `group.NAME`.
    Group,
    /// The flows of a group of about one size: `group.NAME.size.BUCKET`.
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

    /// The path of such entities in the summary.
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

    /// The quantities of these names, as the columns of a view. In a constant, an unknown name does not compile.
    ///
    /// # Panics
    /// If there is none of a name.
    pub const fn columns<const N: usize>(self, names: [&str; N]) -> [&'static Quantity; N] {
        let known = self.quantities();
        let mut columns = [&known[0]; N];
        let mut column = 0;
        while column < N {
            let mut place = 0;
            while !is_same(known[place].name, names[column]) {
                place += 1;
                assert!(place < known.len(), "the entity has no quantity of this name");
            }
            columns[column] = &known[place];
            column += 1;
        }
        columns
    }

    /// The quantities that belong to a part of it.
    pub fn part(self, part: Part) -> impl Iterator<Item = &'static Quantity> {
        self.quantities().iter().filter(move |quantity| quantity.part == Some(part))
    }

    /// The names of the quantities that `suimon compare` shows.
    pub fn compared(self) -> impl Iterator<Item = &'static str> {
        self.quantities().iter().filter(|quantity| quantity.compared).map(|quantity| quantity.name)
    }

    /// The entity of a path in the summary, or of a short path.
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

/// Whether the texts are equal, in constants.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut place = 0;
    while place < a.len() && place < b.len() && a[place] == b[place] {
        place += 1;
    }
    place == a.len() && place == b.len()
}

impl Quantity {
    /// The quantity at `path` in the summary, or at a short path; `None` if there is none.
    pub fn of(path: &str) -> Option<&'static Self> {
        let entity = Entity::of(path)?;
        let table = path.rsplit_once('.')?.0.rsplit_once('.').map_or("", |(_, table)| table);
        let each = table::EACH.iter().copied().flatten().find(|(field, _)| *field == table);
        if let Some((_, each)) = each {
            return Some(each);
        }
        let ends = |name: &str| path.strip_suffix(name).is_some_and(|entity| entity.ends_with('.'));
        let of = |entity: Entity| {
            let known = entity.quantities().iter().filter(|q| ends(q.name) || ends(q.field));
            // `exchanges.completed` of a flow is not `completed`.
            known.max_by_key(|q| if ends(q.field) { q.field.len() } else { q.name.len() })
        };
        // A flow with a count stands for its group.
        of(entity).or_else(|| if entity == Entity::Flow { of(Entity::Group) } else { None })
    }
}

impl Kind {
    /// The kind of the quantity at a path of the summary, or at a short path.
    pub fn of(path: &str) -> Self {
        Quantity::of(path).map_or(Self::Number, |quantity| quantity.kind)
    }
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
