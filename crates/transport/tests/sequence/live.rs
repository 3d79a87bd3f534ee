//! One connection of the real kernel over a drawn path to a modelled receiver, and its recording.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;

use base::packet::{ecn, flags};
use base::{Duration, FlowId, HostId, Instant, Packet};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt,
};
use nix::time::{ClockId, clock_gettime};
use transport::{Config, Connection};

use crate::model::Call;
use crate::trial::{Random, Trial};
use crate::tun::Tun;
use crate::wire;

/// An input of the sender's stack, with the time before and after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) at: Instant,
    pub(crate) until: Instant,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Arrival(Packet),
    Write(u64),
    /// It sent without an input: a timer.
    Timer,
}

/// A connection as it went.
pub(crate) struct Recording {
    pub(crate) inputs: Vec<Input>,
    /// The segments that the kernel sent, the SYN first.
    pub(crate) sent: Vec<(Instant, Packet)>,
    /// The clock's reading at `Instant::ZERO`, in nanoseconds.
    pub(crate) origin_ns: u64,
    pub(crate) finished: bool,
    /// Closing it is a call of a hook.
    pub(crate) socket: TcpStream,
}

/// The timeout of a trial: long enough for several retransmission timeouts.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The time to wait for further events after the last acknowledgement.
const QUIET: Duration = Duration::from_ms(20);
/// The kernel's clocks of milliseconds and of jiffies (at 100, 250 and 1000 a second) tick at multiples of
/// this.
const TICKS_NS: u64 = 20_000_000;

struct Event {
    at: Instant,
    order: u64,
    to_kernel: bool,
    packet: Packet,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

struct Live<'a> {
    tun: &'a mut Tun,
    port: u16,
    peer: Connection,
    trial: &'a Trial,
    random: Random,
    /// Departures from the bottleneck, in order.
    departures: Vec<Instant>,
    /// Losses of a run still to come.
    run: u64,
    events: BinaryHeap<Reverse<Event>>,
    order: u64,
    acked: u32,
    record: Recording,
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("the monotonic clock");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

impl Recording {
    /// Sets each input's time to the time at which the kernel took it, if a hook reported it.
    pub(crate) fn align(&mut self, calls: &[Call]) {
        let origin_us = self.origin_ns / 1_000;
        let mut times = calls.iter().map(|call| call.view.now_us - origin_us).peekable();
        for input in &mut self.inputs {
            let (from, to) = (input.at.as_us(), input.until.as_us());
            while times.next_if(|&at| at < from).is_some() {}
            if let Some(at) = times.next_if(|&at| at <= to) {
                input.at = Instant::from_ps(at * 1_000_000);
            }
        }
    }
}

/// Runs the kernel's connection with the congestion control of that name.
pub(crate) fn run(
    tun: &mut Tun,
    congestion: &str,
    receiver: &Config,
    trial: &Trial,
    random: Random,
) -> Recording {
    crate::tun::sysctl("tcp_ecn", if trial.ecn { "1" } else { "2" });
    let peer = Connection::listen(receiver, FlowId(0), HostId(1), HostId(0), 0x2000_0000);
    // A second of its own before the first event.
    let origin_ns = (monotonic_ns() / TICKS_NS - 50) * TICKS_NS;
    let socket = open(congestion);
    let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&socket, sockopt::Linger, &linger).expect("a TCP socket");
    let record =
        Recording { inputs: Vec::new(), sent: Vec::new(), origin_ns, finished: false, socket };
    let mut live = Live {
        tun,
        port: 0,
        peer,
        trial,
        random,
        departures: Vec::new(),
        run: 0,
        events: BinaryHeap::new(),
        order: 0,
        acked: 0,
        record,
    };
    live.drive();
    live.record
}

/// A connection that is being opened.
fn open(congestion: &str) -> TcpStream {
    let kind = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd = socket(AddressFamily::Inet, SockType::Stream, kind, None).expect("a socket");
    let name = OsString::from(congestion);
    setsockopt(&fd, sockopt::TcpCongestion, &name).expect("the algorithm is registered");
    setsockopt(&fd, sockopt::SndBufForce, &(16 << 20)).expect("root may have a large buffer");
    setsockopt(&fd, sockopt::TcpNoDelay, &true).expect("a TCP socket");
    let peer = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::from(wire::PEER), wire::PEER_PORT));
    let opening = connect(fd.as_raw_fd(), &peer);
    assert_eq!(opening, Err(Errno::EINPROGRESS), "the handshake takes a round trip");
    TcpStream::from(fd)
}

