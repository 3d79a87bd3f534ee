//! Names of columns in tables. A column of a quantity with a unit has the unit in its name, by one convention for
//! tables of runs, tables of sweeps and exports: the last word, unless the summary's own name has it elsewhere.

use measured::{Kind, Quantity};

use crate::measure::Dimension;

/// The last words of a column's name that say the base unit of its quantity; empty for counts, indices and shares of one.
const fn suffix(kind: Kind) -> &'static str {
    match kind {
        Kind::Rate => Dimension::Rate.suffix(),
        Kind::Size => Dimension::Size.suffix(),
        Kind::Time | Kind::Duration => Dimension::Time.suffix(),
        Kind::Share | Kind::Ratio | Kind::Number => "",
    }
}

impl Dimension {
    /// The last words of a column's name that say the base unit; empty for numbers without one.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Number => "",
            Self::Time => "seconds",
            Self::Rate => "bytes_per_s",
            Self::Size => "bytes",
            Self::Frequency => "hertz",
        }
    }
}

/// The name of a column that holds the quantity under `path` of the summary: `flow.bulk.goodput_bytes_per_s`.
pub fn column(path: &str) -> String {
    let suffix = suffix(Kind::of(path));
    let field = Quantity::of(path).map_or("", |quantity| quantity.field);
    let mut words = field.split(['.', '_']);
    if words.any(|word| word == suffix) { path.to_owned() } else { with_unit(path, suffix) }
}

/// The name of a column that holds a setting of that path, with quantities of that dimension.
pub fn setting_column(path: &str, dimension: Dimension) -> String {
    with_unit(path, dimension.suffix())
}

/// `name` with a unit at its end, unless it ends with it.
fn with_unit(name: &str, suffix: &str) -> String {
    let ends = name.strip_suffix(suffix).is_some_and(|rest| rest.ends_with(['.', '_']));
    if suffix.is_empty() || ends { name.to_owned() } else { format!("{name}_{suffix}") }
}

#[cfg(test)]
mod tests {
    use measured::Entity;

    use super::*;

    #[test]
    fn a_column_names_its_unit_once() {
        for (path, name) in [
            ("flow.bulk.goodput", "flow.bulk.goodput_bytes_per_s"),
            ("flow.bulk.bytes", "flow.bulk.bytes"),
            ("flow.bulk.min_rtt_seconds", "flow.bulk.min_rtt_seconds"),
            ("link.wan.forward.backlog_bytes_max", "link.wan.forward.backlog_bytes_max"),
            ("node.a.processor.seconds.wakeup", "node.a.processor.seconds.wakeup"),
            ("link.wan.utilisation", "link.wan.utilisation"),
            ("run.drops", "run.drops"),
            ("engine.of_another_version", "engine.of_another_version"),
        ] {
            assert_eq!(column(path), name);
        }
        let delay = setting_column("link.wan.delay", Dimension::Time);
        assert_eq!(delay, "link.wan.delay_seconds");
        assert_eq!(setting_column("queue.fifo.bytes", Dimension::Size), "queue.fifo.bytes");
    }

    /// Every quantity with a unit has it in the name of its column.
    #[test]
    fn no_quantity_lacks_its_unit() {
        for entity in Entity::ALL {
            for quantity in entity.quantities() {
                let path = format!("{}.{}", entity.place(), quantity.field);
                let (name, suffix) = (column(&path), suffix(quantity.kind));
                let has = name.ends_with(&format!("_{suffix}"))
                    || name.split(['.', '_']).any(|word| word == suffix);
                assert!(suffix.is_empty() || has, "{name}: {suffix}");
            }
        }
    }
}
