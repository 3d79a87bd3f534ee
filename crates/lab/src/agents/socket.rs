//! Sockets for the plan's flows: opened, bound and configured as in the plan, but not yet connected.

use std::ffi::OsString;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use base::Duration;
use base::Fault;
use base::header::{Family, Header};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, SockaddrStorage, bind, connect, listen,
    setsockopt, socket, sockopt,
};
use scenario::plan::Flow;
use transport::config::{Buffer, BufferConfig};
use transport::{OptionError, ProgramPhase, SocketOption};

use crate::congestion::Names;

/// Options of `linux/in6.h` and `asm-generic/socket.h` without a wrapper elsewhere.
mod option {
    pub(super) const IPV6_FLOWLABEL_MGR: i32 = 32;
    pub(super) const IPV6_FLOWINFO_SEND: i32 = 33;
    pub(super) const IPV6_AUTOFLOWLABEL: i32 = 70;
    pub(super) const SO_MAX_PACING_RATE: i32 = 47;
    /// An option of `linux/tcp.h`, since Linux 6.15.
    pub(super) const TCP_RTO_MIN_US: i32 = 45;
}

/// The two ends of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
}

impl Route {
    pub(super) fn of(flow: &Flow) -> Result<Self, Fault> {
        let Header { family, source, destination, ports: Some(ports), .. } = flow.header else {
            return Err(Fault::usage(format!("flow `{}` has no ports", flow.name), "set them"));
        };
        let address = |bits: u128| match family {
            Family::V6 => IpAddr::V6(Ipv6Addr::from_bits(bits)),
            // The low 32 bits are the address.
            _ => IpAddr::V4(Ipv4Addr::from_bits(bits as u32)),
        };
        Ok(Self {
            source: SocketAddr::new(address(source), ports.source),
            destination: SocketAddr::new(address(destination), ports.destination),
        })
    }
}

