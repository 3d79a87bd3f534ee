//! The fabric: the engine's nodes and links between real interfaces, on one thread, driven by the real clock.
//!
//! Inside, times are exact: once the clock has passed the due time of an event, the event is handled as if at
//! its due time. Only frames that leave to a machine are late, by the delay of the thread. [`Lateness`] records it.

mod drain;
mod idle;
mod monitor;
mod orders;

use std::sync::atomic::{AtomicBool, Ordering};

use base::header::Header;
use base::packet::{FRAME_MIN, Protocol, ecn};
use base::{DropReason, Duration, FlowId, Instant, Packet, PacketId};
use engine::{Agenda, Delivery, Engine, Tally, Task, World};
use frames::{FlowEntry, Flows, Neighbours, ProgramFlows, checksum, frame};
use network::PortId;
use network::observer::{Event, Observer, Place};
use record::totals::{Carried, EngineTotals, NodeTotals, PortTotals};
use scenario::Plan;
use scenario::plan::Action;
use traffic::Packets;

use crate::attachment::{Attachment, Entry};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::device::{Received, Segments};
use crate::error::Error;
use crate::event_channel::{self, EventSender};
use crate::lateness::Lateness;
use crate::stalls::Stalls;

use idle::Idle;
use monitor::{FrameMonitor, Monitor};
pub use orders::{Interface, Look};
pub(crate) use orders::{Order, Orders};

/// The fabric's counters at an instant.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) ports: Vec<PortTotals>,
    pub(crate) nodes: Vec<NodeTotals>,
    /// Drops by flow of the plan.
    pub(crate) flows: Vec<u64>,
    /// Packets that reached a machine with a congestion mark, by flow.
    pub(crate) marks: Vec<u64>,
    /// The plan's programs: flow, both directions, drops and marks of each.
    pub(crate) programs: Vec<(FlowId, [Carried; 2], [u64; 2])>,
    pub(crate) engine: EngineTotals,
    /// The instant of the counters.
    pub(crate) end: Instant,
}

/// The results of a fabric's run.
#[derive(Debug)]
pub(crate) struct FabricOutcome {
    pub(crate) counted: Counted,
    /// The counters at the start and the end of the measured period, if the run reached them.
    pub(crate) snapshots: Vec<Counted>,
    /// The reason for refusal, if any, of each change whose time was reached.
    pub(crate) changes: Vec<Option<String>>,
    pub(crate) lateness: Lateness,
    /// Frames that the machine dropped on their way into or out of the fabric.
    pub(crate) missed: u64,
    /// Periods longer than [`LATE`] in which the fabric's thread did not run.
    pub(crate) absent: Stalls,
}

/// Records made while packets move.
#[derive(Debug, Default)]
struct Log {
    /// The reason for refusal, if any, of each change whose time was reached.
    changes: Vec<Option<String>>,
    snapshots: Vec<Counted>,
}

/// The lateness limit. The machine did not keep up if over 1 % of packets left later than this, or if pauses of the
/// fabric's thread longer than this add up to over 1 % of the run: frames came in late during the pauses.
const LATE: Duration = Duration::from_ms(1);

impl FabricOutcome {
    /// Whether the machine kept up with the packets.
    pub(crate) fn kept_up(&self) -> bool {
        kept_up(self.missed, &self.lateness) && !self.was_preempted()
    }

    /// Whether the fabric's thread was paused for more than 1 % of the run.
    pub(crate) fn was_preempted(&self) -> bool {
        self.absent.sum.as_ps() > self.counted.end.as_ps() / 100
    }
}

/// Corrupts the frame of a packet that a link corrupted, and counts the drop at its receiver. Returns false if the
/// frame must not be sent: the kernel is yet to compute its checksum, so the receiver would accept the frame.
#[cold]
fn deliver_damaged(
    entry: Entry,
    (id, length): (PacketId, u32),
    now: Instant,
    packets: &Packets,
    (buffers, lengths): (&mut Buffers, &mut [u32]),
    monitor: &mut Monitor,
) -> bool {
    let summed = buffers.is_summed(id);
    checksum::damage(buffers.bytes_mut(id, length));
    // A machine beyond the router counts its own drops.
    if let Entry::Machine(node) = entry {
        let (place, reason) = (Place::Node(node), DropReason::Checksum);
        let dropped = Event::Dropped { place, id: Some(id), packet: &packets[id], reason, now };
        FrameMonitor { monitor, buffers, lengths }.on(dropped);
    }
    summed
}

