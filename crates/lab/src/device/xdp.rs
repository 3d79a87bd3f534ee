//! AF_XDP: passes frames between an interface and the buffers, bypassing the kernel's network stack
//! (Linux, Documentation/networking/af_xdp.rst).
//!
//! The sockets of all interfaces share one region of memory (UMEM); each has its own rings.

mod held;
mod program;
mod ring;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use base::PacketId;
use traffic::Packets;

use self::held::Held;
use self::program::{Attached, Program};
use self::ring::{Consumer, Producer};
use super::link::{Failure, Quiet};
use super::{BATCH, Counts, Received, option};
use crate::Error;
use crate::buffers::{Buffers, HEADROOM, XDP_SIZES};

/// The number of receive buffers that the kernel has: enough for 1.7 ms at 0.6 million frames per second.
pub(super) const RECEIVE: u32 = 1024;
/// The size of the fill ring. It is twice as large because the kernel updates its consumer index only after it has
/// read all entries that it last saw (net/xdp/xsk_queue.h, `xskq_cons_get_entries`).
const FILL: u32 = 2 * RECEIVE;
/// Frames that can wait to be sent.
const SEND: u32 = 2048;
/// The kernel may hold an interface's queue for a while after its last socket was closed.
const BUSY_TRIES: u32 = 100;
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// The send buffer of a socket, for its unsent frames, in bytes of the kernel's accounting.
const UNSENT: i32 = 16 << 20;

/// An AF_XDP socket and its rings.
#[derive(Debug)]
pub(super) struct Socket {
    /// The first field, so that it is dropped first: no frame comes for a socket that is closing.
    _attached: Attached,
    fd: OwnedFd,
    fill: Producer<u64>,
    arrived: Consumer<libc::xdp_desc>,
    waiting: Producer<libc::xdp_desc>,
    done: Consumer<u64>,
    /// The packets that the kernel owns.
    held: Held,
    /// The packets for which the send queue was full, until they are released.
    turned_away: Vec<PacketId>,
    /// The number of receive buffers that the kernel has.
    filled: u32,
    /// Base 2 logarithm of a chunk's size.
    shift: u32,
    quiet: Quiet,
    counts: Counts,
    /// Frames that the interface did not accept and that the kernel has not yet returned.
    dropped: u64,
}

impl Socket {
    pub(super) fn open(
        interface: u32,
        native: bool,
        buffers: &Buffers,
        packets: &mut Packets,
        first: Option<&Self>,
    ) -> Result<Self, Error> {
        if !XDP_SIZES.contains(&buffers.size()) {
            return Err(Error::unfit(
                format!("AF_XDP with buffers of {} bytes", buffers.size()),
                "use an MTU of at most 3826, no gso, or AF_PACKET",
            ));
        }
        let what = || format!("AF_XDP on interface {interface}");
        let fd = open_fd().map_err(|error| refused(what(), error))?;
        let mut socket = Self::with_rings(fd, interface, native, buffers, first)
            .map_err(|error| refused(what(), error))?;
        socket.refill(packets);
        Ok(socket)
    }

