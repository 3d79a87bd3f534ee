//! Counts the packets of programs for the flows of the plan that run them.
//!
//! A program chooses its connections itself. Traffic between a flow's two hosts that belongs to no flow of our own
//! is the program's: by the port that the plan gave it, else, where several programs run between the two hosts, the
//! one started last.

use base::header::{Header, Ports};
use base::packet::ecn;
use base::{Bytes, FlowId, HostId, Instant, Packet};
use record::totals::{Carried, FlowTotals};
use scenario::Plan;
use scenario::plan::Transport;
use transport::{Info, PackedInfo};

use crate::FlowEntry;

/// The owner of a flow that the plan does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Nobody,
    /// The program of that index.
    Program(usize),
    /// One of the programs between two hosts: the pair of the program of that index.
    LatestLike(usize),
}

/// A flow of the plan that belongs to a program.
#[derive(Clone, Debug)]
struct Program {
    flow: FlowId,
    from: HostId,
    to: HostId,
    port: u16,
    start: Instant,
    /// The traffic from `from` to `to`, and back.
    carried: [Carried; 2],
    drops: u64,
    /// Packets that reached a host with a congestion mark.
    marks: u64,
}

impl Program {
    fn joins(&self, one: HostId, other: HostId) -> bool {
        (self.from, self.to) == (one, other) || (self.to, self.from) == (one, other)
    }
}

/// The plan's programs, with the counts of each.
#[derive(Debug)]
pub struct ProgramFlows {
    /// The programs, the earliest first.
    programs: Vec<Program>,
    /// The host of each host number in packets: a program may send through any interface.
    hosts: Vec<HostId>,
    /// The first flow that the plan does not know.
    first: u32,
    /// The owners by flow, from that one on.
    owners: Vec<Owner>,
}

impl ProgramFlows {
    /// The programs of `plan`.
    pub fn of(plan: &Plan) -> Self {
        let flows = (0..).map(FlowId).zip(&plan.flows);
        let programs = flows.filter(|(_, flow)| matches!(flow.transport, Transport::Program(_)));
        let mut programs: Vec<_> = programs
            .map(|(number, flow)| Program {
                flow: number,
                from: HostId(flow.from as u32),
                to: HostId(flow.to as u32),
                port: flow.header.ports.unwrap_or_default().destination,
                start: flow.span.start,
                carried: Default::default(),
                drops: 0,
                marks: 0,
            })
            .collect();
        programs.sort_by_key(|program| program.start);
        let hosts = plan.host_ids().map(|id| HostId(plan.node_of(id) as u32)).collect();
        Self { programs, hosts, first: plan.flows.len() as u32, owners: Vec::new() }
    }

    #[inline]
    fn host(&self, id: HostId) -> HostId {
        self.hosts.get(id.0 as usize).copied().unwrap_or(id)
    }

    /// Whether there are any programs.
    pub const fn any(&self) -> bool {
        !self.programs.is_empty()
    }

    /// Handles a packet from a host; its flow may be new.
    #[inline]
    pub fn entered(&mut self, known: &FlowEntry, header: &Header, now: Instant) {
        if self.programs.is_empty() {
            return;
        }
        let Some(place) = known.flow.0.checked_sub(self.first) else { return };
        if self.owners.len() == place as usize {
            self.owners.push(self.find(known, header.ports));
        }
        if let Some(carried) = self.carried(known.flow, known.source, now) {
            carried.sent += 1;
        }
    }

    /// Counts a packet that reached a host.
    #[inline]
    pub fn delivered(&mut self, packet: &Packet, now: Instant) {
        let Some(index) = self.owner(packet.flow, now) else { return };
        let source = self.host(packet.source);
        let program = &mut self.programs[index];
        program.marks += u64::from(packet.tos & ecn::MASK == ecn::CE);
        let carried = &mut program.carried[usize::from(source != program.from)];
        carried.received += 1;
        carried.bytes += u64::from(packet.tcp.payload);
    }

    /// Counts a dropped packet.
    pub fn dropped(&mut self, packet: &Packet, now: Instant) {
        if let Some(index) = self.owner(packet.flow, now) {
            self.programs[index].drops += 1;
        }
    }

    fn find(&self, known: &FlowEntry, ports: Option<Ports>) -> Owner {
        let ports = ports.unwrap_or_default();
        let [source, destination] = [known.source, known.destination].map(|id| self.host(id));
        let mut between = (0..).zip(&self.programs).filter(|(_, p)| p.joins(source, destination));
        let by_port = |(_, program): &(usize, &Program)| {
            let at_server =
                if destination == program.to { ports.destination } else { ports.source };
            program.port == at_server
        };
        if let Some((index, _)) = between.clone().find(by_port) {
            return Owner::Program(index);
        }
        match (between.next(), between.next()) {
            (None, _) => Owner::Nobody,
            (Some((index, _)), None) => Owner::Program(index),
            (Some((index, _)), Some(_)) => Owner::LatestLike(index),
        }
    }

    /// The program that a flow's packets count for.
    #[inline]
    fn owner(&self, flow: FlowId, now: Instant) -> Option<usize> {
        let place = flow.0.checked_sub(self.first)?;
        match *self.owners.get(place as usize)? {
            Owner::Nobody => None,
            Owner::Program(index) => Some(index),
            Owner::LatestLike(first) => {
                let Program { from, to, .. } = self.programs[first];
                let started = self
                    .programs
                    .iter()
                    .rposition(|program| program.start <= now && program.joins(from, to));
                started.or(Some(first))
            }
        }
    }

    #[inline]
    fn carried(&mut self, flow: FlowId, source: HostId, now: Instant) -> Option<&mut Carried> {
        let (index, source) = (self.owner(flow, now)?, self.host(source));
        let program = &mut self.programs[index];
        let way = usize::from(source != program.from);
        program.carried.get_mut(way)
    }

    /// The counts of each program so far: its flow, both directions, drops and marks.
    pub fn counts(&self) -> impl Iterator<Item = (FlowId, [Carried; 2], [u64; 2])> + '_ {
        let each = self.programs.iter();
        each.map(|program| (program.flow, program.carried, [program.drops, program.marks]))
    }

    /// The programs that have started by `now`, each as a sample of its two hosts.
    pub fn samples(&self, now: Instant) -> impl Iterator<Item = (FlowId, [Info; 2])> + '_ {
        let started = self.programs.iter().take_while(move |program| program.start <= now);
        started.map(|program| (program.flow, infos(program.carried)))
    }
}

/// The totals of a program's flow, without its times.
pub fn totals(carried: [Carried; 2], drops: u64, marks: u64) -> FlowTotals {
    let ends = infos(carried);
    let (received, program) = (Bytes(ends[1].bytes_read), Some(Box::new(carried)));
    let [sender, receiver] = ends.map(PackedInfo::from);
    FlowTotals { drops, marks, received, sender, receiver, program, ..FlowTotals::default() }
}

/// The carried bytes in the form of a connection's counters: what the second host reads is the payload of both
/// directions, as totals count it.
pub fn infos([there, back]: [Carried; 2]) -> [Info; 2] {
    let end = |out: Carried, into: Carried| Info {
        segments_sent: out.sent,
        segments_received: into.received,
        bytes_received: into.bytes,
        ..Info::default()
    };
    let bytes_read = there.bytes + back.bytes;
    [end(there, back), Info { bytes_read, ..end(back, there) }]
}

#[cfg(test)]
mod tests;