/// Opens a non-blocking socket in this thread's namespace, bound to `local`.
pub(super) fn open(kind: SockType, local: SocketAddr) -> nix::Result<OwnedFd> {
    let family = if local.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(family, kind, flags, None)?;
    // Flows to different hosts may share a port.
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    if kind == SockType::Stream {
        // However the process ends, no socket lingers that would keep its namespace.
        setsockopt(&socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
    }
    bind(socket.as_raw_fd(), &SockaddrStorage::from(local))?;
    Ok(socket)
}

/// Starts to listen, with the largest backlog that the namespace allows.
pub(super) fn accept_many(socket: &OwnedFd) -> nix::Result<()> {
    listen(socket, Backlog::MAXALLOWABLE)
}

/// Starts to connect, without blocking.
pub(super) fn start_connecting(socket: &OwnedFd, peer: SocketAddr, label: u32) -> nix::Result<()> {
    let peer = match peer {
        // RFC 3493, section 3.3: the flow label is in the low 20 bits.
        SocketAddr::V6(mut v6) if label != 0 => {
            v6.set_flowinfo(label.to_be());
            SockaddrStorage::from(v6)
        }
        _ => SockaddrStorage::from(peer),
    };
    match connect(socket.as_raw_fd(), &peer) {
        Err(Errno::EINPROGRESS) => Ok(()),
        result => result,
    }
}

/// Sets the packets' header fields: the DSCP, and over IPv6 the flow label towards `peer`. `ecn` is the ECN field (the
/// lowest two bits), for a protocol that leaves it to the program.
pub(super) fn mark(
    socket: &OwnedFd,
    header: &Header,
    ecn: u8,
    peer: SocketAddr,
) -> nix::Result<()> {
    let tos = i32::from(header.tos & !3 | ecn);
    let IpAddr::V6(peer) = peer.ip() else {
        return setsockopt(socket, sockopt::Ipv4Tos, &tos);
    };
    setsockopt(socket, sockopt::Ipv6TClass, &tos)?;
    set(socket, libc::IPPROTO_IPV6, option::IPV6_AUTOFLOWLABEL, &0_i32)?;
    if header.flow_label == 0 {
        return Ok(());
    }
    set(
        socket,
        libc::IPPROTO_IPV6,
        option::IPV6_FLOWLABEL_MGR,
        &Lease::new(peer, header.flow_label),
    )?;
    set(socket, libc::IPPROTO_IPV6, option::IPV6_FLOWINFO_SEND, &1_i32)
}

/// Makes the connections of a listening socket reflect the peer's flow label.
pub(super) fn reflect_label(socket: &OwnedFd) -> nix::Result<()> {
    set(socket, libc::IPPROTO_IPV6, option::IPV6_FLOWLABEL_MGR, &Lease::reflecting())
}

/// `struct in6_flowlabel_req` of `linux/in6.h`.
#[repr(C)]
struct Lease {
    destination: [u8; 16],
    label: u32,
    action: u8,
    share: u8,
    flags: u16,
    expires: u16,
    linger: u16,
    pad: u32,
}

impl Lease {
    const GET: u8 = 0;
    const ANYONE: u8 = 255;
    const CREATE: u16 = 1;
    const REFLECT: u16 = 4;

    fn new(destination: Ipv6Addr, label: u32) -> Self {
        let (label, flags) = (label.to_be(), Self::CREATE);
        Self {
            destination: destination.octets(),
            label,
            share: Self::ANYONE,
            flags,
            ..Self::reflecting()
        }
    }

    const fn reflecting() -> Self {
        Self {
            destination: [0; 16],
            label: 0,
            action: Self::GET,
            share: 0,
            flags: Self::REFLECT,
            expires: 0,
            linger: 0,
            pad: 0,
        }
    }
}

/// Sets the buffers of fixed size; the kernel tunes the others.
///
/// The kernel counts the memory of packets, and doubles the value set. So half of the size is set for a send buffer
/// that counts memory in the scenario too, and the whole size for one that counts payload there.
pub(super) fn size(socket: &OwnedFd, buffers: &BufferConfig) -> nix::Result<()> {
    if let Buffer::Fixed(bytes) = buffers.send {
        let bytes = clamp(if buffers.send_headroom == 0 { bytes } else { bytes / 2 });
        setsockopt(socket, sockopt::SndBufForce, &bytes)
            .or_else(|_| setsockopt(socket, sockopt::SndBuf, &bytes))?;
    }
    if let Buffer::Fixed(bytes) = buffers.receive {
        // This share of the buffer is window. The kernel starts with one half of its own buffer.
        let (numerator, denominator) = buffers.window_share.initial();
        let window = bytes.saturating_mul(numerator.into()) / u64::from(denominator.max(1));
        let bytes = clamp(window);
        setsockopt(socket, sockopt::RcvBufForce, &bytes)
            .or_else(|_| setsockopt(socket, sockopt::RcvBuf, &bytes))?;
    }
    Ok(())
}

/// Limits a size to what the kernel can double in an `int`.
fn clamp(bytes: u64) -> usize {
    bytes.min(i32::MAX as u64 / 2) as usize
}

/// Sets the congestion control.
pub(super) fn control(socket: &OwnedFd, name: &str) -> nix::Result<()> {
    setsockopt(socket, sockopt::TcpCongestion, &OsString::from(name))
}

/// Sets whether small segments are sent at once (no Nagle algorithm).
pub(super) fn send_at_once(socket: &OwnedFd, yes: bool) -> nix::Result<()> {
    setsockopt(socket, sockopt::TcpNoDelay, &yes)
}

/// Makes the kernel pace the connection, at `bytes_per_second` at most.
pub(super) fn pace(socket: &OwnedFd, bytes_per_second: u64) -> nix::Result<()> {
    // All bits set would mean no pacing.
    let rate = bytes_per_second.min(u64::MAX - 1);
    set(socket, libc::SOL_SOCKET, option::SO_MAX_PACING_RATE, &rate)
}

/// Sets a socket option of a program; `names` are the algorithms' names in the kernel.
///
/// # Errors
/// If this kernel does not have the option, or refuses it.
pub(super) fn set_option(
    socket: &OwnedFd,
    option: &SocketOption,
    names: &Names,
) -> Result<(), OptionError> {
    let unsupported = |why: &str| Err(OptionError::Unsupported(why.into()));
    let done = match option {
        SocketOption::RtoMin(min) => return set_rto_min(socket, *min),
        SocketOption::PacingRate(rate) => pace(socket, rate.bits_per_second() / 8),
        SocketOption::Congestion(congestion) => control(socket, names.get(congestion)),
        SocketOption::NoDelay(yes) => send_at_once(socket, *yes),
        SocketOption::IdleRestart(_) => {
            return unsupported("Linux has it only for a whole host (tcp_slow_start_after_idle)");
        }
        SocketOption::Phase(phase) => return enter_phase(socket, phase),
        SocketOption::SaveWindow(_) | SocketOption::RestoreWindow(_) => {
            return unsupported("Linux has no socket option to set a connection's window");
        }
    };
    done.map_err(|errno| OptionError::Unsupported(format!("the kernel rejects it: {errno}")))
}

/// Whether the kernel has phases.
pub(super) fn has_phases() -> nix::Result<bool> {
    let socket = open(SockType::Stream, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?;
    Ok(host::option::has_phases(socket.as_fd()))
}

fn enter_phase(socket: &OwnedFd, phase: &ProgramPhase) -> Result<(), OptionError> {
    let age_max_ms = u32::try_from(phase.age_max.as_us() / 1000).unwrap_or(u32::MAX);
    let entered = host::option::enter_phase(socket.as_fd(), number_of(&phase.name), age_max_ms);
    entered.map_err(|error| match error.raw_os_error() {
        Some(libc::ENOPROTOOPT) => OptionError::Unsupported(
            "this kernel has no phases: run `suimon mpi enable` as root".into(),
        ),
        Some(libc::ENOTCONN) => OptionError::NotOpen,
        _ => OptionError::Unsupported(format!("the kernel rejects it: {error}")),
    })
}

/// The number of a phase in the kernel: FNV-1a of its name. A connection has at most 16 phases, so a collision is
/// unlikely.
fn number_of(name: &str) -> NonZeroU32 {
    let add = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = name.bytes().fold(0x811c_9dc5, add);
    NonZeroU32::new(hash).unwrap_or(NonZeroU32::MIN)
}

/// Sets the minimum retransmission timeout, which the kernel counts in jiffies.
fn set_rto_min(socket: &OwnedFd, min: Duration) -> Result<(), OptionError> {
    let us = i32::try_from(min.as_us()).unwrap_or(i32::MAX);
    set(socket, libc::IPPROTO_TCP, option::TCP_RTO_MIN_US, &us).map_err(|errno| {
        OptionError::Unsupported(match errno {
            Errno::ENOPROTOOPT => "it requires Linux 6.15 (TCP_RTO_MIN_US)".into(),
            Errno::EINVAL => "the kernel accepts two jiffies to 200 ms".into(),
            errno => format!("the kernel rejects it: {errno}"),
        })
    })
}

fn set<T>(socket: &impl AsFd, level: i32, name: i32, value: &T) -> nix::Result<()> {
    let (pointer, length) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel reads `length` bytes of `value`, which is borrowed until the call returns.
    let done =
        unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, pointer, length) };
    Errno::result(done).map(drop)
}

