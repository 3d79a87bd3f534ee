//! The time series of a run, one row type per table. Column names carry their units.

use std::collections::BTreeMap;

use base::priorities::PRIORITIES;
use base::{FlowId, Instant};
use network::PortId;
use network::flow_control::Counters;
use scenario::plan::{Link, Plan};
use traffic::Statistics;

/// A name of the scenario, as its place in a [`Names`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub u32);

/// The names that rows refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    texts: Vec<String>,
    /// The first place of each text.
    places: BTreeMap<String, Name>,
}

impl Names {
    /// Names in the given order, from `Name(0)` on.
    pub fn new(texts: Vec<String>) -> Self {
        let mut places = BTreeMap::new();
        for (place, text) in (0..).zip(&texts) {
            places.entry(text.clone()).or_insert(Name(place));
        }
        Self { texts, places }
    }

    /// Returns the text; empty for an unknown name.
    pub fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("", String::as_str)
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The name with that text, a new one if there is none yet.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.find(text) {
            return name;
        }
        let name = Name(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), name);
        name
    }

    /// The name of a class at the port of that name: `NODE:LINK CLASS`.
    pub fn class(&self, port: Name, class: &str) -> Option<Name> {
        self.find(&format!("{} {class}", self.text(port)))
    }

    /// The name with that text.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.places.get(text).copied()
    }
}

/// How a column is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A 64-bit integer.
    Integer,
    /// A 64-bit integer or nothing.
    Optional,
    /// A string, stored once in a dictionary.
    Name,
}

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column<R> {
    /// Its name, with its unit.
    pub name: &'static str,
    /// How it is stored.
    pub kind: Kind,
    /// What it is.
    pub about: &'static str,
    /// Its value in a row; [`NOTHING`] for an empty optional.
    pub cell: fn(&R) -> u64,
}

/// The cell of an empty optional.
pub const NOTHING: u64 = u64::MAX;

/// A table's row.
pub trait TableRow: Copy + 'static {
    /// The table's file in a run folder.
    const FILE: &'static str;
    /// Its columns.
    const COLUMNS: &'static [Column<Self>];
    /// A row of cells in the order of the columns; missing ones are zero.
    fn from_cells(cells: impl Iterator<Item = u64>) -> Self;
}

/// The type of a cell of a row.
trait Cell: Copy {
    const KIND: Kind;
    fn to_cell(self) -> u64;
    fn from_cell(cell: u64) -> Self;
}

impl Cell for u64 {
    const KIND: Kind = Kind::Integer;
    fn to_cell(self) -> u64 {
        self
    }
    fn from_cell(cell: u64) -> Self {
        cell
    }
}

impl Cell for Option<u64> {
    const KIND: Kind = Kind::Optional;
    fn to_cell(self) -> u64 {
        self.unwrap_or(NOTHING)
    }
    fn from_cell(cell: u64) -> Self {
        (cell != NOTHING).then_some(cell)
    }
}

impl Cell for Name {
    const KIND: Kind = Kind::Name;
    fn to_cell(self) -> u64 {
        u64::from(self.0)
    }
    fn from_cell(cell: u64) -> Self {
        Self(u32::try_from(cell).unwrap_or(u32::MAX))
    }
}

macro_rules! row {
    ($(#[$doc:meta])* $row:ident in $file:literal {
        $($(#[doc = $about:literal])* $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $row { $($(#[doc = $about])* pub $field: $type,)* }

        impl TableRow for $row {
            const FILE: &'static str = $file;
            const COLUMNS: &'static [Column<Self>] = &[$(Column {
                name: stringify!($field),
                kind: <$type as Cell>::KIND,
                about: concat!($($about),*),
                cell: |row| row.$field.to_cell(),
            }),*];
            fn from_cells(mut cells: impl Iterator<Item = u64>) -> Self {
                Self { $($field: <$type>::from_cell(cells.next().unwrap_or(0)),)* }
            }
        }
    };
}

row! {
    /// What one port sent in one bin of a bandwidth probe.
    BandwidthRow in "links.parquet" {
        /// The probe.
        name: Name,
        /// The port, as `NODE:LINK`.
        port: Name,
        /// Start of the bin.
        time_ns: u64,
        /// Bytes of packets, Ethernet header and FCS included.
        bytes: u64,
        /// Bytes of gap frames.
        gap_bytes: u64,
        /// Packets whose first bit left within the bin.
        packets: u64,
    }
}

