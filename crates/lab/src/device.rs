//! Devices: real frames enter and leave the fabric by them, in batches and without blocking.
//!
//! A device is opened on an interface of the calling thread's network namespace, and can then be used from any
//! namespace. It reads the frames of the interface's first queue; a veth interface created with one queue has no other.

mod link;
pub(crate) mod option;
mod packet;
mod promiscuous;
mod segments;
mod xdp;

use std::os::fd::BorrowedFd;

use base::PacketId;
use traffic::Packets;

pub use link::LinkState;
pub use promiscuous::Promiscuous;

use link::{Failure, Link};

use crate::Error;
use crate::buffers::Buffers;

/// The maximum number of frames received at once.
pub const BATCH: usize = 64;

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// AF_XDP: the kernel takes frames from the interface before its own stack sees them, and copies each
    /// frame once. Needs root, and buffers of 2048 or 4096 bytes.
    Xdp {
        /// Whether the interface's driver runs the XDP program, which not every driver supports. Otherwise the
        /// kernel runs it (generic mode).
        native: bool,
    },
    /// AF_PACKET: works in a user namespace, and with frames of any length.
    Packet {
        /// Whether frames pass with pending segmentation and checksums, each after its offload header (see
        /// `buffers::OFFLOAD`). Otherwise frames are cut and their checksums completed on reception, as on a physical
        /// link.
        vnet: bool,
    },
}

impl Kind {
    /// The kind's name, for display.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xdp { native: true } => "AF_XDP, native",
            Self::Xdp { native: false } => "AF_XDP, generic",
            Self::Packet { vnet: false } => "AF_PACKET",
            Self::Packet { vnet: true } => "AF_PACKET with offloads",
        }
    }
}

/// A received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its packet, which identifies its buffer.
    pub packet: PacketId,
    /// Its bytes without FCS.
    pub length: u32,
    /// The segments of a super-frame; `None` for a single frame.
    pub segments: Option<Segments>,
}

/// The segments of a super-frame, which is longer than the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// The number of frames.
    pub count: u16,
    /// Bytes of transport payload in each frame but the last.
    pub size: u16,
    /// Bytes of headers at the start of each frame.
    pub headers: u16,
}

/// The counters of a device since it was opened, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames passed to the caller.
    pub received: u64,
    /// Frames that the kernel took to send.
    pub sent: u64,
    /// Received frames that the kernel dropped because the device had no room, or because they were too long for a
    /// buffer.
    pub missed: u64,
    /// Frames to send that were dropped because the device's queue was full or the kernel refused them.
    pub refused: u64,
    /// Frames to send that were dropped because the interface was down or had no carrier.
    pub lost_when_down: u64,
    /// The number of times that the interface went down or lost its carrier (not frames).
    pub outages: u64,
}

/// A device at one interface.
///
/// An interface that is down or has no carrier neither receives nor sends until it is up again. Frames to send during
/// that time are dropped and counted.
#[derive(Debug)]
pub struct Device {
    socket: Socket,
    link: Link,
    /// The number of refused frames, as in [`Counts`].
    refused: u64,
}

#[derive(Debug)]
enum Socket {
    Xdp(Box<xdp::Socket>),
    Packet(packet::Socket),
}

impl Device {
    /// The maximum number of places of [`Packets`] that a device holds for receiving.
    pub const PLACES: u32 = xdp::RECEIVE;

    /// Opens the interface with index `interface` in the calling thread's namespace. `first` is any open device of
    /// the same kind and on the same buffers, if there is one.
    ///
    /// # Errors
    /// If there is no such interface, if the user lacks the rights, or if the buffers do not suit `kind`.
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

    /// Appends the frames received since the last call to `out`: at most [`BATCH`], or a few more if the last one is
    /// cut into several. Never blocks. The caller owns the packets afterwards.
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

    /// Queues a frame of `length` bytes, without FCS, to be sent. The device owns the packet and releases it once it
    /// is sent.
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

    /// Makes the kernel send the queued frames, and releases the sent packets into `packets`.
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

    /// Counts frames that were not sent, by the reason: an interface without a carrier accepts none.
    #[cold]
    fn count_refused(&mut self, frames: u64) -> Result<(), Error> {
        self.link.look(false)?;
        match self.link.state() {
            LinkState::Up => self.refused += frames,
            _ => self.link.lost += frames,
        }
        Ok(())
    }

    /// Whether frames wait because the kernel had no room at the last [`Device::flush`].
    #[inline]
    pub fn has_unsent(&self) -> bool {
        let unsent = match &self.socket {
            Socket::Xdp(socket) => socket.has_unsent(),
            Socket::Packet(socket) => socket.has_unsent(),
        };
        unsent && !self.link.is_down()
    }

    /// The interface's state at the last check.
    pub const fn link_state(&self) -> LinkState {
        self.link.state()
    }

    /// Checks whether the interface is up. Must be called often: there is no event when it comes up again.
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

    /// The counters so far.
    pub fn counts(&self) -> Counts {
        let counts = match &self.socket {
            Socket::Xdp(socket) => socket.counts(),
            Socket::Packet(socket) => socket.counts(),
        };
        let Link { outages, lost, .. } = self.link;
        Counts { refused: self.refused, outages, lost_when_down: lost, ..counts }
    }

    /// The number of places of [`Packets`] that the device holds.
    pub fn lent(&self) -> usize {
        match &self.socket {
            Socket::Xdp(socket) => socket.lent(),
            Socket::Packet(socket) => socket.lent(),
        }
    }

    /// The descriptor for `poll`: readable when a frame has come in.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// Closes the device and returns all places that it holds to `packets`. Frames not yet sent are lost.
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