fn kept_up(missed: u64, lateness: &Lateness) -> bool {
    missed == 0 && lateness.quantile(0.99) <= LATE
}

/// The length on the wire, FCS included, of a frame of `bytes` from the machine. For a super-frame, the sum over its
/// frames, each with its own headers.
fn wire_length(bytes: u32, segments: Option<Segments>) -> u32 {
    match segments {
        None => (bytes + frame::FCS).max(FRAME_MIN),
        Some(Segments { count, headers, .. }) => {
            let count = u32::from(count.max(1));
            bytes + (count - 1) * u32::from(headers) + count * frame::FCS
        }
    }
}

/// Pads a frame of `length` bytes, without FCS, to the minimum length with zeros (RFC 1042), so that no bytes of an
/// earlier packet leave with it.
fn pad(buffers: &mut Buffers, packet: PacketId, length: u32) {
    let whole = buffers.bytes_mut(packet, frame::padded(length));
    if let Some(padding) = whole.get_mut(length as usize..) {
        padding.fill(0);
    }
}

/// The nodes and links, the interfaces at their ends, and the monitor.
#[derive(Debug)]
pub(crate) struct Fabric {
    engine: Engine,
    buffers: Buffers,
    attachments: Vec<Attachment>,
    /// The attachment to which the wire fed by each port leads.
    gate_by_port: Vec<Option<usize>>,
    flows: Flows,
    neighbours: Neighbours,
    clock: Clock,
    monitor: Monitor,
    /// The bytes of each packet's frame, by packet place. The wire may count a different length.
    lengths: Vec<u32>,
    /// Packets that reached a machine with a congestion mark, by flow.
    marks: Vec<u64>,
    lateness: Lateness,
    absent: Stalls,
    received: Vec<Received>,
    /// The due time of each frame that awaits its flush.
    due: Vec<Instant>,
    /// The attachment whose interface was checked last.
    checked: usize,
    /// The way to wait for frames; `None`: busy polling.
    idle: Option<Idle>,
    orders: Option<Orders>,
}

/// The interval at which progress is reported and events are flushed.
const REPORT: Duration = Duration::from_ms(20);
/// The number of interfaces checked per interval, in turn: each check takes some microseconds of system calls.
const CHECKED: usize = 4;
/// Bytes of an 802.1Q tag. A bridge accepts them in addition to the MTU (Linux, include/linux/netdevice.h,
/// `__is_skb_forwardable`).
const VLAN_TAG: u32 = 4;

impl Fabric {
    /// The fabric of `plan` between `attachments`, whose devices hold some of `packets` already.
    pub(crate) fn new(
        plan: &Plan,
        clock: Clock,
        (buffers, packets): (Buffers, Packets),
        attachments: Vec<Attachment>,
        sender: EventSender,
    ) -> Result<Self, Error> {
        let world = World::of_machines(plan, packets)
            .map_err(|refusal| Error::unfit(refusal.to_string(), "see `suimon check`"))?;
        let engine = Engine::new(world);
        let mut gate_by_port = vec![None; 2 * plan.links.len()];
        for (number, attachment) in attachments.iter().enumerate() {
            gate_by_port[attachment.place.fed_by.0 as usize] = Some(number);
        }
        Ok(Self {
            lengths: vec![0; buffers.count() as usize],
            marks: vec![0; plan.flows.len()],
            engine,
            buffers,
            attachments,
            gate_by_port,
            flows: Flows::of(plan),
            neighbours: Neighbours::in_plan(plan),
            clock,
            monitor: Monitor {
                tally: Tally::new(plan, ()),
                programs: ProgramFlows::of(plan),
                sender,
                watched: event_channel::watched(plan),
            },
            lateness: Lateness::default(),
            absent: Stalls::default(),
            received: Vec::new(),
            due: Vec::new(),
            checked: 0,
            idle: None,
            orders: None,
        })
    }

    /// Makes this fabric sleep until a frame comes in or an event is due.
    pub(crate) fn resting(self) -> Result<Self, Error> {
        let idle =
            Some(Idle::new(self.attachments.iter().map(|attachment| attachment.device.fd()))?);
        Ok(Self { idle, ..self })
    }

