//! Frames that carry no data: what a port tells the port at the other end of its wire, or a switch a sender.
//!
//! In the arena such a frame is a packet of [`FlowId::CONTROL`]; what it says lies beside
//! ([`Packets::control`]), for there are few of them.
//!
//! [`Packets::control`]: crate::Packets::control

use crate::packet::FlowId;
use crate::units::{Bytes, Duration, Rate};

/// Priorities that Ethernet tells apart (IEEE 802.1Q, 6.6: three bits).
pub const PRIORITIES: usize = 8;

/// What a control frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Stop sending, or go on.
    Pause(Pause),
    /// A switch found its queue congested by a flow.
    Notification(Notification),
}

/// A PAUSE frame (IEEE 802.3, annex 31B), or a priority-based one (IEEE 802.1Qbb; 802.3, annex 31D).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// The priorities that it speaks of, one bit each; the others go on as they are.
    pub enabled: u8,
    /// For how long each of them stops, in quanta of 512 bit times; zero lets it go on.
    pub quanta: [u16; PRIORITIES],
}

impl Pause {
    /// Of all that a port sends (802.3 annex 31B).
    pub const fn port(quanta: u16) -> Self {
        Self { enabled: u8::MAX, quanta: [quanta; PRIORITIES] }
    }

    /// Of one priority, 0 to 7; of none otherwise.
    pub const fn priority(priority: u8, quanta: u16) -> Self {
        let enabled = if priority < PRIORITIES as u8 { 1 << priority } else { 0 };
        Self { enabled, quanta: [quanta; PRIORITIES] }
    }

    /// For how long a priority stops at a port of `rate`; `None` if the frame does not speak of it.
    pub fn time(&self, priority: u8, rate: Rate) -> Option<Duration> {
        let quanta = *self.quanta.get(usize::from(priority))?;
        let spoken_of = self.enabled >> priority & 1 == 1;
        spoken_of.then(|| rate.time_for(Bytes(64 * u64::from(quanta))))
    }
}

/// A congestion notification (IEEE 802.1Qau, QCN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The flow whose packet was sampled.
    pub flow: FlowId,
    /// How congested the queue is: the quantised feedback, 0 to 63.
    pub feedback: u8,
}
