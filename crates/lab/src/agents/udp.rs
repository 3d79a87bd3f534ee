//! A flow of datagrams: sent at the source's times whatever becomes of them, counted where they arrive.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};

use network::datagram::{Config, Delay, Source};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockType, recvmsg, send, setsockopt, sockopt,
};
use scenario::plan::Flow;
use traffic::packet::ecn;
use traffic::{Duration, FlowId, Instant, Packet, Random};
use transport::Info;

use super::socket::{self, Route};
use crate::Error;
use crate::clock::Clock;

/// A datagram begins with the time at which it was sent, in nanoseconds; a shorter one has none.
const STAMP: usize = size_of::<u64>();
/// The same with its number behind, where it has room for that.
const NUMBERED: usize = 2 * STAMP;
/// Bytes that wait in a socket: what comes at 1 Gbit/s while its program waits for a processor.
const BUFFER: usize = 8 << 20;

/// Both ends.
#[derive(Debug)]
pub(super) struct Datagrams {
    source: Source,
    out: OwnedFd,
    sink: OwnedFd,
    sent: Count,
    received: Count,
    /// The highest number that arrived; numbers begin at 1.
    highest: u64,
    last: Instant,
    delay: Delay,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    bytes: u64,
    /// What this end's own socket had no room for.
    refused: u64,
    marks: u64,
}

/// Memory that all flows send from and receive into.
#[derive(Debug)]
pub(super) struct Scratch {
    /// As long as the longest datagram.
    payload: Vec<u8>,
    control: Vec<u8>,
}

impl Scratch {
    pub(super) fn new() -> Self {
        let control = nix::cmsg_space!(nix::sys::time::TimeSpec, u32, i32);
        Self { payload: vec![0; usize::from(u16::MAX)], control }
    }
}

impl Datagrams {
    /// A flow between sockets that were opened in its hosts' namespaces.
    pub(super) fn new(
        flow: &Flow,
        number: u32,
        config: Config,
        seed: u64,
        [out, sink]: [OwnedFd; 2],
    ) -> Self {
        let ends = (FlowId(number), flow.source, flow.destination);
        Self {
            source: Source::new(config, flow.span, ends, Random::new(seed, &flow.name)),
            out,
            sink,
            sent: Count::default(),
            received: Count::default(),
            highest: 0,
            last: Instant::ZERO,
            delay: Delay::default(),
        }
    }

    pub(super) fn sink(&self) -> &OwnedFd {
        &self.sink
    }

    /// Sends what is due.
    pub(super) fn wake(&mut self, now: Instant, clock: Clock, scratch: &mut Scratch) {
        let mut packet = Packet::default();
        while self.source.next_wakeup() <= now {
            self.source.emit(&mut packet, now);
            let length = packet.tcp.payload as usize;
            let Some(payload) = scratch.payload.get_mut(..length) else { continue };
            self.sent.packets += 1;
            if let Some(stamp) = payload.first_chunk_mut::<STAMP>() {
                *stamp = clock.now().as_ns().to_be_bytes();
            }
            if let Some(number) = payload.get_mut(STAMP..NUMBERED) {
                number.copy_from_slice(&self.sent.packets.to_be_bytes());
            }
            self.sent.bytes += length as u64;
            // As at a simulated host, what is refused is lost.
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            if send(self.out.as_raw_fd(), payload, flags).is_err() {
                self.sent.refused += 1;
            }
        }
    }

    /// Takes what came.
    pub(super) fn readable(&mut self, clock: Clock, scratch: &mut Scratch) {
        while self.receive(clock, scratch).is_some() {}
    }