    fn with_rings(
        fd: OwnedFd,
        interface: u32,
        native: bool,
        buffers: &Buffers,
        first: Option<&Self>,
    ) -> io::Result<Self> {
        let program = Program::load()?;
        if first.is_none() {
            register(fd.as_fd(), buffers)?;
        }
        let [fill, arrived, waiting, done] = [
            (libc::XDP_UMEM_FILL_RING, FILL),
            (libc::XDP_RX_RING, RECEIVE),
            (libc::XDP_TX_RING, SEND),
            (libc::XDP_UMEM_COMPLETION_RING, SEND),
        ]
        .map(|(name, entries)| option::set(&fd, libc::SOL_XDP, name, entries));
        fill.and(arrived).and(waiting).and(done)?;
        option::set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, UNSENT)?;
        // SAFETY: one of the kernel's structs of integers.
        let at: libc::xdp_mmap_offsets =
            unsafe { option::get(&fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)? };
        let (fill_page, done_page) =
            (libc::XDP_UMEM_PGOFF_FILL_RING as i64, libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64);
        let fill = Producer::map(fd.as_fd(), FILL, &at.fr, fill_page)?;
        let arrived = Consumer::map(fd.as_fd(), RECEIVE, &at.rx, libc::XDP_PGOFF_RX_RING)?;
        let waiting = Producer::map(fd.as_fd(), SEND, &at.tx, libc::XDP_PGOFF_TX_RING)?;
        let done = Consumer::map(fd.as_fd(), SEND, &at.cr, done_page)?;
        bind(fd.as_fd(), interface, native, first.map(Self::fd))?;
        Ok(Self {
            _attached: program.attach(interface, fd.as_fd(), native)?,
            fd,
            fill,
            arrived,
            waiting,
            done,
            held: Held::new(buffers.count()),
            turned_away: Vec::with_capacity(SEND as usize),
            filled: 0,
            shift: buffers.size().ilog2(),
            quiet: Quiet::default(),
            counts: Counts::default(),
            dropped: 0,
        })
    }

    #[inline]
    pub(super) fn receive(
        &mut self,
        packets: &mut Packets,
        out: &mut Vec<Received>,
    ) -> Result<(), Failure> {
        let (shift, held) = (self.shift, &mut self.held);
        let count = self.arrived.drain(BATCH as u32, |frame| {
            let packet = PacketId::at((frame.addr >> shift) as u32);
            let ours = held.remove(packet);
            debug_assert!(ours, "the kernel returns what it was given");
            out.push(Received { packet, length: frame.len, segments: None });
        });
        self.filled -= count;
        self.counts.received += u64::from(count);
        if self.filled < RECEIVE {
            self.refill(packets);
        }
        if count == 0 {
            return self.quiet.check(&self.fd);
        }
        self.quiet.heard();
        Ok(())
    }

    /// Gives the kernel receive buffers, up to [`RECEIVE`] or as many as are free.
    fn refill(&mut self, packets: &mut Packets) {
        while self.filled < RECEIVE {
            let Some(packet) = packets.try_alloc() else { break };
            if !self.fill.push(u64::from(packet.place()) << self.shift) {
                // The kernel delivers frames a moment before it frees their entries in the fill ring.
                packets.release(packet);
                break;
            }
            self.held.add(packet);
            self.filled += 1;
        }
        self.fill.publish();
        if self.fill.sleeps() {
            // If this fails, the ring asks for a wake-up again next time.
            let _ = self.wake(|fd| {
                // SAFETY: nothing is read into; the call makes the driver look at the ring.
                unsafe { libc::recv(fd, std::ptr::null_mut(), 0, libc::MSG_DONTWAIT) }
            });
        }
    }

    #[inline]
    pub(super) fn send(&mut self, packet: PacketId, length: u32) {
        let addr = (u64::from(packet.place()) << self.shift) + u64::from(HEADROOM);
        self.held.add(packet);
        if !self.waiting.push(libc::xdp_desc { addr, len: length, options: 0 }) {
            self.turned_away.push(packet);
        }
    }

    /// Adds a packet to those that are released unsent as soon as possible.
    pub(super) fn turn_away(&mut self, packet: PacketId) {
        self.held.add(packet);
        self.turned_away.push(packet);
    }

    /// The number of frames refused since the last call.
    pub(super) fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.counts.refused)
    }

    /// Releases the packets that were turned away, and returns their number. The kernel still sends those that it has.
    #[cold]
    pub(super) fn discard(&mut self, packets: &mut Packets) -> u64 {
        self.turned_away.drain(..).fold(0, |count, packet| {
            self.held.remove(packet);
            packets.release(packet);
            count + 1
        })
    }

    #[inline]
    pub(super) fn flush(&mut self, packets: &mut Packets) -> Result<(), Failure> {
        self.waiting.publish();
        let sent = self.kick();
        let (shift, held) = (self.shift, &mut self.held);
        let count = self.done.drain(SEND, |address| {
            let packet = PacketId::at((address >> shift) as u32);
            if held.remove(packet) {
                packets.release(packet);
            }
        });
        // The kernel also returns the frames that the interface did not accept.
        let given_back = u64::from(count);
        let dropped = self.dropped.min(given_back);
        self.dropped -= dropped;
        self.counts.sent += given_back - dropped;
        if !self.turned_away.is_empty() {
            self.counts.refused += self.discard(packets);
        }
        sent
    }

    /// Makes the kernel send the waiting frames. It takes some tens of frames per call.
    fn kick(&mut self) -> Result<(), Failure> {
        let mut unread = self.waiting.unread();
        while unread > 0 && self.waiting.sleeps() {
            let result = self.wake(|fd| {
                // SAFETY: nothing is written from; the call makes the kernel look at the ring.
                unsafe { libc::send(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT) }
            });
            match result.map_err(|error| (error.raw_os_error(), error)) {
                Ok(()) => {}
                Err((Some(libc::ENETDOWN | libc::ENXIO), _)) => return Err(Failure::Interface),
                // The kernel did not take all of them yet.
                Err((Some(libc::EAGAIN | libc::ENOBUFS), _)) => {}
                // The interface did not accept a frame (Linux, net/xdp/xsk.c, `__xsk_generic_xmit`).
                Err((Some(libc::EBUSY), _)) => {
                    self.counts.refused += 1;
                    self.dropped += 1;
                }
                Err((_, error)) => {
                    return Err(Failure::Other(Error::system("sending by AF_XDP")(error)));
                }
            }
            let left = self.waiting.unread();
            if left == unread {
                break;
            }
            unread = left;
        }
        Ok(())
    }

    fn wake(&self, call: impl FnOnce(i32) -> isize) -> io::Result<()> {
        let result = call(self.fd.as_raw_fd());
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.waiting.has_unread()
    }

    pub(super) fn counts(&self) -> Counts {
        // SAFETY: one of the kernel's structs of integers.
        let statistics = unsafe {
            option::get::<libc::xdp_statistics>(&self.fd, libc::SOL_XDP, libc::XDP_STATISTICS)
        };
        let missed =
            statistics.map_or(0, |statistics| statistics.rx_dropped + statistics.rx_ring_full);
        Counts { missed, ..self.counts }
    }

    pub(super) fn lent(&self) -> usize {
        self.held.count()
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn close(self, packets: &mut Packets) {
        for packet in self.held.iter() {
            packets.release(packet);
        }
    }
}

