//! Ingress: the processing of a packet between its arrival at a port and the node itself.
//!
//! A control frame ends at the port that it addresses, and a damaged packet at its destination host. Any other
//! packet gets its priority, and is then conditioned: marked, or dropped.

use base::{Bytes, DropReason, DscpMap, FlowId, Packet, PacketId, PcpMap};
use traffic::Control;
use traffic::condition::Conditioner;

use crate::context::{Context, Egress};
use crate::observer::{Observer, Place};
use crate::port::Port;

/// The source of a packet's priority: by default the frame's tag, with the priority that it had at the previous
/// node (IEEE 802.1Q, 6.9.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// The priority of each code point, if the DSCP sets the priority of packets.
    pub dscp: Option<DscpMap>,
    /// The mapping of the tag's priority (6.9.4), for packets unless the DSCP sets it, and for all frames without a
    /// DSCP.
    pub pcp: Option<PcpMap>,
}

impl Trust {
    /// The priority of a packet with the DSCP `dscp` and the tag priority `tag`.
    #[inline]
    pub fn of_packet(&self, dscp: u8, tag: u8) -> u8 {
        self.dscp.as_ref().map_or_else(|| self.of_tag(tag), |map| map.priority(dscp))
    }

    /// The priority of a frame without a DSCP, with the tag priority `tag`.
    #[inline]
    pub fn of_tag(&self, tag: u8) -> u8 {
        self.pcp.as_ref().map_or(tag, |map| map.priority(tag))
    }
}

/// The handling of a received congestion notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notifications {
    /// Forward it to its sender: within a network of switches.
    #[default]
    Forward,
    /// The port takes it: this is its destination.
    Take,
    /// Drop it: a router does not forward these frames.
    Discard,
}

/// The ingress side of one port.
#[derive(Debug, Default)]
pub struct Side {
    /// The conditioner of arriving packets.
    pub conditioner: Option<Conditioner>,
    /// The source of their priority.
    pub trust: Trust,
    /// Whether the far end sends control frames.
    pub control: bool,
    /// The handling of congestion notifications.
    pub notifications: Notifications,
    /// The bytes that still arrive after the far end is paused: see [`crate::headroom`].
    pub headroom: Bytes,
    /// Whether checksums are verified, as hosts do: relevant where a link damages packets.
    pub verifies: bool,
    /// Whether frames may arrive there at the same instant, so that a host takes them in one interrupt.
    pub bunched: bool,
    /// Whether the port's discipline sees the packets that arrive there.
    pub listens: bool,
    /// Whether frames of no flow may arrive, which end here: a machine may send any.
    pub strays: bool,
}

impl Side {
    /// Whether packets pass unchanged.
    const fn is_plain(&self) -> bool {
        self.conditioner.is_none()
            && !self.control
            && !self.verifies
            && !self.listens
            && !self.strays
            && matches!(self.notifications, Notifications::Forward)
            && matches!(self.trust, Trust { dscp: None, pcp: None })
    }
}

/// The ingress side of a node's ports.
#[derive(Debug)]
pub struct Ingress {
    /// The node's number.
    node: u32,
    /// The sides by port; `None` if packets pass all of them unchanged.
    sides: Option<Box<[Side]>>,
}

impl Ingress {
    /// The ingress side of node `node`; `sides` has one entry per port.
    pub(crate) fn new(node: u32, sides: Vec<Side>) -> Self {
        let plain = sides.iter().all(Side::is_plain);
        Self { node, sides: (!plain).then(|| sides.into_boxed_slice()) }
    }

    /// The conditioner of port `port`, if it has one.
    pub fn conditioner(&self, port: usize) -> Option<&Conditioner> {
        self.sides.as_ref()?.get(port)?.conditioner.as_ref()
    }

    /// Sets whether the discipline of port `number` (of `ports`) sees the packets that arrive there.
    pub(crate) fn listen(&mut self, number: usize, ports: usize, listens: bool) {
        if self.sides.is_none() && listens {
            self.sides = Some((0..ports).map(|_| Side::default()).collect());
        }
        if let Some(side) = self.sides.as_mut().and_then(|sides| sides.get_mut(number)) {
            side.listens = listens;
        }
    }

    /// Whether a packet that arrived at port `number` enters the node; if not, it is gone.
    #[inline]
    pub(crate) fn admit<E: Egress, O: Observer>(
        &mut self,
        ports: &mut [Port],
        number: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> bool {
        self.sides.is_none() || self.examine(ports, number, packet, cx)
    }

    /// The slow path of [`Self::admit`], for ports with ingress processing.
    #[inline(never)]
    fn examine<E: Egress, O: Observer>(
        &mut self,
        ports: &mut [Port],
        number: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> bool {
        let number = number as usize;
        let Some(side) = self.sides.as_mut().and_then(|sides| sides.get_mut(number)) else {
            return true;
        };
        match cx.packets[packet].flow {
            FlowId::CONTROL | FlowId::NOTIFICATION => {
                return self.take_control(ports, number, packet, cx);
            }
            FlowId::GAP if side.strays => {
                cx.packets.release(packet);
                return false;
            }
            _ => {}
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

    /// Takes a control frame, or discards it; returns true for a congestion notification to be forwarded to its
    /// sender.
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
