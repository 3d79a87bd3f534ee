//! A host: programs, their TCP connections, and the interfaces they send through.
//!
//! A packet's way in: the processor's backlog (where modelled), connection, reading program. Its way
//! out: writing program, connection, the interface's discipline, the wire. What the interface's queue
//! refuses goes back to its connection, as in Linux; it is no loss in the network.

use std::collections::VecDeque;

use traffic::{DropReason, Duration, FlowId, Instant, PacketId, Packets};
use transport::{Connection, Info, Work};

use crate::application::{Reader, Reading, Writer, Writing};
use crate::node::Touched;
use crate::observer::{Observer, Place};
use crate::port::{Offered, Port, Transmit};
use crate::schedule::Schedule;

/// What a segment costs the host's processor. Segments wait in its backlog meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// For each segment received.
    pub per_segment: Duration,
    /// For each entry of the retransmission queue that the stack walks (see `transport::Work`).
    pub per_walked: Duration,
    /// Segments that may wait; more are dropped.
    pub backlog: u32,
    /// A backlog that overflowed takes nothing before it is empty (Linux 2.4, `netif_rx`: throttle).
    pub throttle: bool,
}

impl Processor {
    /// One that takes no time.
    pub const FREE: Self = Self {
        per_segment: Duration::ZERO,
        per_walked: Duration::ZERO,
        backlog: 1000,
        throttle: false,
    };

    /// Paper 0's sender: a Pentium 4 of 2.8 GHz with Linux 2.4.26 (paper 0, tables 1 and 6).
    ///
    /// A segment: at full rate the benchmark of table 6 keeps 923.0 of 1935.5 MB/s, so the transfer has
    /// at most 52 % of the machine, 12.9 us for every ACK with the two segments it releases, some 3 us
    /// of them for copying these. A queue entry: a cache miss, for 8 200 `sk_buff`s of 160 bytes do
    /// not fit 512 KiB; 100 ns on DDR400, less what the processor prefetches of neighbours. Not
    /// measured: 50 to 85 ns give the same tables within a tenth. The backlog is `netdev_max_backlog`;
    /// it throttles because the driver of table 2 is built without NAPI.
    pub const PENTIUM_4_LINUX_2_4: Self = Self {
        per_segment: Duration::from_us(10),
        per_walked: Duration::from_ns(70),
        backlog: 300,
        throttle: true,
    };

    /// The machine that a TCP profile's measurements were made on, where it decided them.
    pub fn of_profile(profile: &str) -> Option<Self> {
        (profile == "linux-2.4-web100").then_some(Self::PENTIUM_4_LINUX_2_4)
    }
}

/// A host's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The processor model; `None` takes no time.
    pub processor: Option<Processor>,
}

#[derive(Debug)]
enum Program {
    Write(Writing),
    Read(Reading),
}

impl Program {
    #[inline]
    fn run(&mut self, connection: &mut Connection, now: Instant) {
        match self {
            Self::Write(writing) => writing.run(connection, now),
            Self::Read(reading) => reading.run(connection, now),
        }
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        match self {
            Self::Write(writing) => writing.next_wakeup(),
            Self::Read(reading) => reading.next_wakeup(),
        }
    }
}

/// One end of a flow.
#[derive(Debug)]
struct Endpoint {
    flow: FlowId,
    port: u16,
    connection: Connection,
    program: Program,
    /// Bytes of this connection in the interface's queue.
    queued: u64,
    /// It has more to send, but enough in the interface's queue (TCP small queues).
    throttled: bool,
}

/// The processor and what waits for it.
#[derive(Debug)]
struct Processing {
    config: Processor,
    backlog: VecDeque<PacketId>,
    /// It overflowed and is not yet empty again.
    throttled: bool,
    busy_until: Instant,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    number: u32,
    pub(crate) ports: Vec<Port>,
    endpoints: Vec<Endpoint>,
    /// The endpoint of each flow, `NO_ENDPOINT` where the flow does not end here.
    by_flow: Vec<u32>,
    timers: Schedule,
    processing: Option<Processing>,
}

