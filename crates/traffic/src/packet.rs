//! A packet's metadata, and the arena that every packet of a run lives in.
//!
//! Plain old data within two cache lines: what a TCP segment or a UDP datagram over Ethernet says, and
//! nothing of what it carries. A packet is written once, then travels as a 4-byte handle; nothing copies it on
//! its way.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::classify::Fields;
use crate::control::{Control, Notification};
use crate::discipline::DropReason;
use crate::header::Header;
use crate::units::Instant;

/// Ethernet header and frame check sequence: what a frame adds to its IP datagram.
pub const ETHERNET_HEADER_AND_FCS: u32 = 18;
/// Preamble with start delimiter (8) and the least inter-packet gap (12): what a frame costs on the
/// wire beyond its own bytes.
pub const PREAMBLE_AND_GAP: u32 = 20;
/// The shortest Ethernet frame, header and FCS included.
pub const FRAME_MIN: u32 = 64;

/// A flow (one TCP connection, or the datagrams of one source), numbered within its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// That of the gap frames which a driver really sends: no flow of a run has this number.
    pub const GAP: Self = Self(u32::MAX);
    /// That of control frames: no flow of a run has this number either.
    pub const CONTROL: Self = Self(u32::MAX - 1);
    /// That of congestion notifications, which go from a switch to a sender as packets do.
    pub const NOTIFICATION: Self = Self(u32::MAX - 2);
}

/// A host or other node that can be the source or destination of a packet, or one interface of a host with several,
/// which has an address of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u16);

/// What an IP packet carries, by IANA's protocol numbers.
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

/// The TCP header of a segment, with the options this product knows.
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
    /// How many of `sack` count.
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
    /// When the transport gave it to the interface.
    pub created: Instant,
    /// When it entered the queue it is in, for its sojourn time.
    pub queued: Instant,
    /// What its sender's TCP tells the receiver's of how long it was limited; for accounts, not on the wire.
    pub limited: u64,
    /// Length of the Ethernet frame, header and FCS included, preamble and gap not.
    pub length: u32,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Whence.
    pub source: HostId,
    /// Whither.
    pub destination: HostId,
    /// IP type of service: DSCP in the high six bits, ECN in the low two.
    pub tos: u8,
    /// Whether this transmission is a retransmission (known to the sender's probe, not on the
    /// wire).
    pub retransmission: bool,
    /// What it carries.
    pub protocol: Protocol,
    /// Frames that it is on the wire, more than one if a machine left a TCP segment to be cut; 0 says 1.
    pub frames: u8,
    /// Whether a link damaged it: its checksum is wrong, which who receives it finds out.
    pub corrupted: bool,
    /// Whether a link changed a bit of its payload and left the checksum right, which only a program can find out.
    pub altered: bool,
    /// Its priority, 0 to 7: the class selector of its DSCP where it is made (RFC 2474, section 4.2.2), then what a
    /// node that trusts another field reads from that on input.
    pub priority: u8,
    /// The class that the latest discipline with classes put it in: its number plus one; 0 is none.
    pub class: u16,
    /// The port by which it came into the node that it is in, counted within that, where a node's memory is accounted
    /// by ports.
    pub ingress: u16,
    /// Whose queue it is in, for those who keep custody: a port's number plus one; 0 is nobody's.
    pub holder: u32,
    /// The TCP segment. Of a UDP datagram only `payload` is on the wire; `seq` counts the payload bytes
    /// before it, for traces.
    pub tcp: Tcp,
}

impl Packet {
    /// The priority that a type of service asks for where nothing else is said: its DSCP's class selector.
    pub const fn priority_of(tos: u8) -> u8 {
        tos >> 5
    }

    /// A discipline puts it in its class of that number; one that 16 bits do not hold is none.
    #[inline]
    pub(crate) const fn enter_class(&mut self, number: usize) {
        self.class = if number < u16::MAX as usize { number as u16 + 1 } else { 0 };
    }

    /// Marks "congestion experienced" instead of dropping, if the transport speaks ECN (RFC 3168,
    /// section 5). False if it does not; then nothing has changed.
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
    /// The packet in the place of that number: what a driver that keeps packets' bytes by place needs.
    pub const fn at(place: u32) -> Self {
        Self(place)
    }

    /// Its place's number.
    pub const fn place(self) -> u32 {
        self.0
    }
}

