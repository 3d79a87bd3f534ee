//! Devices: where real frames enter the fabric and leave it, many at a time and without waiting.
//!
//! A device is opened on an interface of the calling thread's network namespace, and is then used from any.
//! Frames of the interface's first queue are read; a veth interface made with one queue has no other.

mod link;
pub(crate) mod option;
mod packet;
mod promiscuous;
mod segments;
mod xdp;

use std::os::fd::BorrowedFd;

use traffic::{PacketId, Packets};

pub use link::LinkState;
pub use promiscuous::Promiscuous;

use link::{Failure, Link};

use crate::Error;
use crate::buffers::Buffers;

/// How many frames are received at most at once.
pub const BATCH: usize = 64;

/// How a device moves frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// AF_XDP: the kernel takes frames from the interface before its own stack sees them, and copies each
    /// once. Needs root, and buffers of 2048 or 4096 bytes.
    Xdp {
        /// Whether the interface's driver runs the program that takes them, which not every driver can;
        /// otherwise the kernel does for it.
        native: bool,
    },
    /// AF_PACKET: works in a user namespace, and with frames of any length.
    Packet {
        /// Whether frames are passed that are yet to be cut into segments or to have their checksums
        /// summed, with what the kernel says of that before each frame (see `buffers::OFFLOAD`). Otherwise
        /// they are cut and summed when they are received, and are as on a wire.
        vnet: bool,
    },
}

impl Kind {
    /// Its name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xdp { native: true } => "AF_XDP, native",
            Self::Xdp { native: false } => "AF_XDP, generic",
            Self::Packet { vnet: false } => "AF_PACKET",
            Self::Packet { vnet: true } => "AF_PACKET with offloads",
        }
    }
}

/// A frame that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its packet, and so its buffer.
    pub packet: PacketId,
    /// Its bytes without FCS.
    pub length: u32,
    /// What it is to be cut into; `None` if it is one frame.
    pub segments: Option<Segments>,
}

/// What a frame longer than the MTU is yet to be cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// How many frames.
    pub count: u16,
    /// Bytes of transport payload in each but the last.
    pub size: u16,
    /// Bytes of headers that each frame begins with.
    pub headers: u16,
}

/// What a device did since it was opened, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Handed to the caller.
    pub received: u64,
    /// Taken by the kernel to be sent.
    pub sent: u64,
    /// Dropped by the kernel because the device had no room for them, or because they were too long for a
    /// buffer.
    pub missed: u64,
    /// Given to the device to be sent, and dropped: its queue was full or the kernel refused them.
    pub refused: u64,
    /// Given to the device to be sent, and dropped because the interface was down or had no carrier.
    pub lost_when_down: u64,
    /// How many times the interface went down or lost its carrier; no frames.
    pub outages: u64,
}

/// One interface's frames.
///
/// An interface that is taken down, or has no carrier, neither receives nor sends until it is up again, and
/// what is to be sent meanwhile is dropped and counted.
#[derive(Debug)]
pub struct Device {
    socket: Socket,
    link: Link,
    /// As in [`Counts`].
    refused: u64,
}

#[derive(Debug)]
enum Socket {
    Xdp(Box<xdp::Socket>),
    Packet(packet::Socket),
}

impl Device {
    /// The most places of [`Packets`] that a device holds for frames to be received.
    pub const PLACES: u32 = xdp::RECEIVE;

    /// Opens the interface with that index in the calling thread's namespace. `first` is any open device of
    /// the same kind and on the same buffers, if there is one.
    ///
    /// # Errors
    /// If there is no such interface, if the user may not, or if the buffers do not suit `kind`.
    pub fn open(
        interface: u32,
        kind: Kind,
        buffers: &Buffers,
        packets: &mut Packets,
        first: Option<&Self>,
    ) -> Result<Self, Error> {
        let link = Link::open(interface)?;
        let socket = match kind {
            Kind::Xdp { native } => {
                let first = match first {
                    Some(Self { socket: Socket::Xdp(socket), .. }) => Some(socket.as_ref()),
                    _ => None,
                };
                let socket = xdp::Socket::open(interface, native, buffers, packets, first)?;
                Socket::Xdp(Box::new(socket))
            }
            Kind::Packet { vnet } => {
                Socket::Packet(packet::Socket::open(interface, vnet, buffers)?)
            }
        };
        Ok(Self { socket, link, refused: 0 })
    }

