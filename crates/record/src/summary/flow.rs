//! A flow's part of the summary.

use measured::{DatagramSummary, ExchangeSummary, per};
use network::event_builder::Events;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::Bytes;
use traffic::units::PS_PER_SECOND;

use crate::totals::{Carried, FlowTotals};

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSummary {
    /// Bytes a second that the receiver's program read, from the flow's start to its end; of a program the
    /// payload that the network carried, both ways.
    pub goodput: f64,
    /// Goodput over the second half of the flow's time, when the start is past; `null` if not measured.
    pub goodput_last_half: Option<f64>,
    /// Bytes that the receiver's program read.
    pub bytes: u64,
    /// The time from its start to its end.
    pub seconds: f64,
    /// Whether all that was to be sent arrived.
    pub completed: bool,
    /// Packets dropped anywhere on the way, of either direction.
    pub drops: u64,
    /// Packets that arrived with a congestion mark (CE), of either direction.
    #[serde(default)]
    pub marks: u64,
    /// Segments or datagrams sent, pure ACKs and retransmissions included.
    pub segments: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Payload bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Those found spurious. This, fast recoveries, undos, probes and local drops are unknown where TCP is a
    /// kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spurious_timeouts: Option<u64>,
    /// Times fast recovery was entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_recoveries: Option<u64>,
    /// Reductions taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undos: Option<u64>,
    /// Tail loss probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_loss_probes: Option<u64>,
    /// Segments that the sender's own interface queue refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_drops: Option<u64>,
    /// Packets that ACKs with an echo of a congestion mark acknowledged.
    pub congestion_echoes: u64,
    /// Smoothed round trip time at the end, seconds.
    pub srtt_seconds: f64,
    /// Minimum round trip time, seconds.
    pub min_rtt_seconds: f64,
    /// Congestion window at the end, packets.
    pub cwnd_packets: u32,
    /// What became of its datagrams, if it sends such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramSummary>,
    /// What became of its requests, if it asks. The bytes above are then those of responses, and retransmissions are
    /// of both ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<ExchangeSummary>,
    /// What became of the events of the builder that it sends fragments to, and of its own fragments. Retransmissions
    /// are of both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventSummary>,
    /// What the network carried of a program's packets. The bytes above are then payload of both directions, and
    /// what TCP counts is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramSummary>,
    /// Which end cannot go on although it has something to send, and what it waits for; none where both can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<String>,
}

impl FlowSummary {
    /// Returns whether it is a connection of our own programs, so that TCP's statistics exist.
    pub const fn is_connection(&self) -> bool {
        self.datagrams.is_none() && self.program.is_none()
    }
}

/// What the network carried of a program's packets, by its host and the one that the flow names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramSummary {
    /// The direction from the program's host to the other.
    pub forward: CarriedSummary,
    /// The direction from the other host to the program's.
    pub reverse: CarriedSummary,
}

/// What the network carried in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedSummary {
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Payload bytes received, behind TCP's or UDP's header.
    pub bytes: u64,
}

/// What became of the events of a builder, and of the fragments of one source or of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventSummary {
    /// Events with the fragments of all sources read by the builder.
    pub completed: u64,
    /// How many of these per second.
    pub rate: f64,
    /// Mean time from the trigger to reading the last byte of the last fragment, seconds.
    pub completion_mean_seconds: f64,
    /// p50 of these, to 0.8 %, seconds.
    pub completion_p50_seconds: f64,
    /// p99 of these, to 0.8 %, seconds.
    pub completion_p99_seconds: f64,
    /// p99.9 of these, to 0.8 %, seconds.
    pub completion_p999_seconds: f64,
    /// The longest of these, seconds.
    pub completion_max_seconds: f64,
    /// Fragments that the builder read.
    pub fragments: u64,
    /// Those read after the deadline; none where there is no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragments_late: Option<u64>,
}

pub(super) fn sum_flow(t: &FlowTotals) -> FlowSummary {
    let [from, until] = t.measured();
    let seconds = until.since(from).as_secs_f64();
    let late = |half: Bytes| per(t.received.0.saturating_sub(half.0) as f64, seconds / 2.0);
    // A client sends little: the retransmissions of the responses count too.
    let asks = t.exchanges.is_some() || t.events.is_some();
    let ends = if asks { &[t.sender, t.receiver][..] } else { &[t.sender] };
    let both = |count: fn(&transport::Info) -> u64| ends.iter().map(count).sum();
    let known = |count| t.sender.reports_decisions.then(|| both(count));
    FlowSummary {
        goodput: per(t.received.0 as f64, seconds),
        goodput_last_half: t.received_by_half.map(late),
        bytes: t.received.0,
        seconds: t.end.since(t.start).as_secs_f64(),
        completed: t.completed,
        drops: t.drops,
        marks: t.marks,
        segments: both(|end| end.segments_sent),
        retransmissions: both(|end| end.retransmissions),
        retransmitted_bytes: both(|end| end.bytes_retransmitted),
        timeouts: both(|end| end.timeouts),
        spurious_timeouts: known(|end| end.spurious_timeouts),
        fast_recoveries: known(|end| end.fast_recoveries),
        undos: known(|end| end.undos),
        tail_loss_probes: known(|end| end.tlp_probes),
        local_drops: known(|end| end.local_drops),
        congestion_echoes: both(|end| end.ecn_echoes),
        srtt_seconds: t.sender.srtt.as_secs_f64(),
        min_rtt_seconds: t.sender.min_rtt.as_secs_f64(),
        cwnd_packets: t.sender.cwnd,
        datagrams: t.delay.as_ref().map(|delay| DatagramSummary::of(t, delay)),
        exchanges: t.exchanges.as_ref().map(ExchangeSummary::of),
        events: t.events.as_ref().map(|events| sum_events(events, seconds)),
        program: t.program.map(|[forward, reverse]| ProgramSummary {
            forward: sum_carried(forward),
            reverse: sum_carried(reverse),
        }),
        stall: sum_stall(t),
    }
}

fn sum_stall(t: &FlowTotals) -> Option<String> {
    let ends = [("sender", &t.sender), ("receiver", &t.receiver)];
    let stalls = ends.iter().filter_map(|(end, info)| Some((end, info.stall?)));
    let texts: Vec<_> = stalls.map(|(end, stall)| format!("{end}: {}", stall.text())).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

const fn sum_carried(Carried { sent, received, bytes }: Carried) -> CarriedSummary {
    CarriedSummary { sent, received, bytes }
}

/// Sums up the events of one builder over `seconds` seconds.
pub(super) fn sum_events(events: &Events, seconds: f64) -> EventSummary {
    let sum = events.sum as f64 / PS_PER_SECOND as f64;
    let percentile = |share| events.times.quantile(share).as_secs_f64();
    EventSummary {
        completed: events.completed,
        rate: per(events.completed as f64, seconds),
        completion_mean_seconds: per(sum, events.completed as f64),
        completion_p50_seconds: percentile(0.5),
        completion_p99_seconds: percentile(0.99),
        completion_p999_seconds: percentile(0.999),
        completion_max_seconds: events.max.as_secs_f64(),
        fragments: events.fragments,
        fragments_late: events.late,
    }
}