/// Reads and discards up to `most` bytes, without copying them here. For the kernel this is an ordinary read: window,
/// receive buffer auto-tuning and ACKs depend on the data that left the receive queue (`tcp_recvmsg`,
/// `tcp_rcv_space_adjust`), not on the data copied.
///
/// # Errors
/// `EAGAIN` if nothing has come.
pub(super) fn discard(socket: &OwnedFd, most: usize) -> nix::Result<usize> {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with MSG_TRUNC a TCP socket drops its data and writes nothing to the buffer (tcp(7)).
    let got = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, flags) };
    Errno::result(got).map(|got| got as usize)
}

/// The data that programs write: zeros.
static BLOCK: [u8; 1 << 18] = [0; 1 << 18];

/// Writes up to `most` bytes.
///
/// # Errors
/// `EAGAIN` if the send buffer is full.
pub(super) fn fill(socket: &OwnedFd, most: u64) -> nix::Result<u64> {
    let block = &BLOCK[..most.min(BLOCK.len() as u64) as usize];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    nix::sys::socket::send(socket.as_raw_fd(), block, flags).map(|sent| sent as u64)
}

#[cfg(test)]
mod tests {
    use base::Rate;
    use congestion::Algorithm;
    use transport::config::IdleRestart;

    use super::*;

    #[test]
    fn an_option_is_the_kernels_or_refused_with_a_reason() {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let socket = open(SockType::Stream, local).expect("a socket");
        let newreno: congestion::Config = Algorithm::by_name("newreno").expect("ours").into();
        let names = Names(vec![(newreno, "reno".into())]);
        let set = |option| set_option(&socket, &option, &names);
        let why = |option| set(option).expect_err("Linux has none").to_string();

        assert_eq!(set(SocketOption::NoDelay(true)), Ok(()));
        assert_eq!(nix::sys::socket::getsockopt(&socket, sockopt::TcpNoDelay), Ok(true));
        assert_eq!(set(SocketOption::Congestion(newreno)), Ok(()));
        let name = nix::sys::socket::getsockopt(&socket, sockopt::TcpCongestion);
        assert!(name.is_ok_and(|name| name.to_string_lossy().starts_with("reno")));
        let rate = Rate::from_bits_per_second(8_000_000).expect("not 0");
        assert_eq!(set(SocketOption::PacingRate(rate)), Ok(()));
        if let Err(error) = set(SocketOption::RtoMin(Duration::from_ms(100))) {
            assert_eq!(error.to_string(), "it requires Linux 6.15 (TCP_RTO_MIN_US)");
        } else {
            let text = why(SocketOption::RtoMin(Duration::from_secs(1)));
            assert_eq!(text, "the kernel accepts two jiffies to 200 ms");
        }
        let bic: congestion::Config = Algorithm::by_name("bic").expect("ours").into();
        assert!(why(SocketOption::Congestion(bic)).starts_with("the kernel rejects it: ENOENT"));
        assert!(why(SocketOption::IdleRestart(IdleRestart::Keep)).contains("whole host"));
        assert!(why(SocketOption::SaveWindow("phase".into())).contains("no socket option"));
        let phase = ProgramPhase { name: "phase".into(), age_max: Duration::from_secs(1) };
        if has_phases() == Ok(true) {
            assert_eq!(set(SocketOption::Phase(phase)), Err(OptionError::NotOpen));
        } else {
            assert!(why(SocketOption::Phase(phase)).contains("suimon mpi enable"));
        }
    }
}
