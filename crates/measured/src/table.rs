//! The tables of quantities.

mod node;
mod notifications;
mod pauses;
mod run;

use crate::class::ClassSummary;
use crate::completion::Completion;
use crate::conditioner::ElementSummary;
use crate::datagrams::DatagramSummary;
use crate::flow::FlowSummary;
use crate::impairments::ImpairmentSummary;
use crate::notifications::NotificationSummary;
use crate::pauses::PauseSummary;
use crate::quantity::Aggregate::{self, Max, Sum};
use crate::quantity::Better::{Higher, Lower, Neither};
use crate::quantity::Kind::{Number, Rate, Ratio, Share, Size, Time};
use crate::quantity::{Quantity, quantity};
use crate::results::{FlowResults, GroupResults};
pub(super) use node::NODE;
pub(super) use pauses::PAUSED_PRIORITY;
pub(super) use run::{ENGINE, RUN};

/// The parts of an entity: the quantities of each of their fields.
type Parts = [&'static [&'static [Quantity]]];

/// The quantities of these parts: group by group, within a group part by part.
const fn ordered<const N: usize>(parts: &Parts) -> [Quantity; N] {
    let mut table = [quantity("", Number, Aggregate::None, Neither, ""); N];
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

const FLOW_PARTS: &Parts =
    &[FlowSummary::QUANTITIES, DatagramSummary::QUANTITIES, FlowResults::QUANTITIES, &[PROGRAM]];

pub(super) const FLOW: &[Quantity] = &ordered::<{ count(FLOW_PARTS) }>(FLOW_PARTS);

const GROUP_PARTS: &Parts =
    &[&[GROUP_OWN], DatagramSummary::QUANTITIES, GroupResults::QUANTITIES, Completion::QUANTITIES];

pub(super) const GROUP: &[Quantity] = &ordered::<{ count(GROUP_PARTS) }>(GROUP_PARTS);

const PROGRAM: &[Quantity] = &[
    quantity(
        "program.forward.sent",
        Number,
        Aggregate::None,
        Neither,
        "Packets of a program sent, from the program's host.",
    )
    .row(6),
    quantity(
        "program.forward.received",
        Number,
        Aggregate::None,
        Neither,
        "Packets of a program received, from the program's host.",
    )
    .row(6),
    quantity(
        "program.forward.bytes",
        Size,
        Aggregate::None,
        Neither,
        "Payload bytes of a program received, from the program's host.",
    )
    .row(6),
    quantity(
        "program.reverse.sent",
        Number,
        Aggregate::None,
        Neither,
        "Packets of a program sent, to the program's host.",
    )
    .row(6),
    quantity(
        "program.reverse.received",
        Number,
        Aggregate::None,
        Neither,
        "Packets of a program received, to the program's host.",
    )
    .row(6),
    quantity(
        "program.reverse.bytes",
        Size,
        Aggregate::None,
        Neither,
        "Payload bytes of a program received, to the program's host.",
    )
    .row(6),
];

const GROUP_OWN: &[Quantity] = &[
    quantity(
        "goodput",
        Rate,
        Aggregate::None,
        Higher,
        "Bytes that their receivers read, per second of the time during which any of them ran.",
    ),
    quantity(
        "goodput_min",
        Rate,
        Aggregate::None,
        Higher,
        "Min of the goodputs of the flows of a `count` or a `matrix`.",
    ),
    quantity(
        "goodput_max",
        Rate,
        Aggregate::None,
        Higher,
        "Max of the goodputs of the flows of a `count` or a `matrix`.",
    ),
    quantity(
        "fairness",
        Ratio,
        Aggregate::None,
        Higher,
        "Jain's index over the goodputs of the flows of a `count` or a `matrix`.",
    ),
    quantity(
        "flows",
        Number,
        Aggregate::None,
        Neither,
        "Number of flows of a `count` or a `matrix`.",
    ),
    quantity("bytes", Size, Aggregate::None, Higher, "Bytes that their receivers read."),
    quantity("drops", Number, Aggregate::None, Lower, "Packets dropped anywhere on the path."),
    quantity(
        "marks",
        Number,
        Aggregate::None,
        Lower,
        "Packets received with a congestion mark (CE), both directions.",
    ),
    quantity("retransmissions", Number, Aggregate::None, Lower, "Retransmitted segments."),
    quantity("timeouts", Number, Aggregate::None, Lower, "Retransmission timeouts."),
];

const SIZE_PARTS: &Parts = &[Completion::QUANTITIES];

/// A size of the summary is such a part itself.
pub(super) const SIZE: &[Quantity] =
    &below("completion.", ordered::<{ count(SIZE_PARTS) }>(SIZE_PARTS));

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

const LINK_PARTS: &Parts = &[
    &[LINK_OWN],
    ImpairmentSummary::QUANTITIES,
    PauseSummary::QUANTITIES,
    NotificationSummary::QUANTITIES,
];

pub(super) const LINK: &[Quantity] = &ordered::<{ count(LINK_PARTS) }>(LINK_PARTS);

const LINK_OWN: &[Quantity] = &[
    quantity(
        "drops",
        Number,
        Sum,
        Lower,
        "Packets dropped in the queues or on the link, both directions.",
    ),
    quantity(
        "utilisation",
        Share,
        Max,
        Neither,
        "Share of the time that the link was busy, in the busier direction.",
    )
    .compared(),
    quantity(
        "queue_max",
        Size,
        Max,
        Lower,
        "Max length of the queue, in the direction where it is greater.",
    )
    .at("backlog_bytes_max")
    .compared(),
    quantity(
        "sojourn_p50",
        Time,
        Max,
        Lower,
        "p50 of the sojourn time in the queue, to 0.8 %, in the direction where it is greater.",
    )
    .at("sojourn_p50_seconds")
    .compared(),
    quantity(
        "sojourn_p99",
        Time,
        Max,
        Lower,
        "p99 of the sojourn time in the queue, to 0.8 %, in the direction where it is greater.",
    )
    .at("sojourn_p99_seconds")
    .compared(),
    quantity(
        "sojourn_max",
        Time,
        Max,
        Lower,
        "Max sojourn time in the queue, in the direction where it is greater.",
    )
    .at("sojourn_max_seconds"),
];

const DIRECTION_PARTS: &Parts = &[
    &[DIRECTION_OWN],
    ImpairmentSummary::QUANTITIES,
    PauseSummary::QUANTITIES,
    NotificationSummary::QUANTITIES,
];

pub(super) const DIRECTION: &[Quantity] = &ordered::<{ count(DIRECTION_PARTS) }>(DIRECTION_PARTS);

const DIRECTION_OWN: &[Quantity] = &[
    quantity("drops", Number, Sum, Lower, "Packets dropped in the queue or on the link."),
    quantity(
        "marks",
        Number,
        Sum,
        Lower,
        "Packets marked \"congestion experienced\" in place of a drop.",
    ),
    quantity(
        "utilisation",
        Share,
        Max,
        Neither,
        "Share of the time that the link was busy with packets and gaps, with their overhead.",
    ),
    quantity("packets", Number, Sum, Neither, "Packets sent."),
    quantity("bytes", Size, Sum, Neither, "Bytes sent, Ethernet header and FCS included."),
    quantity("gap_frames", Number, Sum, Neither, "Gap frames sent."),
    quantity("gap_bytes", Size, Sum, Neither, "Bytes of the gap frames sent."),
    quantity("queue_max", Size, Max, Lower, "Max length of the queue.").at("backlog_bytes_max"),
    quantity("sojourn_p50", Time, Max, Lower, "p50 of the sojourn time in the queue, to 0.8 %.")
        .at("sojourn_p50_seconds"),
    quantity("sojourn_p99", Time, Max, Lower, "p99 of the sojourn time in the queue, to 0.8 %.")
        .at("sojourn_p99_seconds"),
    quantity("sojourn_max", Time, Max, Lower, "Max sojourn time in the queue.")
        .at("sojourn_max_seconds"),
];

const CLASS_PARTS: &Parts = &[ClassSummary::QUANTITIES];

pub(super) const CLASS: &[Quantity] = &ordered::<{ count(CLASS_PARTS) }>(CLASS_PARTS);

const ELEMENT_PARTS: &Parts = &[ElementSummary::QUANTITIES];

pub(super) const ELEMENT: &[Quantity] = &ordered::<{ count(ELEMENT_PARTS) }>(ELEMENT_PARTS);

pub(super) const EMULATOR: &[Quantity] = &[
    quantity("drops", Number, Sum, Lower, "Packets dropped at any of its ports."),
    quantity(
        "utilisation",
        Share,
        Max,
        Neither,
        "The busiest port's share of the bandwidth limit, in frame bytes.",
    ),
    quantity("queue_max", Size, Max, Lower, "Max length of any of its buffers.")
        .at("backlog_bytes_max"),
    quantity("packets", Number, Sum, Neither, "Packets sent."),
    quantity("bytes", Size, Sum, Neither, "Bytes sent, Ethernet header and FCS included."),
];

pub(super) const CHANGE: &[Quantity] = &[quantity(
    "made",
    Number,
    Aggregate::None,
    Higher,
    "1 if the change succeeded: a class admitted, a discipline attached.",
)];
