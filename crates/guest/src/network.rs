//! A plan's network between the guests' cards: the engine's nodes and links on the calendar's clock.

use std::collections::VecDeque;

use base::header::Header;
use base::packet::{FRAME_MIN, Protocol, ecn};
use base::{DropReason, FlowId, HostId, Instant, Packet, PacketId};
use engine::{Delivery, Engine, Tally, World};
use frames::{FlowEntry, Flows, Neighbours, ProgramFlows, checksum, frame};
use network::PortId;
use network::observer::{Event, Observer, Place};
use record::wire::Hop;
use scenario::Plan;
use traffic::Packets;

use crate::ahead::{Ahead, LINKS_MAX};
use crate::calendar::{Cards, Outside};
use crate::card::Address;
use crate::tap::{ProgramTap, Shown};
use crate::{Error, NEVER};

/// The place in the plan where a card is plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// The host, an index into `Plan::nodes`.
    pub node: usize,
    /// Its link, an index into `Plan::links`.
    pub link: usize,
    /// The port that feeds the wire towards it.
    fed_by: PortId,
    /// Its Ethernet address.
    pub address: Address,
    /// The largest IP datagram (MTU), bytes.
    pub mtu: u16,
}

impl Socket {
    /// The host's port.
    pub(crate) const fn port(&self) -> PortId {
        PortId(self.fed_by.0 ^ 1)
    }
}

/// The cards of a plan's hosts with kernels, by guest. Hosts are in the order of the plan. A guest gets as many hosts
/// as have at most `most` cards together, and at least one. A host's cards are in the order of its links.
pub fn sockets(plan: &Plan, most: usize) -> Vec<Vec<Socket>> {
    let mut guests: Vec<Vec<Socket>> = Vec::new();
    for own in sockets_by_node(plan).into_iter().filter(|own| !own.is_empty()) {
        match guests.last_mut() {
            Some(guest) if guest.len() + own.len() <= most => guest.extend(own),
            _ => guests.push(own),
        }
    }
    guests
}

fn sockets_by_node(plan: &Plan) -> Vec<Vec<Socket>> {
    let mut sockets = vec![Vec::new(); plan.nodes.len()];
    for (link, joined) in plan.links.iter().enumerate() {
        for (end, here) in joined.ends.iter().enumerate() {
            if !plan.has_kernel(here.node) {
                continue;
            }
            let fed_by = PortId((2 * link + 1 - end) as u32);
            let address = scenario::plan::Node::ethernet_address(here.node);
            // The maximum in the schema is 65535.
            let mtu = u16::try_from(joined.config.mtu.0).unwrap_or(u16::MAX);
            sockets[here.node].push(Socket { node: here.node, link, fed_by, address, mtu });
        }
    }
    sockets
}

/// The network of a plan, with its modelled hosts. The other hosts are in guests.
#[derive(Debug)]
pub struct Network<O> {
    engine: Engine,
    tally: Tally<ProgramTap<O>>,
    /// Packets of each flow that reached a guest with a congestion mark.
    marks: Vec<u64>,
    /// The start of the run on the guests' clock; `None` before it and after its end, when frames are dropped.
    start: Option<u64>,
    flows: Flows,
    neighbours: Neighbours,
    sockets: Vec<Socket>,
    /// The card at the far end of the wire that a port feeds, by port.
    gates: Vec<Option<usize>>,
    /// The card and slot of each guest's packet that has not left its card yet, by packet place.
    slots: Vec<Option<(usize, u16)>>,
    /// The cards and slots of frames that have left and are not yet reported to their guests.
    gone: Vec<(usize, u16)>,
    /// Answers to ARP requests and neighbor solicitations, which take no time.
    answers: VecDeque<(usize, Vec<u8>)>,
    /// How far each guest may run ahead; empty if none may.
    ahead: Vec<Ahead>,
    /// Frames for which a host had no room.
    pub missed: u64,
}

impl<O: Observer> Network<O> {
    /// Creates the plan's network with these cards plugged in, those of the first guest first. `observer` gets its
    /// events.
    ///
    /// # Errors
    ///
    /// If a discipline refuses the plan.
    pub fn new(plan: &Plan, sockets: Vec<Socket>, observer: O) -> Result<Self, Error> {
        let world = World::of_kernels(plan, Packets::new())?;
        let mut gates = vec![None; 2 * plan.links.len()];
        let mut cards = vec![false; gates.len()];
        for (number, socket) in sockets.iter().enumerate() {
            gates[socket.fed_by.0 as usize] = Some(number);
            cards[socket.fed_by.0 as usize ^ 1] = true;
        }
        Ok(Self {
            engine: Engine::new(world),
            tally: Tally::new(plan, ProgramTap::new(plan, cards, observer)),
            marks: vec![0; plan.flows.len()],
            start: None,
            flows: Flows::of(plan),
            neighbours: Neighbours::in_plan(plan),
            sockets,
            gates,
            slots: Vec::new(),
            gone: Vec::new(),
            answers: VecDeque::new(),
            ahead: Vec::new(),
            missed: 0,
        })
    }

