//! A plan's network between guests' cards: the engine's nodes and wires, on the calendar's clock.

use std::collections::VecDeque;

use engine::{Delivery, Engine, Tally, World};
use frames::{FlowEntry, Flows, Neighbours, frame};
use network::PortId;
use network::observer::Observer;
use scenario::Plan;
use scenario::plan::NodeKind;
use traffic::header::Header;
use traffic::packet::{FRAME_MIN, Protocol};
use traffic::{Instant, Packet, Packets};

use crate::calendar::{Cards, Outside};
use crate::card::Address;
use crate::{Error, NEVER};

/// Where a card is plugged in.
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
    /// The longest IP datagram.
    pub mtu: u16,
}

/// The cards of a plan's hosts, in the order of its links: each end that is a host's.
pub fn sockets(plan: &Plan) -> Vec<Socket> {
    let mut sockets = Vec::new();
    for (link, joined) in plan.links.iter().enumerate() {
        for (end, here) in joined.ends.iter().enumerate() {
            if !matches!(plan.nodes[here.node].kind, NodeKind::Host(_)) {
                continue;
            }
            let fed_by = PortId((2 * link + 1 - end) as u32);
            let address = scenario::plan::Node::ethernet_address(here.node);
            // The schema's greatest is 65535.
            let mtu = u16::try_from(joined.config.mtu.0).unwrap_or(u16::MAX);
            sockets.push(Socket { node: here.node, link, fed_by, address, mtu });
        }
    }
    sockets
}

/// The network of a plan; every host is a guest's.
#[derive(Debug)]
pub struct Network<O> {
    engine: Engine,
    tally: Tally<O>,
    flows: Flows,
    neighbours: Neighbours,
    sockets: Vec<Socket>,
    /// By port: the card at the far end of the wire that it feeds.
    gates: Vec<Option<usize>>,
    /// By place of a packet, its frame.
    bytes: Vec<Vec<u8>>,
    /// Answers to questions for addresses, which take no time.
    answers: VecDeque<(usize, Vec<u8>)>,
    /// Frames for which a host had no room.
    pub missed: u64,
}

impl<O: Observer> Network<O> {
    /// The plan's network with these cards plugged in; what happens there is told to `observer`.
    ///
    /// # Errors
    ///
    /// A plan that a discipline refuses.
    pub fn new(plan: &Plan, sockets: Vec<Socket>, observer: O) -> Result<Self, Error> {
        let world = World::of_machines(plan, Packets::new())
            .map_err(|refusal| Error::Refused { why: refusal.to_string() })?;
        let mut gates = vec![None; 2 * plan.links.len()];
        for (number, socket) in sockets.iter().enumerate() {
            gates[socket.fed_by.0 as usize] = Some(number);
        }
        Ok(Self {
            engine: Engine::new(world),
            tally: Tally::new(plan, observer),
            flows: Flows::of(plan),
            neighbours: Neighbours::in_plan(plan),
            sockets,
            gates,
            bytes: Vec::new(),
            answers: VecDeque::new(),
            missed: 0,
        })
    }

    /// The engine, and what was counted.
    pub fn parts(&self) -> (&Engine, &Tally<O>) {
        (&self.engine, &self.tally)
    }

    /// What everybody does up to `now` happens.
    fn advance(&mut self, now: u64) {
        let now = Instant::from_ps(now.saturating_mul(1_000));
        self.engine.run_until(now, &mut self.tally);
        while let Some((packet, copy)) = self.engine.packets().take_copy() {
            let frame = self.bytes[packet.place() as usize].clone();
            self.keep(copy.place(), &frame);
        }
    }

    /// Keeps the frame of the packet at that place.
    fn keep(&mut self, place: u32, frame: &[u8]) {
        let place = place as usize;
        if self.bytes.len() <= place {
            self.bytes.resize_with(place + 1, Vec::new);
        }
        self.bytes[place].clear();
        self.bytes[place].extend_from_slice(frame);
    }
}

impl<O: Observer> Outside for Network<O> {
    fn send(&mut self, card: usize, sent: &[u8], now: u64) {
        self.advance(now);
        let header = Header::parse(sent);
        let neighbours = &self.neighbours;
        let known = self.flows.find(&header, self.engine.packets(), || neighbours.of(&header));
        let Some(FlowEntry { flow, source, destination }) = known else {
            // A question for an address, or for nobody.
            const ROOM: usize = 128;
            let mut asked = sent.to_vec();
            asked.resize(sent.len().max(ROOM), 0);
            if let Some(length) = self.neighbours.answer(&mut asked, sent.len()) {
                asked.truncate(length);
                self.answers.push_back((card, asked));
            }
            return;
        };
        let udp = header.protocol == Protocol::Udp as u8;
        let at = self.engine.now();
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
        self.keep(packet.place(), sent);
        let node = self.sockets[card].node as u32;
        self.engine.offer(node, packet, &mut self.tally);
    }

    fn next(&self) -> u64 {
        if !self.answers.is_empty() || self.engine.has_delivered() {
            return self.engine.now().as_ps().div_ceil(1_000);
        }
        match self.engine.quiet_until() {
            Instant::NEVER => NEVER,
            at => at.as_ps().div_ceil(1_000),
        }
    }

    fn act(&mut self, now: u64, cards: &mut Cards<'_>) {
        self.advance(now);
        for (card, answer) in self.answers.drain(..) {
            cards.deliver(card, &answer);
        }
        let (delivered, packets) = self.engine.take_delivered();
        for Delivery { by, packet, .. } in delivered {
            let Packet { tos, corrupted, .. } = packets[packet];
            if let (Some(card), false) = (self.gates[by.0 as usize], corrupted) {
                let bytes = &mut self.bytes[packet.place() as usize];
                frame::set_tos(bytes, tos);
                self.missed += u64::from(!cards.deliver(card, bytes));
            }
            packets.release(packet);
        }
    }
}
