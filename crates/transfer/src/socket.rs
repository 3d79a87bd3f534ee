//! The socket options of a transfer, and what the kernel reports of its sockets.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, getsockopt, setsockopt, sockopt,
};

use crate::error::Error;

/// The interval of the checks whether a connection is still wanted.
const CONNECT_TICK_MS: u8 = 100;

/// The kernel's counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Time with data to send, or sent and not acknowledged.
    pub busy: Duration,
    /// The part of that time spent waiting for the receiver's window.
    pub receiver_limited: Duration,
    /// The part of that time spent waiting for room in the send buffer.
    pub buffer_limited: Duration,
}

/// Sets the algorithm of congestion control.
pub(crate) fn set_congestion(socket: &TcpStream, name: &str) -> Result<(), Error> {
    setsockopt(socket, sockopt::TcpCongestion, &name.into()).map_err(|errno| Error::Setting {
        what: format!("congestion control `{name}`"),
        source: errno.into(),
        help: "take one that `sysctl net.ipv4.tcp_allowed_congestion_control` lists, or load its module as root".into(),
    })
}

/// Paces the connection at `rate` bytes a second.
pub(crate) fn set_pacing(socket: &TcpStream, rate: u64) -> Result<(), Error> {
    // A 64-bit rate: one of 32 bits ends at 4.3 GB/s.
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate).map_err(|source| {
        Error::Setting {
            what: format!("a pacing rate of {rate} bytes/s"),
            source,
            help: "leave out `--rate`".into(),
        }
    })
}

/// Bytes in a socket that wait to be sent for the first time: enough for the kernel to continue, and no more, so that
/// streams share chunks as fast as each can send them. Without this bound, a single stream sleeps longer and works
/// less for a byte: the data it has given to the kernel goes out as ACKs come.
const UNSENT: u32 = 1 << 20;

/// Bounds what waits in the socket to be sent.
pub(crate) fn bound_unsent(socket: &TcpStream) {
    // A kernel without it (before Linux 3.12) only keeps more.
    let _ = set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &UNSENT);
}

/// Lets data be sent without a copy (`MSG_ZEROCOPY`).
pub(crate) fn allow_zerocopy(socket: impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, &1_i32)
}

/// Lets a reader sleep until `bytes` bytes have arrived, or the window is full; a call that asks for less returns
/// earlier.
///
/// The threshold is at most an eighth of the buffer: for a threshold above the buffer size the kernel fixes the
/// window at that (`tcp_set_rcvlowat`), and a receiver that reads rarely while the window is small makes it grow
/// late.
pub(crate) fn wake_at(socket: &TcpStream, bytes: usize) {
    let buffer = getsockopt(socket, sockopt::RcvBuf).unwrap_or(0);
    let bytes = i32::try_from(bytes.min(buffer / 8).max(1)).unwrap_or(i32::MAX);
    // Without it there are only more wake-ups.
    let _ = set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes);
}

/// A buffer of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffer {
    /// The buffer for data that is sent and not acknowledged.
    Send,
    /// The buffer for data that is received and not read: the window.
    Receive,
}

/// Makes the socket's buffer large enough for `bytes` bytes of data; returns how many it can hold.
///
/// Linux sizes buffers by itself, up to the last number of `tcp_wmem` or `tcp_rmem`; half of that is for data. A
/// buffer that is set is fixed, and limited to `wmem_max` or `rmem_max`, often far less. So it is set only where that
/// gives more. 0 bytes means unknown: the system sizes the buffer.
pub(crate) fn provide(socket: &TcpStream, buffer: Buffer, bytes: u64) -> u64 {
    let (automatic, fixed) = match buffer {
        Buffer::Send => ("ipv4/tcp_wmem", "core/wmem_max"),
        Buffer::Receive => ("ipv4/tcp_rmem", "core/rmem_max"),
    };
    let (automatic, fixed) = (sysctl(automatic) / 2, sysctl(fixed));
    if bytes <= automatic || fixed <= automatic {
        return automatic;
    }
    let size = usize::try_from(bytes.min(fixed)).unwrap_or(usize::MAX);
    // A refusal by the system shows in the size afterwards.
    let _ = match buffer {
        Buffer::Send => setsockopt(socket, sockopt::SndBuf, &size),
        Buffer::Receive => setsockopt(socket, sockopt::RcvBuf, &size),
    };
    let has = match buffer {
        Buffer::Send => getsockopt(socket, sockopt::SndBuf),
        Buffer::Receive => getsockopt(socket, sockopt::RcvBuf),
    };
    has.map_or(0, |has| has as u64 / 2)
}

/// The last number of a setting of the network; 0 if there is none.
fn sysctl(name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap_or_default();
    text.split_whitespace().last().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn set<T>(socket: impl AsFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes at `value`, which has as many.
    let done = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            length,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Connects, for a limited time, and while it `goes_on`.
#[expect(clippy::disallowed_methods, reason = "a real peer has a real deadline")]
pub(crate) fn connect(
    address: SocketAddr,
    timeout: Duration,
    goes_on: impl Fn() -> bool,
) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = TcpStream::from(nix::sys::socket::socket(family, SockType::Stream, flags, None)?);
    match nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
        Ok(()) | Err(Errno::EINPROGRESS) => {}
        Err(errno) => return Err(errno.into()),
    }
    let deadline = Instant::now() + timeout;
    loop {
        if !goes_on() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut polled = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
        match poll(&mut polled, CONNECT_TICK_MS) {
            Ok(0) | Err(Errno::EINTR) if Instant::now() >= deadline => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    socket.set_nonblocking(false)?;
    Ok(socket)
}

/// How many bytes of what was written the peer has acknowledged.
pub(crate) fn acked(socket: &TcpStream) -> u64 {
    info(socket).map_or(0, |info| info.tcpi_bytes_acked)
}

/// Returns the kernel's counters so far.
pub(crate) fn counts(socket: &TcpStream) -> Counts {
    let Some(info) = info(socket) else { return Counts::default() };
    Counts {
        rtt: Duration::from_micros(info.tcpi_rtt.into()),
        retransmits: info.tcpi_total_retrans.into(),
        busy: Duration::from_micros(info.tcpi_busy_time),
        receiver_limited: Duration::from_micros(info.tcpi_rwnd_limited),
        buffer_limited: Duration::from_micros(info.tcpi_sndbuf_limited),
    }
}

fn info(socket: &TcpStream) -> Option<libc::tcp_info> {
    // SAFETY: `tcp_info` is integers, for which zeros are right; an older kernel fills only the first of them.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes at `info`, which has as many.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            std::ptr::from_mut(&mut info).cast(),
            &raw mut length,
        )
    };
    (done == 0).then_some(info)
}
