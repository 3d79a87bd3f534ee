//! Frames without data: from a port to the port at the other end of its link, or from a switch to a sender.
//!
//! In the arena such a frame is a packet of [`FlowId::CONTROL`]. Its contents are stored separately
//! ([`Packets::control`]), because there are few such frames. A congestion notification, of
//! [`FlowId::NOTIFICATION`], carries its contents in the packet: it crosses several hops and may be copied on
//! the way.
//!
//! [`Packets::control`]: crate::Packets::control

use base::packet::{FlowId, Packet, Tcp};
use base::priorities::{PRIORITIES, Priorities};
use base::units::{Bytes, Duration, Rate};

/// The contents of a control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Pauses or resumes sending.
    Pause(Pause),
    /// A switch found its queue congested by a flow.
    Notification(Notification),
}

/// A PAUSE frame (IEEE 802.3, annex 31B), or a priority-based one (IEEE 802.1Qbb; 802.3, annex 31D).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// The priorities that the frame applies to; others do not change.
    pub enabled: Priorities,
    /// The pause time of each priority, in quanta of 512 bit times; zero resumes it.
    pub quanta: [u16; PRIORITIES],
}

impl Pause {
    /// A pause of the whole port (802.3 annex 31B).
    pub const fn port(quanta: u16) -> Self {
        Self { enabled: Priorities::ALL, quanta: [quanta; PRIORITIES] }
    }

    /// A pause of one priority, 0 to 7; of none otherwise.
    pub const fn priority(priority: u8, quanta: u16) -> Self {
        Self { enabled: Priorities::one(priority), quanta: [quanta; PRIORITIES] }
    }

    /// The pause time of an 802.3 PAUSE frame, which applies to all priorities; `None` for a priority-based
    /// one.
    pub fn of_port(&self) -> Option<u16> {
        let [first, ..] = self.quanta;
        (self.enabled == Priorities::ALL && self.quanta == [first; PRIORITIES]).then_some(first)
    }

    /// The response time of a port of `rate` after the frame's arrival. The maximum is used: 2 quanta up to 1
    /// Gbit/s (802.3, 31B.3.7); for faster ports the allowance in the headroom of switches for the far end
    /// (SONiC's table by speed, of 64 bytes each).
    pub fn response(rate: Rate) -> Duration {
        const GIGABIT: u64 = 1_000_000_000;
        let quanta = match rate.bits_per_second().div_ceil(GIGABIT) {
            0..=1 => 2,
            2..=10 => 67,
            11..=25 => 80,
            26..=40 => 118,
            41..=50 => 147,
            51..=100 => 394,
            101..=200 => 453,
            _ => 905,
        };
        rate.time_for(Bytes(64 * quanta))
    }

    /// The pause time of a priority at a port of `rate`; `None` if the frame does not name the priority.
    pub fn time(&self, priority: u8, rate: Rate) -> Option<Duration> {
        let quanta = *self.quanta.get(usize::from(priority))?;
        self.enabled.contains(priority).then(|| rate.time_for(Bytes(64 * u64::from(quanta))))
    }
}

/// A congestion notification message (CNM; IEEE 802.1Q, clause 33.3), from a congestion point to the sender
/// of the sampled frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The flow of the sampled frame: the flow identifier of its CN-TAG.
    pub flow: FlowId,
    /// The frame's priority.
    pub priority: u8,
    /// The congestion point (CPID): unique within the network.
    pub point: u64,
    /// The quantised feedback, 1 to 63: how congested the queue is.
    pub feedback: u8,
    /// The set point less the length of the queue, in units of 64 bytes (cnmQOffset).
    pub offset: i16,
    /// The growth of the queue since the previous sample, in units of 64 bytes (cnmQDelta).
    pub delta: i16,
}

impl Notification {
    /// Bytes in the units of the message, 64 bytes: rounded towards zero, and saturated.
    pub fn units(bytes: i64) -> i16 {
        let units = bytes / 64;
        i16::try_from(units).unwrap_or(if units < 0 { i16::MIN } else { i16::MAX })
    }

    /// The packet of the notification: it uses the fields of the TCP header, which such a packet does not
    /// have.
    pub(crate) fn packet(&self) -> Packet {
        let Self { flow: FlowId(flow), priority, point, feedback, offset, delta } = *self;
        let tcp = Tcp {
            seq: flow,
            ts_val: (point >> 32) as u32,
            ts_ecr: point as u32,
            window: offset as u16,
            mss: delta as u16,
            flags: feedback,
            window_scale: priority,
            ..Tcp::default()
        };
        Packet { flow: FlowId::NOTIFICATION, tcp, ..Packet::default() }
    }

    /// The notification in a packet; `None` if the packet is not one.
    pub fn of(packet: &Packet) -> Option<Self> {
        let tcp = &packet.tcp;
        (packet.flow == FlowId::NOTIFICATION).then_some(Self {
            flow: FlowId(tcp.seq),
            priority: tcp.window_scale,
            point: u64::from(tcp.ts_val) << 32 | u64::from(tcp.ts_ecr),
            feedback: tcp.flags,
            offset: tcp.window as i16,
            delta: tcp.mss as i16,
        })
    }
}

/// The default priority of congestion notifications (IEEE 802.1Q, 12.21.1: cngCnmTransmitPriority).
pub const NOTIFICATION_PRIORITY: u8 = 6;