const NO_ENDPOINT: u32 = u32::MAX;

impl Host {
    /// The node of that number, with its interfaces and no connection yet.
    pub fn new(number: u32, config: &Config, ports: Vec<Port>) -> Self {
        let processing = config.processor.map(|config| Processing {
            config,
            backlog: VecDeque::new(),
            throttled: false,
            busy_until: Instant::ZERO,
        });
        Self {
            number,
            ports,
            endpoints: Vec::new(),
            by_flow: Vec::new(),
            timers: Schedule::default(),
            processing,
        }
    }

    /// Adds the sending end of a flow that leaves through `port`.
    pub fn send(&mut self, flow: FlowId, port: u16, connection: Connection, writer: Writer) {
        self.add(flow, port, connection, Program::Write(Writing::new(writer)));
    }

    /// Adds the receiving end of a flow whose ACKs leave through `port`.
    pub fn sink(&mut self, flow: FlowId, port: u16, connection: Connection, reader: Reader) {
        self.add(flow, port, connection, Program::Read(Reading::new(reader)));
    }

    fn add(&mut self, flow: FlowId, port: u16, connection: Connection, program: Program) {
        let index = flow.0 as usize;
        if self.by_flow.len() <= index {
            self.by_flow.resize(index + 1, NO_ENDPOINT);
        }
        self.by_flow[index] = self.timers.add();
        let at = connection.next_wakeup().min(program.next_wakeup());
        self.timers.arm(self.by_flow[index], at);
        let endpoint = Endpoint { flow, port, connection, program, queued: 0, throttled: false };
        self.endpoints.push(endpoint);
    }

