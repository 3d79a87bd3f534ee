//! What is seen of packets on their way between guests: the frames that they stand for.

use frames::{ProgramFlows, frame};
use network::PortId;
use network::observer::{Captured, Event, Observer, Place};
use record::capture::KEPT;
use record::wire::{self, Hop};
use scenario::Plan;
use traffic::header::Header;
use traffic::{DropReason, FlowId, HostId, Instant, Packet, PacketId};

/// The bytes of packets: of those that guests sent what they sent, of modelled hosts' what their metadata says.
#[derive(Debug)]
pub(crate) struct Frames {
    /// By place of a packet, the frame of the guest that has sent it.
    bytes: Vec<Vec<u8>>,
    /// By number in packets, whether the host is a guest's.
    guests: Vec<bool>,
    /// By flow, what its packets are from, and what their headers say.
    headers: Vec<(HostId, Header)>,
}

impl Frames {
    fn of(plan: &Plan) -> Self {
        Self {
            bytes: Vec::new(),
            guests: plan.host_ids().map(|id| plan.has_kernel(plan.node_of(id))).collect(),
            headers: plan.flows.iter().map(|flow| (flow.source, flow.header)).collect(),
        }
    }

    /// Keeps the frame of the packet at that place.
    pub(crate) fn keep(&mut self, place: u32, frame: &[u8]) {
        let bytes = self.at(place);
        bytes.clear();
        bytes.extend_from_slice(frame);
    }

    /// The frame of a packet that arrives by `hop`, whole.
    pub(crate) fn arriving(&mut self, id: PacketId, packet: &Packet, hop: Hop) -> &mut [u8] {
        let header = self.header(packet);
        let bytes = self.at(id.place());
        if let Some(header) = header {
            let length = wire::packet(bytes, packet, hop, &header);
            bytes.resize(length as usize, 0);
        } else {
            frame::set_tos(bytes, packet.tos);
        }
        bytes
    }

    /// Writes what a capture keeps of the frame of a packet into `out`, and returns its length.
    fn captured(&self, id: PacketId, packet: &Packet, hop: Hop, out: &mut Vec<u8>) -> u32 {
        if let Some(header) = self.header(packet) {
            return wire::packet(out, packet, hop, &header);
        }
        let length = packet.length.saturating_sub(frame::FCS);
        let sent = self.bytes.get(id.place() as usize).map_or(&[][..], Vec::as_slice);
        out.clear();
        out.extend(sent.iter().take(KEPT));
        // A short frame is padded on the wire.
        out.resize(KEPT.min(length as usize), 0);
        frame::set_tos(out, packet.tos);
        length
    }

    /// What the headers of a modelled host's packet say; `None` of a guest's, which has them itself.
    fn header(&self, packet: &Packet) -> Option<Header> {
        if self.guests[usize::from(packet.source.0)] {
            return None;
        }
        let &(from, header) = self.headers.get(packet.flow.0 as usize)?;
        Some(if packet.source == from { header } else { header.reversed() })
    }

    fn copy(&mut self, from: u32, to: u32) {
        let frame = std::mem::take(self.at(from));
        self.keep(to, &frame);
        *self.at(from) = frame;
    }

    fn at(&mut self, place: u32) -> &mut Vec<u8> {
        let place = place as usize;
        if self.bytes.len() <= place {
            self.bytes.resize_with(place + 1, Vec::new);
        }
        &mut self.bytes[place]
    }
}

/// Counts drops to the programs whose packets they were, sees guests' frames leave, and shows the frames of what is
/// captured; passes every event on.
#[derive(Debug)]
pub struct ProgramTap<O> {
    /// What programs sent.
    pub flows: ProgramFlows,
    pub(crate) frames: Frames,
    /// By port, whether it is a card's.
    cards: Vec<bool>,
    /// By port, the ends of its wire where it is captured.
    hops: Vec<Option<Hop>>,
    /// The places of packets that have left a card, or were dropped anywhere.
    pub(crate) left: Vec<u32>,
    /// What is kept of a captured frame.
    kept: Vec<u8>,
    /// The next observer.
    pub inner: O,
}

impl<O: Observer> ProgramTap<O> {
    /// Of a plan, by whose ports it is known which are cards'.
    pub(crate) fn new(plan: &Plan, cards: Vec<bool>, inner: O) -> Self {
        let mut hops = vec![None; cards.len()];
        for PortId(port) in plan.probes.captures.iter().map(|capture| capture.port) {
            let (link, end) = (port as usize / 2, port as usize % 2);
            let node = |end: usize| plan.links[link].ends[end].node as u16;
            hops[port as usize] = Some(Hop { from: node(end), to: node(1 - end) });
        }
        Self {
            flows: ProgramFlows::of(plan),
            frames: Frames::of(plan),
            cards,
            hops,
            left: Vec::new(),
            kept: Vec::with_capacity(KEPT),
            inner,
        }
    }

    /// Shows the frame of a packet at a port that is captured.
    fn show(
        &mut self,
        port: PortId,
        (id, packet): (Option<PacketId>, &Packet),
        at: Instant,
        dropped: Option<DropReason>,
    ) {
        let (Some(hop), Some(id)) = (self.hops[port.0 as usize], id) else { return };
        // There are no bytes of it.
        if packet.flow == FlowId::NOTIFICATION {
            return;
        }
        let length = self.frames.captured(id, packet, hop, &mut self.kept);
        let frame = Captured { at, bytes: &self.kept, length, dropped };
        self.inner.on(Event::Frame { port, frame });
    }
}

impl<O: Observer> Observer for ProgramTap<O> {
    fn on(&mut self, event: Event<'_>) {
        self.inner.on(event);
        match event {
            Event::Dropped { place, id, packet, reason, now } => {
                self.flows.dropped(packet, now);
                self.left.extend(id.map(PacketId::place));
                if let Place::Port(port) = place {
                    self.show(port, (id, packet), now, Some(reason));
                }
            }
            Event::Transmitted { port, id, packet, start, .. } => {
                if self.cards[port.0 as usize] {
                    self.left.extend(id.map(PacketId::place));
                }
                self.show(port, (id, packet), start, None);
            }
            Event::Copied { id, copy } => self.frames.copy(id.place(), copy.place()),
            _ => {}
        }
    }
}
