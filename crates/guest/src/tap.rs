//! The observer of packets between guests, and the packets' frames.

use base::header::Header;
use base::{Bytes, DropReason, FlowId, HostId, Instant, Packet, PacketId};
use engine::Tally;
use frames::{ProgramFlows, frame};
use network::PortId;
use network::observer::{Captured, Event, Observer, Place};
use record::capture::KEPT;
use record::wire::{self, Hop};
use scenario::Plan;

/// The frames of packets: for guests' packets the bytes sent, for modelled hosts' packets bytes from their metadata.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The frame that a guest sent, by packet place.
    bytes: Vec<Vec<u8>>,
    /// Whether a host is in a guest, by host number.
    guests: Vec<bool>,
    /// The source and the header of each flow's packets, by flow.
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

    /// Stores the frame of the packet at `place`.
    pub(crate) fn keep(&mut self, place: u32, frame: &[u8]) {
        let bytes = self.at(place);
        bytes.clear();
        bytes.extend_from_slice(frame);
    }

    /// The complete frame of a packet that arrives by `hop`.
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

    /// Writes the captured part of a packet's frame into `out`. Returns the frame's length.
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

    /// The header of a modelled host's packet; `None` for a guest's packet, whose frame has it.
    fn header(&self, packet: &Packet) -> Option<Header> {
        if self.guests[packet.source.0 as usize] {
            return None;
        }
        let &(from, header) = self.headers.get(packet.flow.0 as usize)?;
        Some(if packet.source == from { header } else { header.reversed() })
    }

    /// Whether a guest's frame is MAC control, such as a PAUSE frame that fills a gap.
    pub(crate) fn is_for_the_wire(&self, id: PacketId) -> bool {
        self.bytes.get(id.place() as usize).is_some_and(|bytes| frame::is_for_the_wire(bytes))
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

/// An observer that counts drops by program, detects guests' frames that leave their cards, and adds the frames of
/// captured packets. It passes all events on.
#[derive(Debug)]
pub struct ProgramTap<O> {
    /// The flows of programs.
    pub flows: ProgramFlows,
    pub(crate) frames: Frames,
    /// Whether a port is a card's, by port.
    cards: Vec<bool>,
    /// The ends of a captured port's wire, by port; `None` without capture.
    hops: Vec<Option<Hop>>,
    /// The places of packets that have left a card, or were dropped anywhere.
    pub(crate) left: Vec<u32>,
    /// The captured part of a frame.
    kept: Vec<u8>,
    /// The next observer.
    pub inner: O,
}

impl<O: Observer> ProgramTap<O> {
    /// Creates the observer for a plan. `cards` says for each port whether it is a card's.
    pub(crate) fn new(plan: &Plan, cards: Vec<bool>, inner: O) -> Self {
        let mut hops = vec![None; cards.len()];
        for PortId(port) in plan.probes.captures.iter().map(|capture| capture.port) {
            let (link, end) = (port as usize / 2, port as usize % 2);
            let node = |end: usize| plan.links[link].ends[end].node as u32;
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

    /// Passes on the frame of a packet at a captured port.
    fn show(
        &mut self,
        port: PortId,
        (id, packet): (Option<PacketId>, &Packet),
        at: Instant,
        dropped: Option<DropReason>,
    ) {
        let (Some(hop), Some(id)) = (self.hops[port.0 as usize], id) else { return };
        // A notification has no frame bytes.
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

/// Shows a guest's gap frames as the simulator shows those of its disciplines: as gaps, not as packets.
#[derive(Debug)]
pub(crate) struct Shown<'a, O>(pub(crate) &'a mut Tally<ProgramTap<O>>);

impl<O: Observer> Observer for Shown<'_, O> {
    #[inline]
    fn on(&mut self, event: Event<'_>) {
        if let Event::Transmitted { port, id: Some(id), packet, start, end } = event
            && packet.flow == FlowId::GAP
            && self.0.inner.frames.is_for_the_wire(id)
        {
            self.0.inner.left.push(id.place());
            let length = Bytes(packet.length.into());
            self.0.on(Event::Gap { port, length, start, end, real: true });
            return self.0.inner.show(port, (Some(id), packet), start, None);
        }
        self.0.on(event);
    }
}
