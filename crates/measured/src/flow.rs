//! Results of a flow.

use applications::results::Results;
use base::Bytes;

use crate::Part;
use crate::datagrams::DatagramSummary;
use crate::declare::measured;
use crate::mean::per;
use crate::quantity::{Aggregate, Better, Kind, Quantity};
use crate::results::FlowResults;
use crate::totals::{Carried, FlowTotals};

measured! {
    /// One flow.
    pub struct FlowSummary at "";
    /// Sums up a flow.
    of(flow: &FlowTotals)
    let [from, until] = flow.measured();
    let seconds = until.since(from).as_secs_f64();
    let late = |half: Bytes| per(flow.received.0.saturating_sub(half.0) as f64, seconds / 2.0);
    // A client sends little: the retransmissions of the responses count too.
    let asks = flow.results().any(Results::asks);
    let sender = flow.sender.get();
    let ends = if asks { &[sender, flow.receiver.get()][..] } else { &[sender] };
    let both = |count: fn(&transport::Info) -> u64| ends.iter().map(count).sum();
    let known = |count| sender.reports_decisions.then(|| both(count));
    {
        /// Bytes a second that the receiver's program read, from the flow's start to its end; of a program the
        /// payload that the network carried, both ways.
        goodput: f64 = per(flow.received.0 as f64, seconds), Rate None Higher "goodput"
            what "Bytes per second that the receiving program read, from the flow's start to its end."
            .compared();
        /// Goodput over the second half of the flow's time, when the start is past; `null` if not measured.
        goodput_last_half: Option<f64> = flow.received_by_half.map(late),
            Rate None Higher "goodput of the last half"
            what "Bytes per second that the receiving program read in the second half of that time."
            .compared();
        /// Bytes that the receiver's program read.
        bytes: u64 = flow.received.0, Size Sum Higher "received"
            what "Bytes that the receiving program read.".compared();
        /// The time from its start to its end.
        seconds: f64 = flow.end.since(flow.start).as_secs_f64(), Duration None Lower "time"
            what "Time from the flow's start to its end; the completion time of a completed flow of fixed size."
            .row(6);
        /// Whether all that was to be sent arrived.
        completed: bool = flow.completed, Number None Higher "completed"
            what "1 if all data arrived.".row(6);
        /// Packets dropped anywhere on the way, of either direction.
        drops: u64 = flow.drops, Number Sum Lower "drops"
            what "Packets dropped anywhere on the path, both directions.".compared();
        /// Packets that arrived with a congestion mark (CE), of either direction.
        #[serde(default)]
        marks: u64 = flow.marks, Number Sum Lower "marks"
            what "Packets received with a congestion mark (CE), both directions.";
        /// Segments or datagrams sent, pure ACKs and retransmissions included.
        segments: u64 = both(|end| end.segments_sent), Number None Neither "segments".row(6);
        /// Retransmissions.
        retransmissions: u64 = both(|end| end.retransmissions), Number Sum Lower "retransmissions"
            what "Retransmitted segments.".compared();
        /// Payload bytes retransmitted.
        retransmitted_bytes: u64 = both(|end| end.bytes_retransmitted),
            Size None Lower "retransmitted" what "Retransmitted payload bytes.".row(6);
        /// Retransmission timeouts.
        timeouts: u64 = both(|end| end.timeouts), Number Sum Lower "timeouts".compared();
        /// Those found spurious. This, fast recoveries, undos, probes and local drops are unknown where TCP is a
        /// kernel's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spurious_timeouts: Option<u64> = known(|end| end.spurious_timeouts),
            Number None Lower "spurious timeouts"
            what "Retransmission timeouts found spurious.".row(6);
        /// Times fast recovery was entered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fast_recoveries: Option<u64> = known(|end| end.fast_recoveries),
            Number None Lower "fast recoveries" what "Entries into fast recovery.".row(6);
        /// Reductions taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undos: Option<u64> = known(|end| end.undos),
            Number None Neither "undos" what "Undone window reductions.".row(6);
        /// Tail loss probes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tail_loss_probes: Option<u64> = known(|end| end.tlp_probes),
            Number None Neither "tail loss probes".row(6);
        /// Segments that the sender's own interface queue refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        local_drops: Option<u64> = known(|end| end.local_drops),
            Number None Lower "local drops"
            what "Segments refused by the sender's own interface queue.".row(6);
        /// Packets that ACKs with an echo of a congestion mark acknowledged.
        congestion_echoes: u64 = both(|end| end.ecn_echoes),
            Number None Lower "congestion echoes"
            what "Packets acknowledged by ACKs that echo a congestion mark.".row(6);
        /// Smoothed round trip time at the end, seconds.
        srtt_seconds: f64 = sender.srtt.as_secs_f64(), Time None Lower "smoothed RTT"
            what "Smoothed RTT at the end.".name("srtt").row(6);
        /// Minimum round trip time, seconds.
        min_rtt_seconds: f64 = sender.min_rtt.as_secs_f64(), Time None Lower "min RTT"
            what "Minimum RTT.".name("min_rtt").compared()
            .part(Some(Part::Connection));
        /// Congestion window at the end, packets.
        cwnd_packets: u32 = sender.cwnd, Number None Neither "congestion window"
            what "Congestion window at the end, packets.".name("cwnd").row(6);
        /// What became of its datagrams, if it sends such.
        #[serde(skip_serializing_if = "Option::is_none")]
        datagrams: Option<DatagramSummary> =
            flow.delay.as_deref().map(|delay| DatagramSummary::of(flow, delay));
        /// The results of its workload.
        #[serde(flatten)]
        results: FlowResults = FlowResults::of(flow.results(), seconds);
        /// What the network carried of a program's packets. The bytes above are then payload of both directions, and
        /// what TCP counts is not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        program: Option<ProgramSummary> = flow.program.as_deref().map(ProgramSummary::of);
        /// Which end cannot go on although it has something to send, and what it waits for; none where both can.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stall: Option<String> = stall(flow);
    }
}

