//! Packet metadata, and the arena that holds every packet of a run.
//!
//! Plain data within two cache lines: the headers of a TCP segment or a UDP datagram over Ethernet, without
//! its payload. A packet is written once, then travels as a 4-byte handle and is never copied on its way.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::classify::Fields;
use crate::control::{Control, Notification};
use crate::discipline::DropReason;
use crate::header::Header;
use crate::units::Instant;

/// Ethernet header and frame check sequence: the difference between a frame and its IP datagram.
pub const ETHERNET_HEADER_AND_FCS: u32 = 18;
/// Preamble with start delimiter (8) and the least inter-packet gap (12): the overhead of a frame on the
/// wire.
pub const PREAMBLE_AND_GAP: u32 = 20;
/// The shortest Ethernet frame, header and FCS included.
pub const FRAME_MIN: u32 = 64;

/// A flow (one TCP connection, or the datagrams of one source), numbered within its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The id of gap frames that a driver really sends: no flow of a run has it.
    pub const GAP: Self = Self(u32::MAX);
    /// The id of control frames: no flow of a run has it.
    pub const CONTROL: Self = Self(u32::MAX - 1);
    /// The id of congestion notifications, which are forwarded from a switch to a sender like packets.
    pub const NOTIFICATION: Self = Self(u32::MAX - 2);
}

/// A host or other node that can be the source or destination of a packet, or one interface of a host with
/// several, each with its own address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u16);

/// The protocol of an IP packet, by IANA's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Protocol {
    /// Transmission control protocol (RFC 9293).
    #[default]
    Tcp = 6,
    /// User datagram protocol (RFC 768).
    Udp = 17,
}

/// TCP flag bits (RFC 9293, section 3.1), as on the wire.
pub mod flags {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement field counts.
    pub const ACK: u8 = 0x10;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 0x80;
}

/// The ECN field of the IP header (RFC 3168, section 5): the low two bits of `Packet::tos`.
pub mod ecn {
    /// The transport does not speak ECN.
    pub const NOT_ECT: u8 = 0b00;
    /// ECN-capable transport, code point 1.
    pub const ECT1: u8 = 0b01;
    /// ECN-capable transport, code point 0.
    pub const ECT0: u8 = 0b10;
    /// Congestion experienced.
    pub const CE: u8 = 0b11;
    /// The field's mask within the TOS byte.
    pub const MASK: u8 = 0b11;
}

/// One SACK block (RFC 2018): `[start, end)` in wire sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte of the block.
    pub start: u32,
    /// First byte after the block.
    pub end: u32,
}

/// The most SACK blocks in a segment; three when timestamps are on (RFC 2018, section 3).
pub const SACK_BLOCKS_MAX: usize = 4;

/// The TCP header of a segment, with the supported options.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp {
    /// Sequence number of the first payload byte.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Timestamp value (RFC 7323); meaningful if `has_timestamps`.
    pub ts_val: u32,
    /// Timestamp echo reply.
    pub ts_ecr: u32,
    /// Receive window as on the wire, before scaling.
    pub window: u16,
    /// Maximum segment size option; on a SYN only, zero if absent.
    pub mss: u16,
    /// Flag bits, see [`flags`].
    pub flags: u8,
    /// The number of valid entries in `sack`.
    pub sack_len: u8,
    /// Window scale option; on a SYN only, 255 if absent.
    pub window_scale: u8,
    /// The SACK-permitted option; on a SYN only.
    pub sack_permitted: bool,
    /// Whether the timestamps option is present.
    pub has_timestamps: bool,
    /// SACK blocks, the most recent first; a DSACK block (RFC 2883) comes first.
    pub sack: [SackBlock; SACK_BLOCKS_MAX],
}

/// A packet's metadata.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Packet {
    /// When the transport gave the packet to the interface.
    pub created: Instant,
    /// When the packet entered its current queue, for its sojourn time.
    pub queued: Instant,
    /// The sender TCP's report of how long it was limited. For statistics, not on the wire.
    pub limited: u64,
    /// Length of the Ethernet frame, with header and FCS, without preamble and gap.
    pub length: u32,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// The source host.
    pub source: HostId,
    /// The destination host.
    pub destination: HostId,
    /// IP type of service: DSCP in the high six bits, ECN in the low two.
    pub tos: u8,
    /// Whether this transmission is a retransmission (known to the sender's probe, not on the
    /// wire).
    pub retransmission: bool,
    /// The transport protocol.
    pub protocol: Protocol,
    /// The number of frames on the wire, more than one for a TCP segment that is left to be split; 0 means
    /// one.
    pub frames: u8,
    /// Whether a link damaged the packet: its checksum is wrong, and the receiver detects it.
    pub corrupted: bool,
    /// Whether a link changed a bit of the payload and left the checksum right, which only the application
    /// can detect.
    pub altered: bool,
    /// The packet's priority, 0 to 7: initially the class selector of its DSCP (RFC 2474, section 4.2.2),
    /// then the value of the field that a node trusts on input.
    pub priority: u8,
    /// The packet's class in the latest discipline with classes: its number plus one; 0 is none.
    pub class: u16,
    /// The port through which the packet entered its current node, numbered within that node; for nodes that
    /// account memory by port.
    pub ingress: u16,
    /// The port of the queue that holds the packet: its number plus one; 0 if none. For port types that track
    /// ownership.
    pub holder: u32,
    /// The next packet of the queue that this one is in, unless it is the last: only queues write it.
    pub behind: PacketId,
    /// The class that a driver's own filters chose, before those of the discipline: its position among
    /// [`Discipline::classes`](crate::Discipline::classes) plus one; 0 is none.
    pub assigned: u16,
    /// The TCP segment. For a UDP datagram only `payload` is on the wire; `seq` counts the payload bytes
    /// before it, for traces.
    pub tcp: Tcp,
}