    /// The engine and the counters.
    pub fn parts(&mut self) -> (&mut Engine, &mut Tally<ProgramTap<O>>) {
        (&mut self.engine, &mut self.tally)
    }

    /// The flows of the programs.
    pub const fn programs(&self) -> &ProgramFlows {
        &self.tally.inner.flows
    }

    /// Packets of each flow that reached a guest with a congestion mark.
    pub fn marks(&self) -> &[u64] {
        &self.marks
    }

    /// Reserves the first `count` flow numbers: a packet gets one of them only if the plan says so. Another plan had
    /// flows with these numbers, and classes may name them.
    pub fn keep_numbers(&mut self, count: usize) {
        self.flows.keep_numbers(count);
    }

    /// Lets these guests run ahead of the network. To each, a frame must have left the host as soon as the card has it.
    pub fn let_run_ahead(&mut self, plan: &Plan, guests: &[Vec<Socket>]) {
        if plan.links.len() <= LINKS_MAX {
            let ports = |own: &Vec<Socket>| own.iter().map(Socket::port).collect::<Vec<_>>();
            let ahead = |own| Ahead::of(plan, &self.engine, &ports(own));
            self.ahead = guests.iter().map(ahead).collect();
        }
    }

    /// Sets the start of the run on the guests' clock.
    pub fn start(&mut self, at: u64) {
        self.start = Some(at);
    }

    /// Ends the run: frames sent from now on are dropped, and none arrive.
    pub fn close(&mut self) {
        self.start = None;
    }

    /// Converts a time of the run to the guests' clock.
    pub fn on_clock(&self, at: Instant) -> u64 {
        self.start.map_or(NEVER, |start| start.saturating_add(at.as_ps() / 1_000))
    }

    /// Runs all events up to `now` of the run's time.
    pub fn run_until(&mut self, now: Instant) {
        self.engine.run_until(now.max(self.engine.now()), &mut Shown(&mut self.tally));
        self.note_left();
    }

    /// Runs the engine up to `now` of the guests' clock.
    fn advance(&mut self, now: u64) {
        let since = now.saturating_sub(self.start.unwrap_or(now));
        self.run_until(Instant::from_ps(since.saturating_mul(1_000)));
    }

    /// Records the guests' packets that have left their cards, before other packets reuse their places.
    fn note_left(&mut self) {
        for place in self.tally.inner.left.drain(..) {
            // A packet dropped on its way has left its card before.
            self.gone.extend(self.slots.get_mut(place as usize).and_then(Option::take));
        }
    }
}

impl<O: Observer> Network<O> {
    /// Answers an ARP request or a neighbor solicitation.
    fn answer(&mut self, card: usize, sent: &[u8]) -> bool {
        const ROOM: usize = 128;
        let mut asked = sent.to_vec();
        asked.resize(sent.len().max(ROOM), 0);
        let answer = self.neighbours.answer(&mut asked, sent.len());
        if let Some(length) = answer {
            asked.truncate(length);
            self.answers.push_back((card, asked));
        }
        answer.is_some()
    }

    /// Sends a frame of no flow, such as a gap frame: it takes the time of its own link, and goes no further.
    fn stray(&mut self, card: usize, slot: u16, sent: &[u8]) -> bool {
        let at = self.engine.now();
        let socket = self.sockets[card];
        let packet = self.engine.packets().insert(Packet {
            created: at,
            queued: at,
            length: (sent.len() as u32 + frame::FCS).max(FRAME_MIN),
            flow: FlowId::GAP,
            source: HostId(socket.node as u32),
            ..Packet::default()
        });
        self.enter(card, slot, packet, sent);
        self.engine.offer_at(socket.port(), packet, &mut Shown(&mut self.tally));
        self.has_left_at_once(packet)
    }

    /// Stores the frame and the slot of a packet that enters the network.
    fn enter(&mut self, card: usize, slot: u16, packet: PacketId, sent: &[u8]) {
        self.tally.inner.frames.keep(packet.place(), sent);
        let place = packet.place() as usize;
        if self.slots.len() <= place {
            self.slots.resize(place + 1, None);
        }
        self.slots[place] = Some((card, slot));
    }

