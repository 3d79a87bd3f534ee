//! The events that nodes and drivers report to an observer, which is passed as an argument. They never log.

use base::{Bytes, DropReason, FlowId, Instant, Packet, PacketId};
use traffic::{Control, Statistics};
use transport::Info;

use crate::flow_control::Counters;
use crate::guard::Breach;

/// One direction of a link, and the output port that feeds it: `2 * link + end`, where `end` is the
/// index of the transmitting end in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

/// Where a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// At an output port or on the wire behind it.
    Port(PortId),
    /// Within the node of that number (no route, receive ring).
    Node(u32),
}

/// An event of the run, or a sample that a driver took, in the order of time.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A packet's first bit left `port` at `start`, its last bit leaves at `end`.
    Transmitted {
        /// The port.
        port: PortId,
        /// The packet's handle; `None` if the observer is on another thread.
        id: Option<PacketId>,
        /// The packet.
        packet: &'a Packet,
        /// When its first bit left.
        start: Instant,
        /// When its last bit leaves.
        end: Instant,
    },
    /// A packet that `port` sent ahead of time ([`Port::look_ahead`](crate::Port::look_ahead)) has left. Reported in place
    /// of [`Event::Transmitted`]; in the order of time among those of one port, but no sooner than they are counted.
    Departed {
        /// The port.
        port: PortId,
        /// When the packet was queued.
        queued: Instant,
        /// When its first bit left.
        start: Instant,
    },
    /// A gap frame took the wire of `port`.
    Gap {
        /// The port.
        port: PortId,
        /// Its length.
        length: Bytes,
        /// The start.
        start: Instant,
        /// The end.
        end: Instant,
        /// Whether it is a real frame, which an event [`Event::Frame`] has for captures.
        real: bool,
    },
    /// A control frame took the wire of `port`.
    Control {
        /// The port.
        port: PortId,
        /// The control frame.
        control: Control,
        /// The start.
        start: Instant,
        /// The end.
        end: Instant,
    },
    /// A link made a copy of a packet. An observer that keeps data by packet handle copies it, too.
    Copied {
        /// The packet's handle.
        id: PacketId,
        /// The handle of the copy.
        copy: PacketId,
    },
    /// A packet was dropped.
    Dropped {
        /// The place.
        place: Place,
        /// The packet's handle; `None` if the observer is on another thread.
        id: Option<PacketId>,
        /// The packet.
        packet: &'a Packet,
        /// The reason.
        reason: DropReason,
        /// The time.
        now: Instant,
    },
    /// A port's discipline broke its contract, and a plain FIFO took its place.
    Failed {
        /// The port.
        port: PortId,
        /// The discipline's name.
        name: &'a str,
        /// The breach of contract.
        fault: &'a Breach,
        /// Packets that it did not return.
        lost: u64,
        /// The time.
        now: Instant,
    },
    /// Classes of a port's discipline are about to change: earlier packets with this number belong to the class of
    /// this name; later ones may belong to another class.
    Renumbered {
        /// The port.
        port: PortId,
        /// The class's number until now.
        class: usize,
        /// The class's name.
        name: &'a str,
    },
    /// A packet's last bit arrived at the far end of `port`'s wire.
    Received {
        /// The port that feeds the wire.
        port: PortId,
        /// The packet.
        packet: &'a Packet,
        /// The time.
        now: Instant,
    },
    /// A sample of a flow's sender and receiver.
    FlowSample {
        /// The flow.
        flow: FlowId,
        /// The time.
        now: Instant,
        /// The sender, then the receiver.
        ends: [&'a Info; 2],
    },
    /// A sample of a port's queue.
    QueueSample {
        /// The port.
        port: PortId,
        /// The time.
        now: Instant,
        /// The counters of its discipline.
        statistics: &'a Statistics,
    },
    /// A sample of a class of a port's discipline.
    ClassSample {
        /// The port.
        port: PortId,
        /// The class.
        class: &'a str,
        /// The time.
        now: Instant,
        /// Its counters.
        statistics: &'a Statistics,
    },
    /// A sample of a port's flow control, where one end of the wire may stop the other.
    PauseSample {
        /// The port.
        port: PortId,
        /// The time.
        now: Instant,
        /// Its counters.
        counted: &'a Counters,
    },
    /// A sample of a port's congestion notifications, where a switch may send some.
    NotificationSample {
        /// The port.
        port: PortId,
        /// The time.
        now: Instant,
        /// The notifications sent for its queues.
        sent: u64,
        /// The notifications that its host received.
        received: u64,
    },
    /// A real frame at a captured port, from a driver with real frames.
    Frame {
        /// The port.
        port: PortId,
        /// The frame.
        frame: Captured<'a>,
    },
}

impl Event<'_> {
    /// Whether it is a sample, which a driver takes at times of its own choice.
    #[inline]
    pub const fn is_sample(&self) -> bool {
        matches!(
            self,
            Self::FlowSample { .. }
                | Self::QueueSample { .. }
                | Self::ClassSample { .. }
                | Self::PauseSample { .. }
                | Self::NotificationSample { .. }
        )
    }
}

/// A real frame at a port.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The time at which its first bit left, or at which it was dropped.
    pub at: Instant,
    /// Its first bytes.
    pub bytes: &'a [u8],
    /// Its length without FCS.
    pub length: u32,
    /// Why it was dropped, if it was.
    pub dropped: Option<DropReason>,
}

/// A receiver of events.
pub trait Observer {
    /// Handles an event. An inlined observer pays only for the kinds that it matches.
    fn on(&mut self, event: Event<'_>);

    /// Whether it needs the packets that leave `port` when they leave ([`Event::Transmitted`]). Of other ports, those that
    /// waited may be reported by [`Event::Departed`] only, and in a run in parts, nothing may be.
    fn watches(&self, port: PortId) -> bool {
        let _ = port;
        true
    }
}

/// Ignores all events.
impl Observer for () {
    #[inline]
    fn on(&mut self, _: Event<'_>) {}

    fn watches(&self, _: PortId) -> bool {
        false
    }
}

/// A mutable reference to an observer is an observer.
impl<O: Observer> Observer for &mut O {
    #[inline(always)]
    fn on(&mut self, event: Event<'_>) {
        (**self).on(event);
    }

    fn watches(&self, port: PortId) -> bool {
        (**self).watches(port)
    }
}
