//! A socket of datagrams: stamped and numbered where they are sent, counted where they arrive.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};

use network::datagram::{Config, Counters};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockType, recvmsg, send, setsockopt, sockopt,
};
use scenario::plan::Flow;
use traffic::packet::ecn;
use traffic::{Duration, Instant};

use super::socket::{self, Route};
use crate::Error;
use crate::clock::Clock;

/// A datagram begins with the time at which it was sent, in nanoseconds; a shorter one has none.
const STAMP: usize = size_of::<u64>();
/// The same with its number behind, where it has room for that.
const NUMBERED: usize = 2 * STAMP;
/// Bytes that wait in a socket: what comes at 1 Gbit/s while its program waits for a processor.
const BUFFER: usize = 8 << 20;

/// A socket of datagrams.
#[derive(Debug)]
pub(super) struct Datagrams {
    socket: OwnedFd,
    counters: Counters,
    /// The highest number that arrived; numbers begin at 1.
    highest: u64,
    /// The application is told of no datagram.
    reads_always: bool,
}

/// Memory that all sockets send from and receive into.
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
    /// What is sent and received by a socket that is connected to its peer.
    fn new(socket: OwnedFd) -> Self {
        Self { socket, counters: Counters::default(), highest: 0, reads_always: false }
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// From now on the application is told of no datagram.
    pub(super) fn read_always(&mut self) {
        self.reads_always = true;
    }

    pub(super) fn reads_always(&self) -> bool {
        self.reads_always
    }

    /// Sends a datagram of so many bytes. As at a simulated host, what is refused is lost.
    pub(super) fn send(&mut self, bytes: u32, clock: Clock, scratch: &mut Scratch) {
        let Some(payload) = scratch.payload.get_mut(..bytes as usize) else { return };
        self.counters.send(bytes);
        if let Some(stamp) = payload.first_chunk_mut::<STAMP>() {
            *stamp = clock.now().as_ns().to_be_bytes();
        }
        if let Some(number) = payload.get_mut(STAMP..NUMBERED) {
            number.copy_from_slice(&self.counters.packets_sent().to_be_bytes());
        }
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        if send(self.socket.as_raw_fd(), payload, flags).is_err() {
            self.counters.refuse();
        }
    }

    /// Takes the next datagram that came, and counts it; returns its bytes, `None` if there is none.
    pub(super) fn receive(&mut self, clock: Clock, scratch: &mut Scratch) -> Option<u32> {
        let (mut stamp, mut number) = ([0; STAMP], [0; STAMP]);
        let mut slices = [IoSliceMut::new(&mut stamp), IoSliceMut::new(&mut number)];
        // The length is the datagram's, whatever of it is copied here.
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        let control = Some(scratch.control.as_mut_slice());
        let message = recvmsg::<()>(self.socket.as_raw_fd(), &mut slices, control, flags).ok()?;
        let (bytes, mut at) = (message.bytes, None);
        for control in message.cmsgs().ok()? {
            match control {
                ControlMessageOwned::ScmTimestampns(stamp) => at = Some(clock.when(stamp.into())),
                ControlMessageOwned::RxqOvfl(lost) => self.counters.overflow(lost.into()),
                ControlMessageOwned::Ipv4Tos(tos) => self.count_mark(tos),
                ControlMessageOwned::Ipv6TClass(class) => self.count_mark(class as u8),
                _ => {}
            }
        }
        let at = at.unwrap_or_else(|| clock.now());
        let sent = Instant::ZERO + Duration::from_ns(u64::from_be_bytes(stamp));
        let delay = (bytes >= STAMP).then(|| at.since(sent));
        // A datagram has at most 65507.
        let payload = bytes as u32;
        self.counters.receive(payload, at, delay);
        if bytes >= NUMBERED {
            self.highest = self.highest.max(u64::from_be_bytes(number));
        }
        Some(payload)
    }

    fn count_mark(&mut self, tos: u8) {
        if tos & ecn::MASK == ecn::CE {
            self.counters.mark();
        }
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Of `sent` datagrams those after the last one that arrived here; none is known to be such where they bear
    /// no number.
    pub(super) fn unseen(&self, sent: u64) -> u64 {
        match self.highest {
            0 if self.counters.packets_received() > 0 => 0,
            highest => sent.saturating_sub(highest),
        }
    }
}

/// Opens the sending end, in the namespace of this thread.
pub(super) fn open_source(flow: &Flow, config: &Config) -> Result<Datagrams, Error> {
    let route = Route::of(flow)?;
    let open = || {
        let socket = socket::open(SockType::Datagram, route.source)?;
        setsockopt(&socket, sockopt::SndBufForce, &BUFFER)
            .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &BUFFER))?;
        let ect = if config.ecn { ecn::ECT0 } else { ecn::NOT_ECT };
        socket::mark(&socket, &flow.header, ect, route.destination)?;
        socket::start_connecting(&socket, route.destination, flow.header.flow_label)?;
        Ok(Datagrams::new(socket))
    };
    open().map_err(refused(flow))
}

/// Opens the receiving end, in the namespace of this thread. It hears of this flow only, though many may
/// go to its port.
pub(super) fn open_sink(flow: &Flow) -> Result<Datagrams, Error> {
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
        Ok(Datagrams::new(socket))
    };
    open().map_err(refused(flow))
}

fn refused(flow: &Flow) -> impl FnOnce(nix::errno::Errno) -> Error {
    Error::system(format!("open a socket for flow `{}`", flow.name))
}
