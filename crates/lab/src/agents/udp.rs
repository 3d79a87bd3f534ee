//! Datagram sockets. Datagrams are stamped and numbered by the sender and counted by the receiver.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};

use applications::datagrams::Config;
use base::packet::ecn;
use base::{Duration, Instant};
use network::datagram::Counters;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockType, recvmsg, send, setsockopt, sockopt,
};
use scenario::plan::Flow;

use super::socket::{self, Route};
use crate::Error;
use crate::clock::Clock;

/// Bytes of the send time, in nanoseconds, at the start of a datagram. Shorter datagrams have none.
const STAMP: usize = size_of::<u64>();
/// Bytes of the send time and the datagram's number. Shorter datagrams have no number.
const NUMBERED: usize = 2 * STAMP;
/// Bytes of a socket's buffer: holds what arrives at 1 Gbit/s while the program waits for a CPU.
const BUFFER: usize = 8 << 20;

/// A datagram socket.
#[derive(Debug)]
pub(super) struct Datagrams {
    socket: OwnedFd,
    counters: Counters,
    /// The number of the datagram that arrived last, and the highest number; numbers begin at 1.
    last: u64,
    highest: u64,
    /// Whether datagrams are read without an event for the application.
    reads_always: bool,
}

/// Memory that all sockets send from and receive into.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Bytes for the longest datagram.
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
    /// Wraps a socket that is connected to its peer.
    fn new(socket: OwnedFd) -> Self {
        Self { socket, counters: Counters::default(), last: 0, highest: 0, reads_always: false }
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Stops the events for the application; datagrams are still read and counted.
    pub(super) fn read_always(&mut self) {
        self.reads_always = true;
    }

    pub(super) fn reads_always(&self) -> bool {
        self.reads_always
    }

    /// Sends a datagram of `bytes` bytes. If the kernel refuses it, it is lost, as at a simulated host.
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

    /// Receives and counts the next datagram. Returns its bytes; `None` if there is none.
    pub(super) fn receive(&mut self, clock: Clock, scratch: &mut Scratch) -> Option<u32> {
        let (mut stamp, mut number) = ([0; STAMP], [0; STAMP]);
        let mut slices = [IoSliceMut::new(&mut stamp), IoSliceMut::new(&mut number)];
        // With MSG_TRUNC the returned length is the datagram's, however little is copied.
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
        let sent = Instant::ZERO + Duration::from_ns(u64::from_be_bytes(stamp));
        let at = arrival(at, sent).unwrap_or_else(|| clock.now());
        let delay = (bytes >= STAMP).then(|| at.since(sent));
        // A datagram has at most 65507 bytes.
        let payload = bytes as u32;
        self.counters.receive(payload, at, delay);
        if bytes >= NUMBERED {
            self.last = u64::from_be_bytes(number);
            self.highest = self.highest.max(self.last);
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

    /// The number of the datagram that arrived last, from 0.
    pub(super) fn number(&self) -> u64 {
        self.last.saturating_sub(1)
    }

    /// The number of the `sent` datagrams after the last one that arrived; 0 if datagrams arrive without numbers.
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

/// Opens the receiving end, in the namespace of this thread. It receives this flow only, even if several flows go to
/// its port.
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

/// The arrival time by the kernel's stamp; none if that is before the sending. The kernel takes its stamps from the wall
/// clock, which was set forward in between.
fn arrival(at: Option<Instant>, sent: Instant) -> Option<Instant> {
    at.filter(|&at| at >= sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_before_the_sending_is_of_a_clock_that_was_set() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        assert_eq!(arrival(Some(at(7)), at(5)), Some(at(7)));
        assert_eq!(arrival(Some(at(5)), at(5)), Some(at(5)));
        assert_eq!(arrival(Some(at(0)), at(5)), None);
        assert_eq!(arrival(None, at(5)), None);
    }
}