impl FlowSummary {
    /// Returns whether it is a connection of our own programs, so that TCP's statistics exist.
    pub const fn is_connection(&self) -> bool {
        self.datagrams.is_none() && self.program.is_none()
    }
}

fn stall(flow: &FlowTotals) -> Option<String> {
    let ends = [("sender", &flow.sender), ("receiver", &flow.receiver)];
    let stalls = ends.iter().filter_map(|(end, info)| Some((end, info.get().stall?)));
    let texts: Vec<_> = stalls.map(|(end, stall)| format!("{end}: {}", stall.text())).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

measured! {
    /// What the network carried of a program's packets, by its host and the one that the flow names.
    pub struct ProgramSummary at "program.";
    /// Sums up the packets of a program in both directions.
    of(carried: &[Carried; 2]) {
        /// The direction from the program's host to the other.
        forward: CarriedSummary = CarriedSummary::of(&carried[0]);
        /// The direction from the other host to the program's.
        reverse: CarriedSummary = CarriedSummary::of(&carried[1]);
    }
}

/// The quantities of a program's direction, of this name and description.
macro_rules! carried {
    ($($way:literal $which:literal;)*) => {
        &[$(
            carried!(Number $way "sent" "Packets of a program sent, " $which),
            carried!(Number $way "received" "Packets of a program received, " $which),
            carried!(Size $way "bytes" "Payload bytes of a program received, " $which),
        )*]
    };
    ($kind:ident $way:literal $field:literal $what:literal $which:literal) => {
        Quantity::new(
            concat!("program.", $way, ".", $field),
            Kind::$kind,
            Aggregate::None,
            Better::Neither,
        )
        .label(concat!($field, ", ", $way))
        .what(concat!($what, $which))
        .part(Some(Part::Program))
        .row(6)
    };
}

/// The quantities of a program, of both directions.
pub(crate) const PROGRAM: &[Quantity] = carried! {
    "forward" "from the program's host.";
    "reverse" "to the program's host.";
};

measured! {
    /// What the network carried in one direction.
    pub struct CarriedSummary at "";
    /// Sums up the packets of one direction.
    of(carried: &Carried) {
        /// Packets sent.
        sent: u64 = carried.sent;
        /// Packets received.
        received: u64 = carried.received;
        /// Payload bytes received, behind TCP's or UDP's header.
        bytes: u64 = carried.bytes;
    }
}