row! {
    /// One transmission of a traced flow.
    SequenceRow in "sequences.parquet" {
        /// The probe.
        name: Name,
        /// The flow.
        flow: Name,
        /// When its first bit left.
        time_ns: u64,
        /// Sequence number, unwrapped; the flow's first payload byte is 0.
        seq_bytes: u64,
        /// Acknowledgement number, unwrapped in the same manner; none before the first.
        ack_bytes: Option<u64>,
        /// Payload.
        payload_bytes: u64,
        /// 1 for a retransmission.
        retransmission: u64,
    }
}

row! {
    /// A sample of a sender, as `TCP_INFO` has it, and of what arrived. Of datagrams only what was sent
    /// and what arrived is not zero.
    FlowRow in "flows.parquet" {
        /// The flow.
        flow: Name,
        /// The time.
        time_ns: u64,
        /// Linux's number of the congestion state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
        ca_state: u64,
        /// Congestion window.
        cwnd_packets: u64,
        /// Slow start threshold; none before the first reduction.
        ssthresh_packets: Option<u64>,
        /// Smoothed round trip time; none before the first sample.
        srtt_us: Option<u64>,
        /// Minimum round trip time.
        min_rtt_us: Option<u64>,
        /// Retransmission timeout.
        rto_us: u64,
        /// RFC 6675's pipe.
        in_flight_packets: u64,
        /// Sent and not yet acknowledged cumulatively.
        out_packets: u64,
        /// Packets of these that are acknowledged selectively.
        sacked_packets: u64,
        /// Packets of these that are marked lost.
        lost_packets: u64,
        /// Payload acknowledged cumulatively so far.
        acked_bytes: u64,
        /// Payload sent so far, retransmissions included.
        sent_bytes: u64,
        /// Retransmissions so far.
        retransmissions: u64,
        /// Retransmission timeouts so far.
        timeouts: u64,
        /// Window the receiver advertises.
        peer_window_bytes: u64,
        /// Latest delivery rate.
        delivery_bytes_per_s: u64,
        /// Pacing rate; none when not paced.
        pacing_bytes_per_s: Option<u64>,
        /// Packets sent so far, pure ACKs and retransmissions included.
        sent_packets: u64,
        /// Packets that the receiving host took so far.
        received_packets: u64,
        /// Payload that the receiving program read so far.
        received_bytes: u64,
    }
}

row! {
    /// A sample of a queue; counters run from the start.
    QueueRow in "queues.parquet" {
        /// The port, as `NODE:LINK`.
        port: Name,
        /// The time.
        time_ns: u64,
        /// Queued now.
        backlog_packets: u64,
        /// Queued now.
        backlog_bytes: u64,
        /// Taken.
        enqueued_packets: u64,
        /// Handed to the wire.
        sent_packets: u64,
        /// Handed to the wire, gap frames not counted.
        sent_bytes: u64,
        /// Refused or discarded.
        dropped_packets: u64,
        /// Their bytes.
        dropped_bytes: u64,
        /// Marked in place of a drop.
        marked_packets: u64,
        /// Gap frames handed to the wire.
        gap_frames: u64,
        /// Their bytes.
        gap_bytes: u64,
    }
}

row! {
    /// A sample of a class of a queue; counters run from the start, or from when the class was made.
    ClassRow in "classes.parquet" {
        /// The port, as `NODE:LINK`.
        port: Name,
        /// The class.
        class: Name,
        /// The time.
        time_ns: u64,
        /// Queued now.
        backlog_packets: u64,
        /// Queued now.
        backlog_bytes: u64,
        /// Taken.
        enqueued_packets: u64,
        /// Handed to the wire.
        sent_packets: u64,
        /// Handed to the wire.
        sent_bytes: u64,
        /// Refused or discarded.
        dropped_packets: u64,
        /// Their bytes.
        dropped_bytes: u64,
        /// Marked in place of a drop.
        marked_packets: u64,
    }
}

row! {
    /// A sample of a port's congestion notifications (CNMs, IEEE 802.1Qau); counters run from the start.
    NotificationRow in "notifications.parquet" {
        /// The port, as `NODE:LINK`.
        port: Name,
        /// The time.
        time_ns: u64,
        /// Those that its switch sent of its queues.
        sent_frames: u64,
        /// Those that its host received.
        received_frames: u64,
    }
}