    /// Whether a packet that entered just now has left its card.
    fn has_left_at_once(&mut self, packet: PacketId) -> bool {
        let at_once = self.tally.inner.left.contains(&packet.place());
        if at_once {
            self.slots[packet.place() as usize] = None;
        }
        self.note_left();
        at_once
    }
}

impl<O: Observer> Outside for Network<O> {
    fn send(&mut self, card: usize, slot: u16, sent: &[u8], now: u64) -> bool {
        if self.start.is_some() {
            self.advance(now);
        }
        let header = Header::parse(sent);
        let neighbours = &self.neighbours;
        let known = self.flows.find(&header, self.engine.packets(), || neighbours.of(&header));
        let known = known.filter(|_| self.start.is_some());
        let Some(entry @ FlowEntry { flow, source, destination }) = known else {
            return self.answer(card, sent) || self.start.is_none() || self.stray(card, slot, sent);
        };
        let udp = header.protocol == Protocol::Udp as u8;
        let at = self.engine.now();
        self.tally.inner.flows.entered(&entry, &header, at);
        let packet = self.engine.packets().insert(Packet {
            created: at,
            queued: at,
            length: (sent.len() as u32 + frame::FCS).max(FRAME_MIN),
            flow,
            source,
            destination,
            tos: header.tos,
            protocol: if udp { Protocol::Udp } else { Protocol::Tcp },
            priority: Packet::priority_of(header.tos),
            tcp: frame::segment(sent, &header),
            ..Packet::default()
        });
        self.enter(card, slot, packet, sent);
        let node = self.sockets[card].node as u32;
        self.engine.offer(node, packet, &mut Shown(&mut self.tally));
        self.has_left_at_once(packet)
    }

    fn next(&self) -> u64 {
        if !self.answers.is_empty() || !self.gone.is_empty() {
            return 0;
        }
        let Some(start) = self.start else { return NEVER };
        let at = match self.engine.has_delivered() {
            true => self.engine.now(),
            false => self.engine.quiet_until(),
        };
        match at {
            Instant::NEVER => NEVER,
            at => start.saturating_add(at.as_ps().div_ceil(1_000)),
        }
    }

    fn unchanged_until(&self, guest: usize, others: u64, slots: bool) -> u64 {
        let quiet = others.min(self.next());
        let (Some(ahead), Some(start)) = (self.ahead.get(guest), self.start) else { return quiet };
        let others = Instant::from_ps(others.saturating_sub(start).saturating_mul(1_000));
        match ahead.unchanged_until(&self.engine, others, slots) {
            Instant::NEVER => NEVER,
            at => start.saturating_add(at.as_ps().div_ceil(1_000)).max(quiet),
        }
    }

    fn answers_after(&self, guest: usize) -> u64 {
        let ahead = self.ahead.get(guest).filter(|_| self.start.is_some());
        ahead.map_or(0, |ahead| ahead.answers_after().as_ps() / 1_000)
    }

    fn handle_due(&mut self, now: u64, cards: &mut Cards<'_>) {
        for (card, answer) in self.answers.drain(..) {
            cards.deliver(card, &answer);
        }
        if self.start.is_some() {
            self.advance(now);
        }
        for (card, slot) in self.gone.drain(..) {
            cards.left(card, slot);
        }
        if self.start.is_none() {
            return;
        }
        let at = self.engine.now();
        let (delivered, packets) = self.engine.take_delivered();
        for Delivery { by, packet, .. } in delivered {
            let Packet { tos, corrupted, altered, flow, .. } = packets[packet];
            let card = self.gates[by.0 as usize];
            if !corrupted {
                self.tally.inner.flows.delivered(&packets[packet], at);
            } else if let Some(card) = card {
                // The kernel would drop it, for its checksum.
                let place = Place::Node(self.sockets[card].node as u32);
                let (id, packet, reason) = (Some(packet), &packets[packet], DropReason::Checksum);
                self.tally.on(Event::Dropped { place, id, packet, reason, now: at });
            }
            if let Some(marks) = self.marks.get_mut(flow.0 as usize) {
                *marks += u64::from(tos & ecn::MASK == ecn::CE);
            }
            let ends = flow == FlowId::GAP && self.tally.inner.frames.is_for_the_wire(packet);
            if let (Some(card), false) = (card, corrupted || ends) {
                let to = self.sockets[card].node as u32;
                let hop = Hop { from: to, to };
                let frame = self.tally.inner.frames.arriving(packet, &packets[packet], hop);
                if altered {
                    checksum::alter(frame, true);
                }
                self.missed += u64::from(!cards.deliver(card, frame));
            }
            packets.release(packet);
        }
        self.note_left();
    }
}