    /// Makes this fabric identify flows by packet headers alone, accept frames with an 802.1Q tag, and carry out orders
    /// of another thread.
    pub(crate) fn between_networks(mut self, plan: &Plan, orders: Orders) -> Self {
        self.engine.take_longer_frames(VLAN_TAG);
        Self { flows: Flows::between_networks(plan), ..self.with_orders(orders) }
    }

    /// Makes this fabric carry out orders of another thread.
    pub(crate) fn with_orders(self, orders: Orders) -> Self {
        Self { orders: Some(orders), ..self }
    }

    /// Moves packets until the plan's end, until `stop` is set, until `done` is set and the fabric carries no packet,
    /// or until an interface fails. Then it calls `ended`, before it closes the interfaces: to close many of them
    /// takes longer than TCP's timeouts.
    pub(crate) fn run<T>(
        mut self,
        plan: &Plan,
        [stop, done]: [&AtomicBool; 2],
        reached: &impl Fn(Instant),
        ended: impl FnOnce() -> T,
    ) -> (FabricOutcome, Option<Error>, T) {
        let mut log = Log::default();
        let failure = self.run_loop(plan, [stop, done], reached, &mut log).err();
        let ended = ended();
        (self.into_outcome(log), failure, ended)
    }

    /// Moves packets as [`Self::run`] does, then lets queued packets leave for at most `timeout`. The rest count as
    /// flushed.
    pub(crate) fn run_and_drain(
        mut self,
        plan: &Plan,
        stop: &AtomicBool,
        timeout: Duration,
    ) -> (Look, Option<Error>) {
        let never = AtomicBool::new(false);
        let ran = self.run_loop(plan, [stop, &never], &|_| {}, &mut Log::default());
        let ended = ran.and_then(|()| self.drain(timeout));
        self.count_left();
        (self.look(), ended.err())
    }

    fn run_loop(
        &mut self,
        plan: &Plan,
        [stop, done]: [&AtomicBool; 2],
        reached: &impl Fn(Instant),
        log: &mut Log,
    ) -> Result<(), Error> {
        if self.idle.is_some() {
            Idle::prepare_thread();
        }
        let end = Instant::ZERO + plan.duration;
        let mut agenda = Agenda::of_network(plan);
        if self.monitor.programs.any() {
            agenda = agenda.with_flow_samples(plan);
        }
        let (mut report_at, mut last) = (Instant::ZERO, Instant::ZERO);
        while self.engine.now() < end && !stop.load(Ordering::Relaxed) {
            let mut now = self.clock.now().min(end);
            self.note_absence(now.since(last));
            last = now;
            while let Some((at, task)) = agenda.due(now) {
                self.advance(at.max(self.engine.now()))?;
                match task {
                    Task::SampleFlows => self.monitor.sample_programs(at),
                    Task::SampleQueues => self.engine.sample_queues(at, &mut self.monitor),
                    Task::Mark(_) => {}
                    Task::Snapshot => log.snapshots.push(self.counted()),
                    Task::Change(change) => {
                        // The agents change connections: see `agents::Ended`.
                        let port = plan.changes[change].of_port();
                        let made = port.and_then(|(port, action)| self.change(port, action));
                        log.changes.push(made);
                    }
                }
                now = self.clock.now().min(end);
            }
            self.advance(now)?;
            let busy = self.take_in(end)?;
            if now >= report_at {
                self.check_interfaces()?;
                reached(now);
                if done.load(Ordering::Relaxed) && !self.carries_anything() {
                    break;
                }
                report_at = now + REPORT;
            } else if !busy && self.idle.is_some() {
                self.sleep_until(report_at.min(agenda.next()))?;
                last = self.clock.now();
            }
        }
        Ok(())
    }

    /// Handles due events and received frames, as one turn of a run. Returns the number of frames sent.
    pub(crate) fn step(&mut self) -> Result<usize, Error> {
        let before = self.lateness.releases();
        let now = self.clock.now();
        self.advance(now)?;
        self.take_in(Instant::NEVER)?;
        Ok((self.lateness.releases() - before) as usize)
    }