row! {
    /// A sample of a port's pauses (IEEE 802.1Qbb; 802.3, annex 31B), from the last sample before its first pause frame on;
    /// counters run from the start. PAUSE of the whole port stops all priorities alike.
    PauseRow in "pauses.parquet" {
        /// The port, as `NODE:LINK`.
        port: Name,
        /// The time.
        time_ns: u64,
        /// Pause frames sent, to stop what comes in there or let it go on.
        sent_frames: u64,
        /// Pause frames received.
        received_frames: u64,
        /// For how long the far end had stopped priority 0.
        paused_0_ns: u64,
        /// For how long it had stopped priority 1.
        paused_1_ns: u64,
        /// For how long it had stopped priority 2.
        paused_2_ns: u64,
        /// For how long it had stopped priority 3.
        paused_3_ns: u64,
        /// For how long it had stopped priority 4.
        paused_4_ns: u64,
        /// For how long it had stopped priority 5.
        paused_5_ns: u64,
        /// For how long it had stopped priority 6.
        paused_6_ns: u64,
        /// For how long it had stopped priority 7.
        paused_7_ns: u64,
    }
}

row! {
    /// How many packets of a port had a delay within a range, known to 0.8 %.
    DelayRow in "delays.parquet" {
        /// The port, as `NODE:LINK`, or a class there, as `NODE:LINK CLASS`.
        port: Name,
        /// `sojourn`: from the moment that the port took a packet to that when its first bit left; `spacing`:
        /// from one packet's first bit to the next one's.
        what: Name,
        /// At least this long.
        from_ns: u64,
        /// At most this long.
        to_ns: u64,
        /// How many.
        packets: u64,
    }
}

row! {
    /// What a rank of an MPI job did in an interval, for how long each: it computed, or waited in calls for one of these causes.
    RankRow in "ranks.parquet" {
        /// The job.
        job: Name,
        /// The rank.
        rank: u64,
        /// Start of the interval.
        time_ns: u64,
        /// Its length: 1 us or a power of two times as much, so that the run has at most 1024 of them.
        length_ns: u64,
        /// It computed.
        computing_ns: u64,
        /// The other rank came late: what it waited for was not written yet.
        sender_ns: u64,
        /// The congestion window, below the slow start threshold.
        slow_start_ns: u64,
        /// The congestion window, at or above it.
        window_ns: u64,
        /// Loss recovery without a timeout.
        recovery_ns: u64,
        /// A retransmission timeout, with the repair after it.
        rto_ns: u64,
        /// The peer's receive window, or the own send buffer.
        buffer_ns: u64,
        /// Nagle's rule: a small segment waited for an acknowledgement.
        nagle_ns: u64,
        /// The pacing rate.
        pacing_ns: u64,
        /// Serialisation and queues, and whatever nothing else accounts for.
        bandwidth_ns: u64,
        /// Half the minimum RTT.
        latency_ns: u64,
    }
}

/// Returns `value`, or none if it is zero, which means "not known yet".
fn known(value: u64) -> Option<u64> {
    (value != 0).then_some(value)
}

impl FlowRow {
    /// A sample of `flow`'s sender and receiver.
    pub fn new(flow: Name, now: Instant, [info, receiver]: [&transport::Info; 2]) -> Self {
        let ssthresh = info.ssthresh;
        Self {
            flow,
            time_ns: now.as_ns(),
            ca_state: u64::from(info.ca_state as u32),
            cwnd_packets: u64::from(info.cwnd),
            ssthresh_packets: (ssthresh < congestion::INFINITE_SSTHRESH)
                .then_some(u64::from(ssthresh)),
            srtt_us: known(info.srtt.as_us()),
            min_rtt_us: known(info.min_rtt.as_us()),
            rto_us: info.rto.as_us(),
            in_flight_packets: u64::from(info.in_flight),
            out_packets: u64::from(info.packets_out),
            sacked_packets: u64::from(info.sacked),
            lost_packets: u64::from(info.lost),
            acked_bytes: info.bytes_acked,
            sent_bytes: info.bytes_sent,
            retransmissions: info.retransmissions,
            timeouts: info.timeouts,
            peer_window_bytes: info.peer_window,
            delivery_bytes_per_s: info.delivery_rate,
            pacing_bytes_per_s: known(info.pacing_rate),
            sent_packets: info.segments_sent,
            received_packets: receiver.segments_received,
            received_bytes: receiver.bytes_read,
        }
    }
}