fn open_fd() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that we have just been given.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Registers the buffers with the kernel (UMEM). The kernel pins them. It adds no headroom before a frame beyond that
/// of XDP.
fn register(fd: BorrowedFd, buffers: &Buffers) -> io::Result<()> {
    let (start, length) = buffers.region();
    let region = libc::xdp_umem_reg {
        addr: start.as_ptr() as u64,
        len: length as u64,
        chunk_size: buffers.size(),
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    option::set(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, region)
}

/// Binds to the interface's first queue. With shared memory, the other flags follow from the socket that owns it.
fn bind(fd: BorrowedFd, interface: u32, native: bool, first: Option<BorrowedFd>) -> io::Result<()> {
    let flags = match first {
        Some(_) => libc::XDP_SHARED_UMEM,
        None if native => libc::XDP_USE_NEED_WAKEUP,
        None => libc::XDP_USE_NEED_WAKEUP | libc::XDP_COPY,
    };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: first.map_or(0, |first| first.as_raw_fd() as u32),
    };
    let length = size_of_val(&address) as libc::socklen_t;
    for _ in 1..BUSY_TRIES {
        // SAFETY: the kernel reads `length` bytes of an address that outlives the call.
        if unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EBUSY) {
            return Err(error);
        }
        thread::sleep(BUSY_PAUSE);
    }
    Err(io::Error::from_raw_os_error(libc::EBUSY))
}

/// Returns the error for a socket that cannot be opened.
fn refused(what: String, error: io::Error) -> Error {
    let help = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "run it as root, or use AF_PACKET",
        Some(libc::EAFNOSUPPORT) => "use a kernel with CONFIG_XDP_SOCKETS, or AF_PACKET",
        Some(libc::EOPNOTSUPP | libc::EINVAL) => "use AF_XDP in generic mode, or AF_PACKET",
        // The far end's MTU is too large (Linux, drivers/net/veth.c, `veth_xdp_set`).
        Some(libc::ERANGE) => {
            "lower the MTU of the interface and of its other end, or use AF_PACKET"
        }
        Some(libc::ENOBUFS) => "allow more locked memory: ulimit -l unlimited",
        Some(libc::EBUSY) => "stop the program that uses XDP on this interface",
        _ => return Error::system(what)(error),
    };
    Error::lacking(what, error, help)
}
