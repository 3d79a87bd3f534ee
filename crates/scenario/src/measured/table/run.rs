//! What is of the whole run.

use super::super::Aggregate;
use super::super::Better::{Higher, Lower, Neither};
use super::super::Kind::{Duration, Number, Rate, Ratio, Share, Size, Time};
use super::super::Quantity;
use super::quantity;

pub(in super::super) const RUN: &[Quantity] = &[
    quantity("goodput", Rate, Aggregate::None, Higher, "Bytes that all receiving programs read, and the payload of programs both ways, per second of the time in which any flow ran.").compared(),
    quantity("fairness", Ratio, Aggregate::None, Higher, "Jain's index over the goodputs of bulk TCP flows, of all flows where none is such; 1 being equal shares.").compared(),
    quantity("drops", Number, Aggregate::None, Lower, "Packets dropped anywhere.").compared(),
    quantity("loss", Share, Aggregate::None, Lower, "Packets dropped anywhere, as a share of all that the flows sent.").compared(),
    quantity("retransmissions", Number, Aggregate::None, Lower, "Segments sent again.").compared(),
    quantity("timeouts", Number, Aggregate::None, Lower, "Retransmission timeouts.").compared(),
    quantity("bytes", Size, Aggregate::None, Higher, "Bytes that all receiving programs read, and the payload of programs both ways."),
    quantity("flows", Number, Aggregate::None, Neither, "How many flows there were."),
    quantity("seconds", Duration, Aggregate::None, Neither, "How long it ran."),
    quantity(
        "measured_from",
        Duration,
        Aggregate::None,
        Neither,
        "From when on everything is counted, where only a part of the run is measured.",
    )
    .at("measured_from_seconds"),
    quantity("measured_until", Duration, Aggregate::None, Neither, "Until when everything is counted, where only a part of the run is measured.")
        .at("measured_until_seconds"),
    quantity("complete", Number, Aggregate::None, Higher, "1 if the plan's duration was reached."),
    quantity("seed", Number, Aggregate::None, Neither, "The seed."),
];

pub(in super::super) const ENGINE: &[Quantity] = &[
    quantity("packet_hops", Number, Aggregate::None, Neither, "Packets transmitted on a wire."),
    quantity("events", Number, Aggregate::None, Neither, "Events handled."),
    quantity(
        "cpu_seconds",
        Time,
        Aggregate::None,
        Lower,
        "Processor time that the run took; only in `--json`.",
    ),
];