    #[inline]
    fn note_absence(&mut self, span: Duration) {
        if span > LATE {
            self.absent.note(span);
        }
    }

    /// Does the periodic work: flushes events, checks interfaces, handles orders.
    fn check_interfaces(&mut self) -> Result<(), Error> {
        self.monitor.sender.flush();
        for _ in 0..self.attachments.len().min(CHECKED) {
            self.checked = (self.checked + 1) % self.attachments.len();
            self.attachments[self.checked].device.check()?;
        }
        self.handle_orders();
        Ok(())
    }

    /// Handles all events up to `now` and sends the packets that reached a machine.
    #[inline]
    fn advance(&mut self, now: Instant) -> Result<(), Error> {
        #[cfg(debug_assertions)]
        {
            let lent = self.attachments.iter().map(|attachment| attachment.device.lent());
            self.engine.set_lent(lent.sum::<usize>() + self.received.len());
        }
        let Self { engine, monitor, buffers, lengths, .. } = self;
        engine.run_until(now, &mut FrameMonitor { monitor, buffers, lengths });
        if self.engine.has_delivered() { self.send() } else { self.send_again() }
    }

    /// Retries frames for which the kernel had no room.
    #[inline]
    fn send_again(&mut self) -> Result<(), Error> {
        for attachment in &mut self.attachments {
            if attachment.device.has_unsent() {
                attachment.device.flush(&mut self.buffers, self.engine.packets())?;
            }
        }
        Ok(())
    }

    /// Writes the packets that reached machines to their interfaces.
    fn send(&mut self) -> Result<(), Error> {
        self.due.clear();
        let (delivered, packets) = self.engine.take_delivered();
        for Delivery { at, by, packet } in delivered {
            let Some(attachment) = self.gate_by_port[by.0 as usize] else {
                packets.release(packet);
                continue;
            };
            let Packet { length, tos, flow, corrupted, altered, .. } = packets[packet];
            let length = if flow == FlowId::GAP {
                let length = (length - 4).min(self.buffers.room());
                self.buffers.offload_mut(packet).fill(0);
                let bytes = self.buffers.bytes_mut(packet, length);
                frame::pause(bytes, self.attachments[attachment].place.gaps_from);
                length
            } else {
                let length = self.lengths[packet.place() as usize];
                frame::set_tos(self.buffers.bytes_mut(packet, length), tos);
                length
            };
            if tos & ecn::MASK == ecn::CE {
                self.marks.get_mut(flow.0 as usize).into_iter().for_each(|marks| *marks += 1);
            }
            if altered {
                let summed = self.buffers.is_summed(packet);
                checksum::alter(self.buffers.bytes_mut(packet, length), summed);
            }
            if corrupted {
                let Self { monitor, buffers, lengths, .. } = self;
                let frames = (buffers, &mut lengths[..]);
                let place = self.attachments[attachment].place.entry;
                if !deliver_damaged(place, (packet, length), at, packets, frames, monitor) {
                    packets.release(packet);
                    continue;
                }
            } else {
                self.monitor.programs.delivered(&packets[packet], at);
            }
            self.attachments[attachment].device.send(packet, length);
            self.due.push(at);
        }
        for attachment in &mut self.attachments {
            attachment.device.flush(&mut self.buffers, packets)?;
        }
        let now = self.clock.now();
        for &due in &self.due {
            self.lateness.note(due, now);
        }
        Ok(())
    }

    /// Reads received frames and lets them enter, at `end` at the latest. Returns whether there were any.
    #[inline]
    fn take_in(&mut self, end: Instant) -> Result<bool, Error> {
        let mut any = false;
        for number in 0..self.attachments.len() {
            let device = &mut self.attachments[number].device;
            device.receive(&mut self.buffers, self.engine.packets(), &mut self.received)?;
            if self.received.is_empty() {
                continue;
            }
            any = true;
            // Frames enter at the current clock time. The thread may have been preempted since the clock was last
            // read: with that time, frames would enter before they were sent.
            self.advance(self.clock.now().min(end))?;
            for place in 0..self.received.len() {
                let received = self.received[place];
                self.enter(number, received)?;
            }
            self.received.clear();
        }
        Ok(any)
    }