    /// Appends to `out` the frames that have come in since the last call, [`BATCH`] at most, or somewhat more
    /// if the last is cut into several. Never waits. The packets are the caller's from then on.
    ///
    /// # Errors
    /// If the interface was removed.
    #[inline]
    pub fn receive(
        &mut self,
        buffers: &mut Buffers,
        packets: &mut Packets,
        out: &mut Vec<Received>,
    ) -> Result<(), Error> {
        let received = match &mut self.socket {
            Socket::Xdp(socket) => socket.receive(packets, out),
            Socket::Packet(socket) => socket.receive(buffers, packets, out),
        };
        received.or_else(|failure| self.look(failure))
    }

    /// Puts a frame of `length` bytes, without FCS, into the queue of those to be sent. The packet is the
    /// device's until it is sent, and is then released.
    #[inline]
    pub fn send(&mut self, packet: PacketId, length: u32) {
        let is_down = self.link.is_down();
        match &mut self.socket {
            Socket::Xdp(socket) if is_down => socket.turn_away(packet),
            Socket::Packet(socket) if is_down => socket.turn_away(packet),
            Socket::Xdp(socket) => socket.send(packet, length),
            Socket::Packet(socket) => socket.send(packet, length),
        }
    }

    /// Has the kernel send what is queued, and releases into `packets` what is sent.
    ///
    /// # Errors
    /// If the interface was removed.
    #[inline]
    pub fn flush(&mut self, buffers: &mut Buffers, packets: &mut Packets) -> Result<(), Error> {
        if !self.link.is_down() {
            let (flushed, refused) = match &mut self.socket {
                Socket::Xdp(socket) => (socket.flush(packets), socket.take_refused()),
                Socket::Packet(socket) => (socket.flush(buffers, packets), socket.take_refused()),
            };
            flushed.or_else(|failure| self.look(failure))?;
            if refused > 0 {
                self.count_refused(refused)?;
            }
        }
        if self.link.is_down() {
            self.link.lost += match &mut self.socket {
                Socket::Xdp(socket) => socket.discard(packets),
                Socket::Packet(socket) => socket.discard(packets),
            };
        }
        Ok(())
    }

    /// Counts frames that were not sent by the reason: an interface without a carrier takes none.
    #[cold]
    fn count_refused(&mut self, frames: u64) -> Result<(), Error> {
        self.link.look(false)?;
        match self.link.state() {
            LinkState::Up => self.refused += frames,
            _ => self.link.lost += frames,
        }
        Ok(())
    }

    /// Whether frames wait that the kernel had no room for at the last [`Device::flush`].
    #[inline]
    pub fn has_unsent(&self) -> bool {
        let unsent = match &self.socket {
            Socket::Xdp(socket) => socket.has_unsent(),
            Socket::Packet(socket) => socket.has_unsent(),
        };
        unsent && !self.link.is_down()
    }

    /// How its interface was when it was last looked at.
    pub const fn link_state(&self) -> LinkState {
        self.link.state()
    }

    /// Looks whether the interface is up: to be done often, for an interface that is up again is not told of.
    ///
    /// # Errors
    /// If it was removed.
    pub fn check(&mut self) -> Result<(), Error> {
        let Self { socket, link, .. } = self;
        link.check(socket.fd())
    }

    #[cold]
    fn look(&mut self, failure: Failure) -> Result<(), Error> {
        match failure {
            Failure::Interface => self.link.look(true),
            Failure::Other(error) => Err(error),
        }
    }

    /// What it did until now.
    pub fn counts(&self) -> Counts {
        let counts = match &self.socket {
            Socket::Xdp(socket) => socket.counts(),
            Socket::Packet(socket) => socket.counts(),
        };
        let Link { outages, lost, .. } = self.link;
        Counts { refused: self.refused, outages, lost_when_down: lost, ..counts }
    }

    /// How many places of [`Packets`] it holds.
    pub fn lent(&self) -> usize {
        match &self.socket {
            Socket::Xdp(socket) => socket.lent(),
            Socket::Packet(socket) => socket.lent(),
        }
    }

    /// For `poll`: readable when a frame has come in.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// Closes it, and gives every place that it holds back to `packets`; frames not yet sent are lost.
    pub fn close(self, packets: &mut Packets) {
        match self.socket {
            Socket::Xdp(socket) => socket.close(packets),
            Socket::Packet(socket) => socket.close(packets),
        }
    }
}

impl Socket {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Xdp(socket) => socket.fd(),
            Self::Packet(socket) => socket.fd(),
        }
    }
}