impl Packet {
    /// The default priority of a type of service: its DSCP's class selector.
    pub const fn priority_of(tos: u8) -> u8 {
        tos >> 5
    }

    /// Sets the packet's class to `number`; a number that does not fit in 16 bits sets none.
    #[inline]
    pub(crate) const fn enter_class(&mut self, number: usize) {
        self.class = if number < u16::MAX as usize { number as u16 + 1 } else { 0 };
    }

    /// Marks "congestion experienced" instead of dropping, if the transport supports ECN (RFC 3168, section
    /// 5). Otherwise returns false and changes nothing.
    #[inline]
    pub fn mark(&mut self) -> bool {
        let capable = self.tos & ecn::MASK != ecn::NOT_ECT;
        if capable {
            self.tos |= ecn::CE;
        }
        capable
    }
}

const _: () = assert!(size_of::<Packet>() <= 128, "a packet is at most two cache lines");

/// A packet's handle: its place in [`Packets`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(u32);

impl PacketId {
    /// The packet in the place of that number, for a driver that stores packet bytes by place.
    pub const fn at(place: u32) -> Self {
        Self(place)
    }

    /// The number of the packet's place.
    pub const fn place(self) -> u32 {
        self.0
    }
}

/// The header fields of a flow that are the same in all its packets, for the classifier.
#[derive(Clone, Copy, Debug)]
struct FlowHeaders {
    /// The host that sends packets with the `forward` fields. Packets of all other hosts have the `back`
    /// fields.
    from: HostId,
    forward: Fields,
    back: Fields,
}

impl FlowHeaders {
    fn new(from: HostId, forward: Option<&Header>) -> Self {
        let back = forward.map(Header::reversed);
        Self { from, forward: Fields::of(forward), back: Fields::of(back.as_ref()) }
    }
}

/// All packets of a run, and the list of packets dropped since the driver last took them.
///
/// The arena grows when a run first needs more packets at once, and never per packet.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    free: Vec<PacketId>,
    dropped: VecDeque<(PacketId, DropReason)>,
    /// The headers of each flow.
    headers: Vec<FlowHeaders>,
    /// The headers of the packet in each place, instead of those of its flow; empty unless the driver sets them.
    own_headers: Vec<Fields>,
    /// The latest control frame in each place.
    controls: Vec<Option<Control>>,
    /// Whether the number of places is fixed.
    fixed: bool,
}