    /// Lets one frame enter by an attachment.
    #[inline]
    fn enter(&mut self, attachment: usize, received: Received) -> Result<(), Error> {
        let Received { packet, length, segments } = received;
        pad(&mut self.buffers, packet, length);
        let frame = self.buffers.bytes_mut(packet, length);
        let header = Header::parse(frame);
        if self.attachments[attachment].place.pending_checksums {
            let _ = checksum::finish_if_pending(frame, &header);
        }
        let frame = &*frame;
        let (entry, packets) = (self.attachments[attachment].place.entry, self.engine.packets());
        let known = match entry {
            Entry::Machine(_) => self.flows.find(&header, packets, || self.neighbours.of(&header)),
            Entry::Wire { .. } if frame::is_for_the_wire(frame) => None,
            Entry::Wire { source, destination, .. } => {
                let met = self.flows.find(&header, packets, || Some((source, destination)));
                met.map(|known| FlowEntry { source, destination, ..known })
            }
        };
        let Some(known) = known else { return self.keep_out(attachment, packet, length) };
        let now = self.engine.now();
        self.monitor.programs.entered(&known, &header, now);
        let packets = self.engine.packets();
        packets[packet] = Packet {
            created: now,
            queued: now,
            length: wire_length(length, segments),
            flow: known.flow,
            source: known.source,
            destination: known.destination,
            tos: header.tos,
            protocol: if header.protocol == Protocol::Udp as u8 {
                Protocol::Udp
            } else {
                Protocol::Tcp
            },
            frames: segments.map_or(1, |segments| segments.count.min(255) as u8),
            priority: Packet::priority_of(header.tos),
            tcp: frame::segment(frame, &header),
            ..Packet::default()
        };
        self.lengths[packet.place() as usize] = frame::padded(length);
        let Self { engine, monitor, buffers, lengths, .. } = self;
        let observer = &mut FrameMonitor { monitor, buffers, lengths };
        match entry {
            Entry::Machine(node) => engine.offer(node, packet, observer),
            Entry::Wire { by, .. } => engine.arrive(by, packet, observer),
        }
        Ok(())
    }

    /// Handles a frame that belongs to no flow: answers a machine's ARP request or neighbor solicitation, drops others.
    #[cold]
    fn keep_out(&mut self, attachment: usize, packet: PacketId, length: u32) -> Result<(), Error> {
        let room = self.buffers.room();
        let frame = self.buffers.bytes_mut(packet, room);
        let asks = matches!(self.attachments[attachment].place.entry, Entry::Machine(_));
        match asks.then(|| self.neighbours.answer(frame, length as usize)).flatten() {
            Some(length) => {
                let device = &mut self.attachments[attachment].device;
                device.send(packet, length as u32);
                device.flush(&mut self.buffers, self.engine.packets())?;
            }
            None => {
                // On a link between real networks, only MAC control frames are kept out.
                self.attachments[attachment].mac_control_frames += u64::from(!asks);
                self.engine.packets().release(packet);
            }
        }
        Ok(())
    }

    /// Applies `action` to a port's queue. Returns the reason for refusal, if any.
    fn change(&mut self, port: PortId, action: &Action) -> Option<String> {
        let Self { engine, monitor, buffers, lengths, .. } = self;
        let observer = &mut FrameMonitor { monitor, buffers, lengths };
        engine.change(port, action, observer).and_then(Result::err)
    }

    /// The counters so far.
    fn counted(&mut self) -> Counted {
        let Self { engine, monitor: Monitor { tally, programs, .. }, marks, .. } = self;
        Counted {
            ports: engine.port_totals(tally),
            nodes: engine.node_totals(tally),
            flows: tally.flows.clone(),
            marks: marks.clone(),
            programs: programs.counts().collect(),
            engine: engine.totals(),
            end: engine.now(),
        }
    }

    fn into_outcome(mut self, Log { changes, snapshots }: Log) -> FabricOutcome {
        let (counted, missed) = (self.counted(), self.missed());
        let Self { lateness, absent, .. } = self;
        FabricOutcome { counted, snapshots, changes, lateness, missed, absent }
    }

    /// Frames that the machine dropped on their way in or out.
    fn missed(&self) -> u64 {
        let counts = self.attachments.iter().map(|attachment| attachment.device.counts());
        counts.map(|counts| counts.missed + counts.refused).sum()
    }
}