    /// A segment arrived.
    #[inline]
    pub fn receive(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Touched {
        let Some(processing) = &mut self.processing else {
            let Some((index, _)) = self.deliver(packets, packet, now, observer) else {
                return Touched::None;
            };
            return self.pump(packets, index, now, Touched::None, observer);
        };
        let Processor { backlog, throttle, .. } = processing.config;
        let waiting = processing.backlog.len();
        processing.throttled =
            throttle && waiting > 0 && (processing.throttled || waiting >= backlog as usize);
        if processing.throttled || waiting >= backlog as usize {
            let place = Place::Node(self.number);
            observer.dropped(place, &packets[packet], DropReason::Backlog, now);
            packets.release(packet);
            return Touched::None;
        }
        processing.backlog.push_back(packet);
        self.serve(packets, now, observer)
    }

    /// Lets the processor take what waits in its backlog, as far as its time goes.
    fn serve(
        &mut self,
        packets: &mut Packets,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Touched {
        let mut touched = Touched::None;
        while let Some(processing) = &mut self.processing {
            if processing.busy_until > now {
                break;
            }
            let Some(packet) = processing.backlog.pop_front() else {
                break;
            };
            let mut work = Work::default();
            if let Some((index, done)) = self.deliver(packets, packet, now, observer) {
                work = done;
                touched = self.pump(packets, index, now, touched, observer);
            }
            if let Some(processing) = &mut self.processing {
                let cost = processing.config.per_segment
                    + processing.config.per_walked.times(u64::from(work.walked));
                processing.busy_until = now + cost;
            }
        }
        touched
    }

    /// Gives a segment to its connection; returns the endpoint's index, and the work it was.
    #[inline]
    fn deliver(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Option<(u32, Work)> {
        let flow = packets[packet].flow.0 as usize;
        let index = self.by_flow.get(flow).copied().unwrap_or(NO_ENDPOINT);
        let Some(endpoint) = self.endpoints.get_mut(index as usize) else {
            let place = Place::Node(self.number);
            observer.dropped(place, &packets[packet], DropReason::NoRoute, now);
            packets.release(packet);
            return None;
        };
        let work = endpoint.connection.receive(&packets[packet], now);
        packets.release(packet);
        Some((index, work))
    }

    /// Runs a connection's program and moves its segments into the interface's queue, or onto the
    /// wire if that is idle. `touched` is what was touched before, and is returned with what is now.
    #[inline]
    fn pump(
        &mut self,
        packets: &mut Packets,
        index: u32,
        now: Instant,
        mut touched: Touched,
        observer: &mut impl Observer,
    ) -> Touched {
        let single = self.ports.len() == 1;
        let endpoint = &mut self.endpoints[index as usize];
        endpoint.program.run(&mut endpoint.connection, now);
        let silent = matches!(&endpoint.program, Program::Write(w) if !w.started());
        let limit = if silent { 0 } else { endpoint.connection.small_queue_limit() };
        let port = &mut self.ports[usize::from(endpoint.port)];
        loop {
            endpoint.throttled = endpoint.queued >= limit;
            if endpoint.throttled || !endpoint.connection.may_transmit() {
                break;
            }
            let packet = packets.claim();
            if !endpoint.connection.poll_transmit(now, &mut packets[packet]) {
                packets.release(packet);
                break;
            }
            // Only one packet can leave at once, and only a host with one interface is sure that it
            // is the only one.
            let offered = if single && touched == Touched::None {
                port.offer(packets, packet, now, observer)
            } else {
                port.enqueue(packets, packet, now).into()
            };
            match offered {
                Offered::Sent(leaves) => {
                    touched = Touched::Sent { port: port.id(), packet, leaves, queued: false };
                }
                Offered::Queued | Offered::Behind => {
                    endpoint.queued += u64::from(packets[packet].length);
                    touched = touched.and(Touched::Port(port.id()));
                }
                Offered::Dropped(_) => {
                    endpoint.connection.refused(&packets[packet], now);
                    packets.release(packet);
                    break;
                }
            }
        }
        let at = endpoint.connection.next_wakeup().min(endpoint.program.next_wakeup());
        self.timers.arm(index, at);
        touched
    }

    /// What the interface sends at `now`.
    #[inline]
    pub fn poll_transmit(
        &mut self,
        port: u16,
        packets: &mut Packets,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Transmit {
        let transmit = self.ports[usize::from(port)].poll_transmit(packets, now, observer);
        if let Transmit::Packet(packet, _) = transmit {
            let index = self.by_flow[packets[packet].flow.0 as usize];
            let endpoint = &mut self.endpoints[index as usize];
            endpoint.queued -= u64::from(packets[packet].length);
            if endpoint.throttled {
                self.pump(packets, index, now, Touched::All, observer);
            }
        }
        transmit
    }

    /// The earliest time a timer, a program or the processor needs it.
    #[inline]
    pub fn next_wakeup(&self) -> Instant {
        let timer = self.timers.earliest();
        match &self.processing {
            Some(p) if !p.backlog.is_empty() => timer.min(p.busy_until),
            _ => timer,
        }
    }

    /// Its time has come.
    pub fn wake(
        &mut self,
        packets: &mut Packets,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Touched {
        let mut touched = self.serve(packets, now, observer);
        while let Some((_, index)) = self.timers.due(now) {
            self.timers.set(index, Instant::NEVER);
            let endpoint = &mut self.endpoints[index as usize];
            if endpoint.connection.next_wakeup() <= now {
                endpoint.connection.wake(now);
            }
            touched = self.pump(packets, index, now, touched, observer);
        }
        touched
    }

    /// Packets that wait for the processor.
    pub fn held(&self) -> usize {
        self.processing.as_ref().map_or(0, |p| p.backlog.len())
    }

    fn endpoint(&self, flow: FlowId) -> Option<&Endpoint> {
        let index = *self.by_flow.get(flow.0 as usize)?;
        self.endpoints.get(index as usize)
    }

    /// The state of the connection that `flow` has here.
    pub fn info(&self, flow: FlowId) -> Option<Info> {
        self.endpoint(flow).map(|e| e.connection.info())
    }

    /// The bytes that the program of `flow` has read here, and when it read the last of them.
    pub fn progress(&self, flow: FlowId) -> Option<(u64, Instant)> {
        match &self.endpoint(flow)?.program {
            Program::Read(reading) => Some(reading.progress()),
            Program::Write(_) => None,
        }
    }

    /// The flows that end here.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + '_ {
        self.endpoints.iter().map(|e| e.flow)
    }
}