impl QueueRow {
    /// A sample of `port`'s queue.
    pub fn new(port: Name, now: Instant, statistics: &Statistics) -> Self {
        Self {
            port,
            time_ns: now.as_ns(),
            backlog_packets: statistics.backlog_packets,
            backlog_bytes: statistics.backlog_bytes,
            enqueued_packets: statistics.enqueued_packets,
            sent_packets: statistics.sent_packets,
            sent_bytes: statistics.sent_bytes,
            dropped_packets: statistics.dropped_packets,
            dropped_bytes: statistics.dropped_bytes,
            marked_packets: statistics.marked_packets,
            gap_frames: statistics.gap_frames,
            gap_bytes: statistics.gap_bytes,
        }
    }
}

impl ClassRow {
    /// A sample of `class` at `port`.
    pub fn new(port: Name, class: Name, now: Instant, statistics: &Statistics) -> Self {
        Self {
            port,
            class,
            time_ns: now.as_ns(),
            backlog_packets: statistics.backlog_packets,
            backlog_bytes: statistics.backlog_bytes,
            enqueued_packets: statistics.enqueued_packets,
            sent_packets: statistics.sent_packets,
            sent_bytes: statistics.sent_bytes,
            dropped_packets: statistics.dropped_packets,
            dropped_bytes: statistics.dropped_bytes,
            marked_packets: statistics.marked_packets,
        }
    }
}

impl PauseRow {
    /// A sample of `port`'s flow control.
    pub fn new(port: Name, now: Instant, counted: &Counters) -> Self {
        let paused = |priority: usize| counted.stopped[priority].as_ns();
        Self {
            port,
            time_ns: now.as_ns(),
            sent_frames: counted.pauses_sent,
            received_frames: counted.pauses_received,
            paused_0_ns: paused(0),
            paused_1_ns: paused(1),
            paused_2_ns: paused(2),
            paused_3_ns: paused(3),
            paused_4_ns: paused(4),
            paused_5_ns: paused(5),
            paused_6_ns: paused(6),
            paused_7_ns: paused(7),
        }
    }

    /// For how long the far end had stopped each priority, in nanoseconds.
    pub const fn paused_ns(&self) -> [u64; PRIORITIES] {
        [
            self.paused_0_ns,
            self.paused_1_ns,
            self.paused_2_ns,
            self.paused_3_ns,
            self.paused_4_ns,
            self.paused_5_ns,
            self.paused_6_ns,
            self.paused_7_ns,
        ]
    }
}

/// Every name a plan's rows may need: flows, then ports, then probes, classes and kinds of delay.
#[derive(Clone, Debug)]
pub struct PlanNames {
    names: Names,
    flows: usize,
}

impl PlanNames {
    /// The names of `plan`.
    pub fn new(plan: &Plan) -> Self {
        let flows = plan.flows.iter().map(|flow| flow.name.clone());
        let port = |link: &Link, end: usize| {
            format!("{}:{}", plan.nodes[link.ends[end].node].name, link.name)
        };
        let ports = plan.links.iter().flat_map(|link| [port(link, 0), port(link, 1)]);
        Self { names: Names::new(flows.chain(ports).collect()), flows: plan.flows.len() }
    }

    /// A flow's name.
    pub fn flow(&self, flow: FlowId) -> Name {
        Name(flow.0)
    }

    /// A port's name, `NODE:LINK` as in a scenario.
    pub fn port(&self, port: PortId) -> Name {
        Name(u32::try_from(self.flows).unwrap_or(u32::MAX).saturating_add(port.0))
    }

    /// The name of a class at a port, `NODE:LINK CLASS`.
    pub fn class(&mut self, port: PortId, class: &str) -> Name {
        let name = format!("{} {class}", self.names.text(self.port(port)));
        self.names.intern(&name)
    }

    /// The name of a probe, a class or a kind of delay.
    pub fn other(&mut self, name: &str) -> Name {
        self.names.intern(name)
    }

    /// All of them.
    pub fn into_names(self) -> Names {
        self.names
    }
}
