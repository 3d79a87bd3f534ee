//! The quantities of each entity, from the declarations of its parts.

use crate::change::ChangeSummary;
use crate::class::ClassSummary;
use crate::completion::Completion;
use crate::conditioner::ElementSummary;
use crate::datagrams::DatagramSummary;
use crate::emulator::EmulatorSummary;
use crate::engine::{CPU_SECONDS, EngineSummary};
use crate::flow::{FlowSummary, PROGRAM};
use crate::group::Group;
use crate::impairments::ImpairmentSummary;
use crate::link::{Direction, LinkSummary};
use crate::node::{MemorySummary, NodePauseSummary, NodeSummary, OPERATIONS, ProcessorSummary};
use crate::notifications::NotificationSummary;
use crate::pauses::PauseSummary;
use crate::quantity::{Aggregate, Better, Kind, Quantity};
use crate::results::{FlowResults, GroupResults};
use crate::run::Run;

/// The parts of an entity: the quantities of each of their fields.
type Parts = [&'static [&'static [Quantity]]];

/// The quantities of these parts: group by group, within a group part by part.
const fn ordered<const N: usize>(parts: &Parts) -> [Quantity; N] {
    let mut table = [Quantity::new("", Kind::Number, Aggregate::None, Better::Neither); N];
    let (mut filled, mut row) = (0, 0);
    while filled < N {
        let mut part = 0;
        while part < parts.len() {
            let mut field = 0;
            while field < parts[part].len() {
                let mut place = 0;
                while place < parts[part][field].len() {
                    let quantity = parts[part][field][place];
                    if quantity.row == row {
                        table[filled] = quantity;
                        filled += 1;
                    }
                    place += 1;
                }
                field += 1;
            }
            part += 1;
        }
        row += 1;
    }
    table
}

/// The number of quantities of these parts.
const fn count(parts: &Parts) -> usize {
    let (mut all, mut part) = (0, 0);
    while part < parts.len() {
        let mut field = 0;
        while field < parts[part].len() {
            all += parts[part][field].len();
            field += 1;
        }
        part += 1;
    }
    all
}

/// The quantities of these parts.
macro_rules! of {
    ($($part:expr),* $(,)?) => {{
        const PARTS: &Parts = &[$($part),*];
        const TABLE: [Quantity; count(PARTS)] = ordered(PARTS);
        &TABLE
    }};
}

/// The quantities of a part that the entity above it has too, as that has them.
macro_rules! whole {
    ($part:ty) => {{
        const PART: &Parts = &[<$part>::QUANTITIES];
        const ALL: [Quantity; count(PART)] = ordered(PART);
        const N: usize = {
            let (mut number, mut place) = (0, 0);
            while place < ALL.len() {
                number += ALL[place].whole.is_some() as usize;
                place += 1;
            }
            number
        };
        const TABLE: [Quantity; N] = {
            let (mut table, mut filled, mut place) = ([ALL[0]; N], 0, 0);
            while filled < N {
                if let Some(what) = ALL[place].whole {
                    table[filled] = ALL[place].what(what);
                    filled += 1;
                }
                place += 1;
            }
            table
        };
        &[&TABLE]
    }};
}

pub(super) const RUN: &[Quantity] = of!(Run::QUANTITIES);

pub(super) const FLOW: &[Quantity] =
    of!(FlowSummary::QUANTITIES, DatagramSummary::QUANTITIES, FlowResults::QUANTITIES, &[PROGRAM],);

pub(super) const GROUP: &[Quantity] = of!(
    Group::QUANTITIES,
    DatagramSummary::QUANTITIES,
    GroupResults::QUANTITIES,
    Completion::QUANTITIES,
);

/// A size of the summary is such a part itself.
pub(super) const SIZE: &[Quantity] = {
    const PARTS: &Parts = &[Completion::QUANTITIES];
    &below("completion.", ordered::<{ count(PARTS) }>(PARTS))
};

/// The quantities with fields below a part of the entity that they are declared for.
const fn below<const N: usize>(part: &str, mut table: [Quantity; N]) -> [Quantity; N] {
    let mut place = 0;
    while place < N {
        let Quantity { field, samples, .. } = table[place];
        table[place].field = field.split_at(part.len()).1;
        if let Some(samples) = samples {
            table[place].samples = Some(samples.split_at(part.len()).1);
        }
        place += 1;
    }
    table
}

pub(super) const LINK: &[Quantity] = of!(
    LinkSummary::QUANTITIES,
    whole!(Direction),
    ImpairmentSummary::QUANTITIES,
    PauseSummary::QUANTITIES,
    NotificationSummary::QUANTITIES,
);

pub(super) const DIRECTION: &[Quantity] = of!(
    Direction::QUANTITIES,
    ImpairmentSummary::QUANTITIES,
    PauseSummary::QUANTITIES,
    NotificationSummary::QUANTITIES,
);

pub(super) const CLASS: &[Quantity] = of!(ClassSummary::QUANTITIES);

pub(super) const ELEMENT: &[Quantity] = of!(ElementSummary::QUANTITIES);

pub(super) const EMULATOR: &[Quantity] = of!(EmulatorSummary::QUANTITIES);

pub(super) const NODE: &[Quantity] = of!(
    NodeSummary::QUANTITIES,
    MemorySummary::QUANTITIES,
    NodePauseSummary::QUANTITIES,
    whole!(NotificationSummary),
    ProcessorSummary::QUANTITIES,
    &[OPERATIONS],
);

pub(super) const CHANGE: &[Quantity] = of!(ChangeSummary::QUANTITIES);

pub(super) const ENGINE: &[Quantity] = of!(EngineSummary::QUANTITIES, &[&[CPU_SECONDS]]);

/// The quantities of entries with names that are not known in advance, by the field that has them.
pub(super) const EACH: &[&[(&str, Quantity)]] = &[
    Direction::EACH,
    ClassSummary::EACH,
    PauseSummary::EACH,
    EmulatorSummary::EACH,
    NodeSummary::EACH,
];