impl Packets {
    /// An empty arena.
    pub const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            dropped: VecDeque::new(),
            headers: Vec::new(),
            own_headers: Vec::new(),
            controls: Vec::new(),
            fixed: false,
        }
    }

    /// An arena with `places` free places, for a driver that stores packet bytes by place. It never grows if
    /// only [`Packets::try_alloc`] allocates.
    pub fn with_places(places: u32) -> Self {
        let free = (0..places).rev().map(PacketId).collect();
        let slots = vec![Packet::default(); places as usize];
        Self { slots, free, fixed: true, ..Self::new() }
    }

    /// Like [`Packets::with_places`], for a driver that sets the headers of each packet: it knows no flows
    /// beforehand.
    pub fn with_headers(places: u32) -> Self {
        let own_headers = vec![Fields::of(None); places as usize];
        let dropped = VecDeque::with_capacity(places as usize);
        Self { own_headers, dropped, ..Self::with_places(places) }
    }

    /// Copies a packet into a new place, without an owner; `None` if the driver has no free place.
    pub fn duplicate(&mut self, id: PacketId) -> Option<PacketId> {
        let copy = if self.fixed { self.free.pop()? } else { self.alloc() };
        self[copy] = Packet { holder: 0, ..self[id] };
        if let Some(&own) = self.own_headers.get(id.0 as usize) {
            self.own_headers[copy.0 as usize] = own;
        }
        if let Some(control) = self.control(id).filter(|_| self[id].flow == FlowId::CONTROL) {
            self.set_control(copy, control);
        }
        Some(copy)
    }

    /// Like [`Packets::alloc`], but `None` if the arena would have to grow.
    #[inline]
    pub fn try_alloc(&mut self) -> Option<PacketId> {
        self.free.pop()
    }

    /// Sets the headers of `flow`'s packets from the host `from`. Packets in the other direction have them
    /// reversed.
    pub fn describe(&mut self, flow: FlowId, from: HostId, forward: Header) {
        let place = flow.0 as usize;
        if self.headers.len() <= place {
            self.headers.resize(place + 1, FlowHeaders::new(from, None));
        }
        self.headers[place] = FlowHeaders::new(from, Some(&forward));
    }

    /// Sets the headers of one packet, in an arena of [`Packets::with_headers`]; does nothing in others.
    #[inline]
    pub fn set_header(&mut self, id: PacketId, header: &Header) {
        if let Some(own) = self.own_headers.get_mut(id.0 as usize) {
            *own = Fields::of(Some(header));
        }
    }

    /// Forgets the headers of every place: classifiers find no field in them, and segments are blank.
    pub fn forget_headers(&mut self) {
        for packet in &mut self.slots {
            (packet.protocol, packet.tcp) = (Protocol::default(), Tcp::default());
        }
        self.own_headers.fill(Fields::of(None));
    }

    /// Forgets the class of every packet: a discipline may have renumbered its classes.
    pub fn forget_classes(&mut self) {
        self.slots.iter_mut().for_each(|packet| packet.class = 0);
    }

    /// A packet's fields for a classifier: its metadata, and its own headers, or those of its flow if they were
    /// described.
    #[inline]
    pub fn fields(&self, id: PacketId) -> Fields {
        let packet = &self[id];
        let mut fields = match self.own_headers.get(id.0 as usize) {
            Some(own) => *own,
            None => self.flow_fields(packet),
        };
        fields.add(packet);
        fields
    }

    /// The headers of a packet's flow in the packet's direction, if they were described.
    #[inline]
    fn flow_fields(&self, packet: &Packet) -> Fields {
        match self.headers.get(packet.flow.0 as usize) {
            Some(flow) if packet.source == flow.from => flow.forward,
            Some(flow) => flow.back,
            None => Fields::of(None),
        }
    }

    /// Allocates a place for a new packet; it still holds the contents of an earlier packet.
    #[inline]
    pub fn alloc(&mut self) -> PacketId {
        self.free.pop().unwrap_or_else(|| {
            let id = PacketId(u32::try_from(self.slots.len()).expect("fewer than 2^32 packets"));
            self.slots.push(Packet::default());
            id
        })
    }

    /// Puts `packet` into the arena.
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let id = self.alloc();
        self[id] = packet;
        id
    }

    /// Puts a control frame into the arena, with the length of the shortest frame.
    pub fn insert_control(&mut self, control: Control) -> PacketId {
        let (flow, length) = (FlowId::CONTROL, FRAME_MIN);
        if let Control::Notification(notification) = control {
            return self.insert(Packet { length, ..notification.packet() });
        }
        let id = self.insert(Packet { flow, length, ..Packet::default() });
        self.set_control(id, control);
        id
    }

    fn set_control(&mut self, id: PacketId, control: Control) {
        let place = id.0 as usize;
        if place >= self.controls.len() {
            self.controls.resize(place + 1, None);
        }
        self.controls[place] = Some(control);
    }

    /// Like [`Packets::insert_control`], but `None` if a driver stores packet bytes by place and has no free
    /// place.
    pub fn try_insert_control(&mut self, control: Control) -> Option<PacketId> {
        let full = self.fixed && self.free.is_empty();
        (!full).then(|| self.insert_control(control))
    }

    /// The contents of a control frame; `None` if the packet is not one.
    pub fn control(&self, id: PacketId) -> Option<Control> {
        if let Some(notification) = Notification::of(&self[id]) {
            return Some(Control::Notification(notification));
        }
        let is_control = self[id].flow == FlowId::CONTROL;
        self.controls.get(id.0 as usize).copied().flatten().filter(|_| is_control)
    }

    /// Removes a packet from the arena, after it arrived or its drop was recorded.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        debug_assert!(self.free.len() > 1_000 || !self.free.contains(&id), "released twice");
        self.free.push(id);
    }

    /// Drops a packet: it stays readable until the driver takes it from [`Packets::take_dropped`].
    pub fn discard(&mut self, id: PacketId, reason: DropReason) {
        self.dropped.push_back((id, reason));
    }

    /// Takes the oldest dropped packet; the caller records and then releases it.
    #[inline]
    pub fn take_dropped(&mut self) -> Option<(PacketId, DropReason)> {
        self.dropped.pop_front()
    }

    /// The number of dropped packets that are not yet taken.
    #[inline]
    pub fn dropped(&self) -> usize {
        self.dropped.len()
    }

    /// Whether the packet was dropped and not yet taken; searches all such packets.
    pub fn is_dropped(&self, id: PacketId) -> bool {
        self.dropped.iter().any(|&(dropped, _)| dropped == id)
    }

    /// The packets with that [`Packet::holder`]; searches all places.
    pub fn held_by(&self, holder: u32) -> impl Iterator<Item = (PacketId, &Packet)> {
        let all = (0..).map(PacketId).zip(&self.slots);
        all.filter(move |(_, packet)| packet.holder == holder)
    }

    /// Places, in use or free.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// Packets alive: travelling, queued or dropped and not yet recorded.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl Index<PacketId> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.slots[id.0 as usize]
    }
}

impl IndexMut<PacketId> for Packets {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id.0 as usize]
    }
}