    fn receive(&mut self, clock: Clock, scratch: &mut Scratch) -> Option<()> {
        let (mut stamp, mut number) = ([0; STAMP], [0; STAMP]);
        let mut slices = [IoSliceMut::new(&mut stamp), IoSliceMut::new(&mut number)];
        // The length is the datagram's, whatever of it is copied here.
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        let control = Some(scratch.control.as_mut_slice());
        let message = recvmsg::<()>(self.sink.as_raw_fd(), &mut slices, control, flags).ok()?;
        let (bytes, mut at) = (message.bytes, None);
        for control in message.cmsgs().ok()? {
            match control {
                ControlMessageOwned::ScmTimestampns(stamp) => at = Some(clock.when(stamp.into())),
                ControlMessageOwned::RxqOvfl(lost) => self.received.refused = lost.into(),
                ControlMessageOwned::Ipv4Tos(tos) => self.count_mark(tos),
                ControlMessageOwned::Ipv6TClass(class) => self.count_mark(class as u8),
                _ => {}
            }
        }
        let at = at.unwrap_or_else(|| clock.now());
        self.received.packets += 1;
        self.received.bytes += bytes as u64;
        self.last = at;
        if bytes >= STAMP {
            let sent = Instant::ZERO + Duration::from_ns(u64::from_be_bytes(stamp));
            self.delay.add(at.since(sent));
        }
        if bytes >= NUMBERED {
            self.highest = self.highest.max(u64::from_be_bytes(number));
        }
        Some(())
    }

    fn count_mark(&mut self, tos: u8) {
        self.received.marks += u64::from(tos & ecn::MASK == ecn::CE);
    }

    pub(super) fn next_wakeup(&self) -> Instant {
        self.source.next_wakeup()
    }

    /// The bytes that arrived, and when the last of them did.
    pub(super) fn progress(&self) -> (u64, Instant) {
        (self.received.bytes, self.last)
    }

    pub(super) fn delay(&self) -> Delay {
        self.delay
    }

    /// Those sent after the last one that arrived; none is known to be such where they bear no number.
    pub(super) fn unseen(&self) -> u64 {
        match self.highest {
            0 if self.received.packets > 0 => 0,
            highest => self.sent.packets.saturating_sub(highest),
        }
    }

    /// What both ends count, where a connection's counters have the same meaning.
    pub(super) fn infos(&self) -> [Info; 2] {
        let (sent, received) = (&self.sent, &self.received);
        let sender = Info {
            bytes_written: sent.bytes,
            bytes_sent: sent.bytes,
            segments_sent: sent.packets,
            data_segments_sent: sent.packets,
            local_drops: sent.refused,
            ..Info::default()
        };
        let receiver = Info {
            bytes_received: received.bytes,
            bytes_read: received.bytes,
            segments_received: received.packets,
            data_segments_received: received.packets,
            local_drops: received.refused,
            ecn_marks: received.marks,
            ..Info::default()
        };
        [sender, receiver]
    }
}

/// Opens the sending end, in the namespace of this thread.
pub(super) fn open_source(flow: &Flow, config: &Config) -> Result<OwnedFd, Error> {
    let route = Route::of(flow)?;
    let open = || {
        let socket = socket::open(SockType::Datagram, route.source)?;
        setsockopt(&socket, sockopt::SndBufForce, &BUFFER)
            .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &BUFFER))?;
        let ect = if config.ecn { ecn::ECT0 } else { ecn::NOT_ECT };
        socket::mark(&socket, &flow.header, ect, route.destination)?;
        socket::start_connecting(&socket, route.destination, flow.header.flow_label)?;
        Ok(socket)
    };
    open().map_err(refused(flow))
}

/// Opens the receiving end, in the namespace of this thread. It hears of this flow only, though many may
/// go to its port.
pub(super) fn open_sink(flow: &Flow) -> Result<OwnedFd, Error> {
    let route = Route::of(flow)?;
    let open = || {
        let socket = socket::open(SockType::Datagram, route.destination)?;
        setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &BUFFER))?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1)?;
        if route.destination.is_ipv4() {
            setsockopt(&socket, sockopt::IpRecvTos, &true)?;
        } else {
            setsockopt(&socket, sockopt::Ipv6RecvTClass, &true)?;
        }
        socket::start_connecting(&socket, route.source, 0)?;
        Ok(socket)
    };
    open().map_err(refused(flow))
}

fn refused(flow: &Flow) -> impl FnOnce(nix::errno::Errno) -> Error {
    Error::system(format!("open a socket for flow `{}`", flow.name))
}
