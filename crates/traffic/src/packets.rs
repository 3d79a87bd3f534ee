//! The arena that holds every packet of a run, and what is known of their headers.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::classify::Fields;
use crate::control::{Control, Notification};
use base::drop_reason::DropReason;
use base::header::Header;
use base::packet::{FRAME_MIN, FlowId, HostId, Packet, PacketId, Protocol, Tcp};
use base::prefetch::prefetch;

/// The header fields of a flow that are the same in all its packets, for the classifier.
#[derive(Clone, Copy, Debug)]
struct FlowHeaders {
    /// The host that sends packets with the `forward` fields. Packets of all other hosts have the `back`
    /// fields.
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

/// A packet between two arenas.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    packet: Packet,
    control: Option<Control>,
}

/// All packets of a run, and the list of packets dropped since the driver last took them.
///
/// The arena grows when a run first needs more packets at once, and never per packet.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    free: Vec<PacketId>,
    dropped: VecDeque<(PacketId, DropReason)>,
    /// The headers of each flow.
    headers: Vec<FlowHeaders>,
    /// The headers of the packet in each place, instead of those of its flow; empty unless the driver sets them.
    own_headers: Vec<Fields>,
    /// The latest control frame in each place.
    controls: Vec<Option<Control>>,
    /// Whether the number of places is fixed.
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
            own_headers: Vec::new(),
            controls: Vec::new(),
            fixed: false,
        }
    }

    /// An arena with `places` free places, for a driver that stores packet bytes by place. It never grows if
    /// only [`Packets::try_alloc`] allocates.
    pub fn with_places(places: u32) -> Self {
        let free = (0..places).rev().map(PacketId::at).collect();
        let slots = vec![Packet::default(); places as usize];
        Self { slots, free, fixed: true, ..Self::new() }
    }

    /// Like [`Packets::with_places`], for a driver that sets the headers of each packet: it knows no flows
    /// beforehand.
    pub fn with_headers(places: u32) -> Self {
        let own_headers = vec![Fields::of(None); places as usize];
        let dropped = VecDeque::with_capacity(places as usize);
        Self { own_headers, dropped, ..Self::with_places(places) }
    }

    /// An empty arena for other packets of the same flows.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { headers: self.headers.clone(), ..Self::new() }
    }

    /// Takes a packet out of the arena, to put it into one that [`Packets::beside`] made.
    #[inline]
    pub fn take(&mut self, id: PacketId) -> Moved {
        let packet = self[id];
        let control = if packet.flow == FlowId::CONTROL { self.control(id) } else { None };
        self.release(id);
        Moved { packet, control }
    }

    /// Puts a packet of another arena into this one.
    #[inline]
    pub fn put(&mut self, Moved { packet, control }: Moved) -> PacketId {
        let id = self.insert(packet);
        if let Some(control) = control {
            self.set_control(id, control);
        }
        id
    }

    /// Copies a packet into a new place, without an owner; `None` if the driver has no free place.
    pub fn duplicate(&mut self, id: PacketId) -> Option<PacketId> {
        let copy = if self.fixed { self.free.pop()? } else { self.alloc() };
        self[copy] = Packet { holder: 0, ..self[id] };
        if let Some(&own) = self.own_headers.get(id.place() as usize) {
            self.own_headers[copy.place() as usize] = own;
        }
        if let Some(control) = self.control(id).filter(|_| self[id].flow == FlowId::CONTROL) {
            self.set_control(copy, control);
        }
        Some(copy)
    }

    /// Like [`Packets::alloc`], but `None` if the arena would have to grow.
    #[inline]
    pub fn try_alloc(&mut self) -> Option<PacketId> {
        self.free.pop()
    }

    /// Sets the headers of `flow`'s packets from the host `from`. Packets in the other direction have them
    /// reversed.
    pub fn describe(&mut self, flow: FlowId, from: HostId, forward: Header) {
        let place = flow.0 as usize;
        if self.headers.len() <= place {
            self.headers.resize(place + 1, FlowHeaders::new(from, None));
        }
        self.headers[place] = FlowHeaders::new(from, Some(&forward));
    }

    /// Sets the headers of one packet, in an arena of [`Packets::with_headers`]; does nothing in others.
    #[inline]
    pub fn set_header(&mut self, id: PacketId, header: &Header) {
        if let Some(own) = self.own_headers.get_mut(id.place() as usize) {
            *own = Fields::of(Some(header));
        }
    }

    /// Forgets the headers of every place: classifiers find no field in them, and segments are blank.
    pub fn forget_headers(&mut self) {
        for packet in &mut self.slots {
            (packet.protocol, packet.tcp) = (Protocol::default(), Tcp::default());
        }
        self.own_headers.fill(Fields::of(None));
    }

    /// Forgets the class of every packet: a discipline may have renumbered its classes.
    pub fn forget_classes(&mut self) {
        self.slots.iter_mut().for_each(|packet| packet.class = 0);
    }

    /// A packet's fields for a classifier: its metadata, and its own headers, or those of its flow if they were
    /// described.
    #[inline]
    pub fn fields(&self, id: PacketId) -> Fields {
        let packet = &self[id];
        let mut fields = match self.own_headers.get(id.place() as usize) {
            Some(own) => *own,
            None => self.flow_fields(packet),
        };
        fields.add(packet);
        fields
    }

    /// The headers of a packet's flow in the packet's direction, if they were described.
    #[inline]
    fn flow_fields(&self, packet: &Packet) -> Fields {
        match self.headers.get(packet.flow.0 as usize) {
            Some(flow) if packet.source == flow.from => flow.forward,
            Some(flow) => flow.back,
            None => Fields::of(None),
        }
    }

    /// Allocates a place for a new packet; it still holds the contents of an earlier packet.
    #[inline]
    pub fn alloc(&mut self) -> PacketId {
        self.free.pop().unwrap_or_else(|| {
            let id =
                PacketId::at(u32::try_from(self.slots.len()).expect("fewer than 2^32 packets"));
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

    /// Puts a control frame into the arena, with the length of the shortest frame.
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
        let place = id.place() as usize;
        if place >= self.controls.len() {
            self.controls.resize(place + 1, None);
        }
        self.controls[place] = Some(control);
    }

    /// Like [`Packets::insert_control`], but `None` if a driver stores packet bytes by place and has no free
    /// place.
    pub fn try_insert_control(&mut self, control: Control) -> Option<PacketId> {
        let full = self.fixed && self.free.is_empty();
        (!full).then(|| self.insert_control(control))
    }

    /// The contents of a control frame; `None` if the packet is not one.
    pub fn control(&self, id: PacketId) -> Option<Control> {
        if let Some(notification) = Notification::of(&self[id]) {
            return Some(Control::Notification(notification));
        }
        let is_control = self[id].flow == FlowId::CONTROL;
        self.controls.get(id.place() as usize).copied().flatten().filter(|_| is_control)
    }

    /// Asks for what queues and ports read of a packet.
    #[inline]
    pub(crate) fn prefetch(&self, id: PacketId) {
        if let Some(packet) = self.slots.get(id.place() as usize) {
            prefetch(packet, 2);
        }
    }

    /// Removes a packet from the arena, after it arrived or its drop was recorded.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        debug_assert!(self.free.len() > 1_000 || !self.free.contains(&id), "released twice");
        self.free.push(id);
    }

    /// Drops a packet: it stays readable until the driver takes it from [`Packets::take_dropped`].
    pub fn discard(&mut self, id: PacketId, reason: DropReason) {
        self.dropped.push_back((id, reason));
    }

    /// Takes the oldest dropped packet; the caller records and then releases it.
    #[inline]
    pub fn take_dropped(&mut self) -> Option<(PacketId, DropReason)> {
        self.dropped.pop_front()
    }

    /// The number of dropped packets that are not yet taken.
    #[inline]
    pub fn dropped(&self) -> usize {
        self.dropped.len()
    }

    /// Whether the packet was dropped and not yet taken; searches all such packets.
    pub fn is_dropped(&self, id: PacketId) -> bool {
        self.dropped.iter().any(|&(dropped, _)| dropped == id)
    }

    /// The packets with that [`Packet::holder`]; searches all places.
    pub fn held_by(&self, holder: u32) -> impl Iterator<Item = (PacketId, &Packet)> {
        let all = (0..).map(PacketId::at).zip(&self.slots);
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
        &self.slots[id.place() as usize]
    }
}

impl IndexMut<PacketId> for Packets {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id.place() as usize]
    }
}
