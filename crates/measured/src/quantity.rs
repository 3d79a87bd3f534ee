//! A measured quantity: its names, kind, aggregate and better direction.

use crate::Part;

/// The kind of a quantity, which determines its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes per second.
    Rate,
    /// Bytes.
    Size,
    /// Seconds, of a delay or a round trip.
    Time,
    /// Seconds of simulated time.
    Duration,
    /// A share of one.
    Share,
    /// An index from 0 to 1.
    Ratio,
    /// Any other number.
    Number,
}

/// The aggregate of a quantity over several entities, or over both directions of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The sum of all.
    Sum,
    /// The maximum.
    Max,
    /// The mean, weighted by the number of samples.
    Mean,
    /// No aggregate follows from the members' values.
    None,
}

/// The better direction of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Higher is better.
    Higher,
    /// Lower is better.
    Lower,
    /// Neither is better.
    Neither,
}

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name in `[expect]`, `[compare]` and sweeps.
    pub name: &'static str,
    /// Its field in the summary of the entity, by default its name.
    pub field: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its aggregate over several entities.
    pub aggregate: Aggregate,
    /// The better direction.
    pub better: Better,
    /// Whether `suimon compare` shows it.
    pub compared: bool,
    /// The field of the entity that counts its samples. With zero samples it has no value.
    pub samples: Option<&'static str>,
    /// Its definition.
    pub what: &'static str,
    /// Its label in headings of tables, in lower case.
    pub label: &'static str,
    /// Its definition for the link as a whole, or for the node with the ports, where that has it too.
    pub(crate) whole: Option<&'static str>,
    /// The part of the entity that has it, if not every entity does.
    pub part: Option<Part>,
    /// Whether the table of its part on the console leaves it out.
    pub detail: bool,
    /// Its group in the tables of its entity, which begin with group 0.
    pub(crate) row: u8,
}

impl Quantity {
    /// A quantity that the summary has under its own name, which is also its label.
    pub(crate) const fn new(
        field: &'static str,
        kind: Kind,
        aggregate: Aggregate,
        better: Better,
    ) -> Self {
        let (name, label, what) = (field, field, "");
        Self {
            name,
            field,
            kind,
            aggregate,
            better,
            compared: false,
            samples: None,
            what,
            label,
            whole: None,
            part: None,
            detail: false,
            row: 0,
        }
    }

    /// Sets its name, where that is not its path in the summary.
    pub(crate) const fn name(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Sets its path in the summary.
    pub(crate) const fn at(self, field: &'static str) -> Self {
        Self { field, ..self }
    }

    /// Sets its label.
    pub(crate) const fn label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    /// Sets its definition.
    pub(crate) const fn what(self, what: &'static str) -> Self {
        Self { what, ..self }
    }

    /// Sets its group in tables.
    pub(crate) const fn row(self, row: u8) -> Self {
        Self { row, ..self }
    }

    /// Sets the part of the entity that has it.
    pub(crate) const fn part(self, part: Option<Part>) -> Self {
        Self { part, ..self }
    }

    /// Gives it to the link as a whole, or to the node with the ports: there, it is this.
    pub(crate) const fn whole(self, what: &'static str) -> Self {
        Self { whole: Some(what), ..self }
    }

    /// Marks it as shown by `suimon compare`.
    pub(crate) const fn compared(self) -> Self {
        Self { compared: true, ..self }
    }

    /// Leaves it out of the table of its part on the console.
    pub(crate) const fn detail(self) -> Self {
        Self { detail: true, ..self }
    }

    /// Sets the quantity that counts its samples.
    pub(crate) const fn samples(self, samples: &'static str) -> Self {
        Self { samples: Some(samples), ..self }
    }

    /// The aggregate of several values; `None` without values.
    pub fn together(&self, values: impl Iterator<Item = f64>) -> Option<f64> {
        match self.aggregate {
            Aggregate::Sum => values.reduce(|a, b| a + b),
            Aggregate::Max => values.reduce(f64::max),
            Aggregate::Mean | Aggregate::None => None,
        }
    }
}

impl Kind {
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
