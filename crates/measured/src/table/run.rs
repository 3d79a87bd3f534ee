//! Results of the whole run.

use crate::quantity::Aggregate;
use crate::quantity::Better::{Higher, Lower, Neither};
use crate::quantity::Kind::{Duration, Number, Rate, Ratio, Share, Size, Time};
use crate::quantity::{Quantity, quantity};

pub(crate) const RUN: &[Quantity] = &[
    quantity("goodput", Rate, Aggregate::None, Higher, "Bytes that all receiving programs read, and the payload of programs in both directions, per second of the time during which any flow ran.").compared(),
    quantity("fairness", Ratio, Aggregate::None, Higher, "Jain's index over the goodputs of bulk TCP flows, or of all flows if there are none; 1 means equal shares.").compared(),
    quantity("drops", Number, Aggregate::None, Lower, "Packets dropped anywhere.").compared(),
    quantity("loss", Share, Aggregate::None, Lower, "Packets dropped anywhere, as a share of the packets sent by flows.").compared(),
    quantity("retransmissions", Number, Aggregate::None, Lower, "Retransmitted segments.").compared(),
    quantity("timeouts", Number, Aggregate::None, Lower, "Retransmission timeouts.").compared(),
    quantity("bytes", Size, Aggregate::None, Higher, "Bytes that all receiving programs read, and the payload of programs in both directions."),
    quantity("flows", Number, Aggregate::None, Neither, "Number of flows."),
    quantity("seconds", Duration, Aggregate::None, Neither, "Duration of the run."),
    quantity(
        "measured_from",
        Duration,
        Aggregate::None,
        Neither,
        "Start of the measurement interval, where only a part of the run is measured.",
    )
    .at("measured_from_seconds"),
    quantity("measured_until", Duration, Aggregate::None, Neither, "End of the measurement interval, where only a part of the run is measured.")
        .at("measured_until_seconds"),
    quantity("complete", Number, Aggregate::None, Higher, "1 if the run reached its planned duration."),
    quantity("seed", Number, Aggregate::None, Neither, "The seed."),
];

pub(crate) const ENGINE: &[Quantity] = &[
    quantity("packet_hops", Number, Aggregate::None, Neither, "Packets transmitted on a link."),
    quantity("events", Number, Aggregate::None, Neither, "Events handled."),
    quantity("cpu_seconds", Time, Aggregate::None, Lower, "CPU time of the run; only in `--json`."),
];
