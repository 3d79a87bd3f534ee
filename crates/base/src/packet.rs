//! Packet metadata.
//!
//! Plain data within two cache lines: the headers of a TCP segment or a UDP datagram over Ethernet, without
//! its payload. A packet is written once, then travels as a 4-byte handle and is never copied on its way.

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
pub struct HostId(pub u32);

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
    /// The class that a driver's own filters chose, before those of the discipline: its position among the
    /// discipline's classes plus one; 0 is none.
    pub assigned: u16,
    /// The port through which the packet entered its current node, numbered within that node; for nodes that
    /// account memory by port.
    pub ingress: u32,
    /// The port of the queue that holds the packet: its number plus one; 0 if none. For port types that track
    /// ownership.
    pub holder: u32,
    /// The next packet of the queue that this one is in, unless it is the last: only queues write it.
    pub behind: PacketId,
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
    pub const fn enter_class(&mut self, number: usize) {
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

/// A packet's handle: its place in the arena of all packets.
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