impl Live<'_> {
    fn now(&self) -> Instant {
        Instant::from_ps((monotonic_ns() - self.record.origin_ns) * 1_000)
    }

    /// Runs the connection until everything written is acknowledged.
    fn drive(&mut self) {
        let end = self.now() + TIMEOUT;
        let total: u64 = self.trial.writes.iter().map(|write| write.bytes).sum();
        let trial = self.trial;
        let mut writes = trial.writes.iter();
        let mut due = None;
        let mut next = writes.next();
        self.take_sent(false);
        let last = self.record.sent[0].1.tcp.seq.wrapping_add(1).wrapping_add(total as u32);
        let mut quiet = Instant::NEVER;
        while self.now() < end.min(quiet) {
            self.deliver();
            if self.peer.is_established() && due.is_none() {
                due = next.map(|write| self.now() + write.after);
            }
            if let (Some(write), Some(at)) = (next, due)
                && at <= self.now()
            {
                self.write(write.bytes);
                next = writes.next();
                due = next.map(|write| self.now() + write.after);
            }
            if self.acked == last && quiet == Instant::NEVER {
                quiet = self.now() + QUIET;
                self.record.finished = true;
            }
            self.wait(due.unwrap_or(Instant::NEVER).min(quiet).min(end));
        }
    }

    /// Waits for the first of: the network, the peer's timer, or a segment that the kernel sends without an
    /// input.
    fn wait(&mut self, until: Instant) {
        let event = self.events.peek().map_or(Instant::NEVER, |event| event.0.at);
        let until = until.min(event).min(self.peer.next_wakeup());
        let span = until.since(self.now());
        if span > Duration::ZERO {
            self.tun.wait(std::time::Duration::from_nanos(span.as_ns()));
        }
        self.take_sent(true);
    }

    /// The application writes.
    fn write(&mut self, bytes: u64) {
        let data = vec![0; bytes as usize];
        let at = self.now();
        self.record.socket.write_all(&data).expect("the send buffer takes it");
        self.input(at, What::Write(bytes));
    }

    fn input(&mut self, at: Instant, what: What) {
        let until = self.now();
        self.record.inputs.push(Input { at, until, what });
        self.take_sent(false);
    }

    /// Puts the kernel's segments on the path.
    fn take_sent(&mut self, of_its_own: bool) {
        let mut buffer = [0; 2_048];
        let mut first = of_its_own;
        while let Some(bytes) = self.tun.read(&mut buffer) {
            let Some((packet, port)) = wire::parse(bytes) else { continue };
            let now = self.now();
            // Another connection's last words.
            if packet.tcp.flags & flags::RST != 0 || self.port != 0 && self.port != port {
                continue;
            }
            self.port = port;
            if std::mem::take(&mut first) {
                self.record.inputs.push(Input { at: now, until: now, what: What::Timer });
            }
            self.record.sent.push((now, packet));
            self.carry(packet, now);
        }
    }

    /// The way to the peer: loss, then a bottleneck with a drop-tail queue, which marks.
    fn carry(&mut self, mut packet: Packet, now: Instant) {
        if packet.tcp.payload != 0 {
            if self.run != 0 || self.random.once_in(self.trial.burst) {
                self.run = if self.run == 0 { 2 + self.random.below(8) } else { self.run - 1 };
                return;
            }
            if self.random.once_in(self.trial.loss) {
                return;
            }
            if packet.tos & ecn::MASK != 0 && self.random.once_in(self.trial.mark) {
                packet.tos |= ecn::CE;
            }
        }
        self.departures.retain(|&at| at > now);
        if self.departures.len() >= self.trial.buffer {
            return;
        }
        let start = self.departures.last().copied().unwrap_or(now);
        let leaves = start + self.trial.byte.times(packet.length.into());
        self.departures.push(leaves);
        self.schedule(leaves, false, packet);
    }

    fn schedule(&mut self, at: Instant, to_kernel: bool, packet: Packet) {
        self.order += 1;
        self.events.push(Reverse(Event { at, order: self.order, to_kernel, packet }));
    }

    /// Everything that is due arrives.
    fn deliver(&mut self) {
        if self.peer.next_wakeup() <= self.now() {
            let now = self.now();
            self.peer.wake(now);
            self.answer(now);
        }
        while self.events.peek().is_some_and(|event| event.0.at <= self.now()) {
            let event = self.events.pop().expect("peeked").0;
            if event.to_kernel {
                self.arrive(event.packet);
                continue;
            }
            let now = self.now();
            self.peer.receive(&event.packet, now);
            if self.peer.is_established() {
                self.peer.read_always(now);
            }
            self.answer(now);
        }
    }

    /// Sends the peer's segments on the way back.
    fn answer(&mut self, now: Instant) {
        let mut packet = Packet::default();
        while self.peer.poll_transmit(now, &mut packet) {
            self.schedule(now + self.trial.delay, true, packet);
        }
    }

    /// A segment reaches the kernel.
    fn arrive(&mut self, packet: Packet) {
        let datagram = wire::build(&packet, self.port);
        let at = self.now();
        self.tun.write(&datagram);
        self.acked = packet.tcp.ack;
        self.input(at, What::Arrival(packet));
    }
}
