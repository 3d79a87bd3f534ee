//! Ingress: what a node does to a packet between its arrival at a port and its way through the node.
//!
//! A control frame goes no further than the port that it speaks to, and a damaged packet no further than the host
//! that it reaches. Any other packet is given its priority, and then conditioned: marked, or dropped.

use traffic::condition::Conditioner;
use traffic::{Bytes, Control, DropReason, DscpMap, FlowId, Packet, PacketId, PcpMap};

use crate::node::{Context, Egress};
use crate::observer::{Observer, Place};
use crate::port::Port;

/// Which field says a packet's priority, and which one: unless said otherwise that of the frame's tag, which is the priority
/// that it had at the node before (IEEE 802.1Q, 6.9.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// The priority of each code point, if packets have theirs by the DSCP.
    pub dscp: Option<DscpMap>,
    /// What a tag's priority becomes (6.9.4), for packets if they have none by the DSCP, and for all that has no DSCP.
    pub pcp: Option<PcpMap>,
}

impl Trust {
    /// The priority of a packet with that DSCP whose tag has that priority.
    #[inline]
    pub fn of_packet(&self, dscp: u8, tag: u8) -> u8 {
        self.dscp.as_ref().map_or_else(|| self.of_tag(tag), |map| map.priority(dscp))
    }

    /// The priority of a frame without a DSCP whose tag has that one.
    #[inline]
    pub fn of_tag(&self, tag: u8) -> u8 {
        self.pcp.as_ref().map_or(tag, |map| map.priority(tag))
    }
}

/// What becomes of a congestion notification that comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notifications {
    /// It goes on to the sender that it is for: within a network of switches.
    #[default]
    Forward,
    /// The port takes it: it has arrived.
    Take,
    /// It is lost: a router forwards no such frame.
    Discard,
}

/// The ingress side of one port.
#[derive(Debug, Default)]
pub struct Side {
    /// What is done to the packets that come in.
    pub conditioner: Option<Conditioner>,
    /// Where their priority comes from.
    pub trust: Trust,
    /// Whether the far end sends control frames.
    pub control: bool,
    /// What becomes of congestion notifications.
    pub notifications: Notifications,
    /// What still comes in after the far end was told to stop: see [`crate::headroom`].
    pub headroom: Bytes,
    /// Whether checksums are verified, as hosts do: of use where a link damages packets.
    pub verifies: bool,
    /// Whether the port's discipline is told what comes in.
    pub listens: bool,
}

impl Side {
    /// Whether packets pass as they are.
    const fn is_plain(&self) -> bool {
        self.conditioner.is_none()
            && !self.control
            && !self.verifies
            && !self.listens
            && matches!(self.notifications, Notifications::Forward)
            && matches!(self.trust, Trust { dscp: None, pcp: None })
    }
}

/// The ingress side of a node's ports.
#[derive(Debug)]
pub struct Ingress {
    /// The node's number.
    node: u32,
    /// By port; `None` if packets pass all of them as they are.
    sides: Option<Box<[Side]>>,
}

impl Ingress {
    /// Of the node of that number, whose ports have these sides.
    pub(crate) fn new(node: u32, sides: Vec<Side>) -> Self {
        let plain = sides.iter().all(Side::is_plain);
        Self { node, sides: (!plain).then(|| sides.into_boxed_slice()) }
    }

    /// The conditioner of the port of that number, if it has one.
    pub fn conditioner(&self, port: usize) -> Option<&Conditioner> {
        self.sides.as_ref()?.get(port)?.conditioner.as_ref()
    }

    /// The port's discipline, of `ports` that there are, is told what comes in there, or no longer.
    pub(crate) fn listen(&mut self, number: usize, ports: usize, listens: bool) {
        if self.sides.is_none() && listens {
            self.sides = Some((0..ports).map(|_| Side::default()).collect());
        }
        if let Some(side) = self.sides.as_mut().and_then(|sides| sides.get_mut(number)) {
            side.listens = listens;
        }
    }

    /// Whether a packet that arrived at the port of that number goes on into the node; if not, it is gone.
    #[inline]
    pub(crate) fn admit<E: Egress, O: Observer>(
        &mut self,
        ports: &mut [Port],
        number: u16,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> bool {
        self.sides.is_none() || self.examine(ports, number, packet, cx)
    }

    /// The same where there is something to be done.
    #[inline(never)]
    fn examine<E: Egress, O: Observer>(
        &mut self,
        ports: &mut [Port],
        number: u16,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> bool {
        let number = usize::from(number);
        let Some(side) = self.sides.as_mut().and_then(|sides| sides.get_mut(number)) else {
            return true;
        };
        if matches!(cx.packets[packet].flow, FlowId::CONTROL | FlowId::NOTIFICATION) {
            return self.take_control(ports, number, packet, cx);
        }
        if side.verifies && cx.packets[packet].corrupted {
            cx.drop(Place::Node(self.node), packet, DropReason::Checksum);
            return false;
        }
        let arrived: &mut Packet = &mut cx.packets[packet];
        arrived.priority = side.trust.of_packet(arrived.tos >> 2, arrived.priority);
        if side.listens {
            ports[number].acknowledged(&cx.packets[packet], cx.now);
        }
        let Some(conditioner) = &mut side.conditioner else { return true };
        let verdict = conditioner.condition(cx.packets, packet, cx.now);
        if let Err(reason) = verdict {
            cx.drop(Place::Node(self.node), packet, reason);
        }
        verdict.is_ok()
    }

    /// Takes a control frame, or discards it; true for a congestion notification that goes on to a sender.
    #[inline(never)]
    fn take_control<E: Egress, O: Observer>(
        &self,
        ports: &mut [Port],
        number: usize,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> bool {
        let Some(side) = self.sides.as_ref().and_then(|sides| sides.get(number)) else {
            return true;
        };
        let said = cx.packets.control(packet);
        let takes = match said {
            Some(Control::Pause(_)) => side.control,
            Some(Control::Notification(_)) => match side.notifications {
                Notifications::Forward => {
                    let arrived: &mut Packet = &mut cx.packets[packet];
                    arrived.priority = side.trust.of_tag(arrived.priority);
                    return true;
                }
                Notifications::Take => true,
                Notifications::Discard => {
                    cx.drop(Place::Node(self.node), packet, DropReason::NoRoute);
                    return false;
                }
            },
            None => false,
        };
        cx.packets.release(packet);
        if let (Some(said), true) = (said, takes) {
            ports[number].take_control(&said, cx);
        }
        false
    }
}