/// What the headers of a flow's packets say that no packet changes, as a classifier asks for it.
#[derive(Clone, Copy, Debug)]
struct FlowHeaders {
    /// The host whose packets say what `forward` does; all others' say `back`.
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

/// Every packet of a run, and the list of those dropped since the driver last looked.
///
/// It grows when a run first needs more packets at once, and never per packet.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    free: Vec<PacketId>,
    dropped: VecDeque<(PacketId, DropReason)>,
    /// By flow.
    headers: Vec<FlowHeaders>,
    /// By place what the control frame says that is there, or was.
    controls: Vec<Option<Control>>,
    /// Whether it has no more places than it began with.
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
            controls: Vec::new(),
            fixed: false,
        }
    }

    /// An arena of so many places, none of them in use, for a driver that keeps packets' bytes by place; it
    /// never grows if [`Packets::try_alloc`] alone takes from it.
    pub fn with_places(places: u32) -> Self {
        let free = (0..places).rev().map(PacketId).collect();
        let slots = vec![Packet::default(); places as usize];
        Self { slots, free, fixed: true, ..Self::new() }
    }

    /// A copy of a packet in a place of its own, in nobody's custody; `None` if the driver has no place for it.
    pub fn duplicate(&mut self, id: PacketId) -> Option<PacketId> {
        let copy = if self.fixed { self.free.pop()? } else { self.alloc() };
        self[copy] = Packet { holder: 0, ..self[id] };
        if let Some(control) = self.control(id).filter(|_| self[id].flow == FlowId::CONTROL) {
            self.set_control(copy, control);
        }
        Some(copy)
    }

    /// As [`Packets::alloc`], but `None` where the arena would have to grow.
    #[inline]
    pub fn try_alloc(&mut self) -> Option<PacketId> {
        self.free.pop()
    }

    /// Says what the headers of `flow`'s packets from the host `from` hold. Those of the packets in the
    /// other direction hold the same the other way round.
    pub fn describe(&mut self, flow: FlowId, from: HostId, forward: Header) {
        let place = flow.0 as usize;
        if self.headers.len() <= place {
            self.headers.resize(place + 1, FlowHeaders::new(from, None));
        }
        self.headers[place] = FlowHeaders::new(from, Some(&forward));
    }

    /// A packet as a classifier sees it: its metadata, and its flow's headers if they were described.
    #[inline]
    pub fn fields(&self, id: PacketId) -> Fields {
        let packet = &self[id];
        let headers = self.headers.get(packet.flow.0 as usize);
        let mut fields = match headers {
            Some(flow) if packet.source == flow.from => flow.forward,
            Some(flow) => flow.back,
            None => Fields::of(None),
        };
        fields.add(packet);
        fields
    }

    /// A place for a new packet; what an earlier packet left there is still in it.
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

    /// Puts a control frame into the arena, as long as the shortest frame.
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

    /// As [`Packets::insert_control`], but `None` where a driver keeps packets' bytes by place and has no place left.
    pub fn try_insert_control(&mut self, control: Control) -> Option<PacketId> {
        let full = self.fixed && self.free.is_empty();
        (!full).then(|| self.insert_control(control))
    }

    /// What a control frame says; `None` if the packet is none.
    pub fn control(&self, id: PacketId) -> Option<Control> {
        if let Some(notification) = Notification::of(&self[id]) {
            return Some(Control::Notification(notification));
        }
        let is_control = self[id].flow == FlowId::CONTROL;
        self.controls.get(id.0 as usize).copied().flatten().filter(|_| is_control)
    }

    /// Takes a packet that arrived, or whose drop was recorded, out of the arena.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        debug_assert!(self.free.len() > 1_000 || !self.free.contains(&id), "released twice");
        self.free.push(id);
    }

    /// Drops a packet: it stays readable until the driver takes it from [`Packets::take_dropped`].
    pub fn discard(&mut self, id: PacketId, reason: DropReason) {
        self.dropped.push_back((id, reason));
    }

    /// The packet that was dropped first of those not yet taken; the caller records and then
    /// releases it.
    #[inline]
    pub fn take_dropped(&mut self) -> Option<(PacketId, DropReason)> {
        self.dropped.pop_front()
    }

    /// How many were dropped and not yet taken.
    #[inline]
    pub fn dropped(&self) -> usize {
        self.dropped.len()
    }

    /// Whether it was dropped and not yet taken; a look through all such.
    pub fn is_dropped(&self, id: PacketId) -> bool {
        self.dropped.iter().any(|&(dropped, _)| dropped == id)
    }

    /// The packets in the queue of that [`Packet::holder`]: a look through all places.
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
