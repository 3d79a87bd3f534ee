//! Departures known when a packet is queued.
//!
//! A drop-tail queue sends in order, so the time at which a packet leaves is known when it arrives. The port puts it onto
//! the wire at once, with that time, and needs no event when its wire becomes free. Until then, the packet counts as
//! queued.
//!
//! Events at one time run in the order arrivals, ports, nodes, and only arrivals queue packets here. So when a packet
//! arrives exactly when the next one leaves, that one still occupies its place in the queue. Without looking ahead, the
//! arrival then makes the port send; here, too, only a packet that the queue takes does so.

use base::{Instant, PacketId};
use traffic::Discipline;
use traffic::qdisc::Qdisc;

use super::{Offered, Port};
use crate::context::{Context, Egress};
use crate::custody::{Fate, Left, Owner};
use crate::observer::Observer;

/// A packet on its way that counts as queued until its first bit leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Departure {
    start: Instant,
    length: u32,
}

impl Port {
    /// Sends packets ahead of time from now on, if the port is a plain one: a FIFO that nothing can stop, on a device
    /// without a buffer, at a constant rate. Only arrivals may offer packets to it, nothing may change it during the
    /// run, and no observer may need its packets in the order of time. Its counters are those of the time of the last
    /// [`Port::settle`].
    pub fn look_ahead(&mut self) {
        self.ahead = matches!(self.qdisc(), Qdisc::Fifo(_))
            && self.device.is_plain()
            && self.flow_control.is_none()
            && self.reaction_points.is_none()
            && self.is_empty();
    }

    /// Counts the packets that have left by `now`.
    pub fn settle(&mut self, now: Instant) {
        self.settle_if(|start| start <= now);
    }

    /// Whether it sends ahead of time: then its queued packets are on the link already.
    pub fn is_ahead(&self) -> bool {
        self.ahead
    }

    #[inline]
    fn settle_if(&mut self, has_left: impl Fn(Instant) -> bool) {
        let Qdisc::Fifo(fifo) = self.qdisc.get_mut() else { return };
        while let Some(Departure { start, length }) = self.departures.first()
            && has_left(start)
        {
            self.departures.pop();
            fifo.sent(length);
        }
    }

    /// Takes a packet that arrives while others count as queued, or the wire is busy.
    #[inline]
    pub(super) fn send_ahead<E: Egress, O: Observer, W: Owner>(
        &mut self,
        packet: PacketId,
        length: u32,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Offered {
        let now = cx.now;
        self.settle_if(|start| start < now);
        let Qdisc::Fifo(fifo) = self.qdisc.get_mut() else { return Offered::Ready };
        let idle = now >= self.device.ready_at() && fifo.pass(cx.packets, packet);
        if !idle {
            if let Err(reason) = fifo.admit(length) {
                return self.refuse(packet, reason, owner, cx);
            }
            let start = self.device.free_at();
            self.settle_if(|start| start == now);
            self.departures.push(Departure { start, length });
        }
        let sent = &mut cx.packets[packet];
        sent.queued = now;
        owner.left(Left { id: packet, packet: sent, fate: Fate::Sent });
        self.send(packet, length, cx);
        if idle { Offered::Sent } else { Offered::Queued }
    }
}
