//! Which frames fill gaps at a device: some cards drop every PAUSE frame of software, and a virtual device may claim a
//! line that it does not have. A thousand frames are timed against the line.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base::frame::pause_head;
use frames::frame::FCS;
use nix::sys::socket::sockopt::SendTimeout;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket};
use nix::sys::time::TimeVal;
use traffic_kernel::netlink;

use super::device::Device;

/// A frame that fills a gap. No bridge forwards either: IEEE 802.1Q, 8.6.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GapFrame {
    /// IEEE 802.3, annex 31B, with pause time 0.
    Pause,
    /// A local experimental EtherType, to the nearest bridge.
    Local,
}

impl GapFrame {
    /// Its number among the module's netlink attributes.
    pub(super) const fn number(self) -> u32 {
        match self {
            Self::Pause => netlink::GAP_PAUSE,
            Self::Local => netlink::GAP_LOCAL,
        }
    }

    /// The frame without its FCS. No other station has to know who sent it.
    fn bytes(self, length: usize) -> Vec<u8> {
        /// Locally administered.
        const FROM: [u8; 6] = [0x02, 0, 0, 0, 0, 0];
        let mut bytes = match self {
            Self::Pause => pause_head(FROM).to_vec(),
            Self::Local => {
                let (to, kind) = frames::frame::LOCAL_GAP;
                [&to[..], &FROM, &kind.to_be_bytes()].concat()
            }
        };
        bytes.resize(length, 0);
        bytes
    }
}

/// A device's line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Bits per second.
    pub(super) rate: u64,
    /// Bytes of the longest frame, without FCS.
    pub(super) frame: u32,
    /// Bytes of a frame on the line besides those and the FCS.
    pub(super) overhead: u64,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// These frames take the time of the line. The number is the time that they took, divided by the line's.
    Filled(GapFrame, f64),
    /// No frame does.
    Unfilled,
}

/// Frames before the measurement, so that the socket has to wait for the device.
const BEFORE: u32 = 500;
/// Frames of the measurement.
const MEASURED: u32 = 1_000;
/// The least share of the line's time that frames take which leave by the line.
const LEAST: f64 = 0.9;
/// The longest time of a trial with one kind of frame.
const PATIENCE: Duration = Duration::from_secs(10);

/// The first of the frames that fill the line of `device`. Sends some thousand of them.
///
/// # Errors
/// The kernel's refusal; `TimedOut` if one kind takes longer than ten seconds.
pub(super) fn find(device: &Device, line: Line) -> io::Result<Found> {
    choose(|frame| measure(device, line, frame, PATIENCE))
}

fn choose(mut share: impl FnMut(GapFrame) -> io::Result<f64>) -> io::Result<Found> {
    for frame in [GapFrame::Pause, GapFrame::Local] {
        let share = share(frame)?;
        if share >= LEAST {
            return Ok(Found::Filled(frame, share));
        }
    }
    Ok(Found::Unfilled)
}

/// The time that the frames take, divided by that of the line.
fn measure(device: &Device, line: Line, frame: GapFrame, patience: Duration) -> io::Result<f64> {
    let bytes = frame.bytes(line.frame as usize);
    let socket = open()?;
    let began = now();
    let mut from = began;
    for sent in 0..BEFORE + MEASURED {
        if sent == BEFORE {
            from = now();
        }
        while !send(&socket, device, &bytes)? {
            // The discipline is full.
            sleep(Duration::from_micros(20));
            check(began, patience)?;
        }
        check(began, patience)?;
    }
    let bits = (u64::from(line.frame + FCS) + line.overhead) * 8 * u64::from(MEASURED);
    Ok((now() - from).as_secs_f64() * line.rate as f64 / bits as f64)
}

fn check(began: Instant, patience: Duration) -> io::Result<()> {
    if now() - began > patience { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
}

#[expect(clippy::disallowed_methods, reason = "the line of a real device is timed")]
fn now() -> Instant {
    Instant::now()
}

/// A socket that sends frames, and receives none. It waits while its share of the device's queue is full, a second at most.
fn open() -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, SendTimeout, &TimeVal::new(1, 0))?;
    Ok(socket)
}

/// Sends a frame by the device's present discipline; false if that has no room for it now.
fn send(socket: &OwnedFd, device: &Device, bytes: &[u8]) -> io::Result<bool> {
    // SAFETY: zeros are a valid address.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = u16::from_ne_bytes([bytes[12], bytes[13]]);
    address.sll_ifindex = device.index as libc::c_int;
    // SAFETY: buffer and address are valid for the lengths given.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            0,
            (&raw const address).cast(),
            mem::size_of_val(&address) as libc::socklen_t,
        )
    };
    if sent >= 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR) => Ok(false),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::policy::rehearsal;
    use GapFrame::{Local, Pause};

    #[test]
    fn the_first_frame_that_leaves_is_chosen() {
        for (shares, found) in [
            ([1.01, 1.0], Found::Filled(Pause, 1.01)),
            ([0.2, 1.0], Found::Filled(Local, 1.0)),
            ([0.89, 0.2], Found::Unfilled),
        ] {
            let chosen = choose(|frame| Ok(shares[frame.number() as usize]));
            assert_eq!(chosen.expect("no error"), found, "{shares:?}");
        }
        let refused = choose(|_| Err(io::ErrorKind::TimedOut.into()));
        assert_eq!(refused.expect_err("an error").kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_slow_device_is_not_waited_for() {
        const LINE: Line = Line { rate: 1_000_000, frame: 1_514, overhead: 20 };
        if testbed::lacks("a slow device", &["ip", "tc"]) {
            return;
        }
        let tried = rehearsal::apart(|| {
            for command in [
                "ip link set lo up",
                "tc qdisc add dev lo root tbf rate 1mbit burst 2000 limit 9000",
            ] {
                let mut words = command.split(' ');
                let status = Command::new(words.next().expect("a word")).args(words).status()?;
                assert!(status.success(), "{command}");
            }
            let loopback = Device { name: "lo".into(), index: 1 };
            // 1500 frames take 18 s, and each is sent.
            measure(&loopback, LINE, Pause, Duration::from_millis(300))
        });
        assert_eq!(tried.expect_err("it takes longer").kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn frames_are_for_the_wire_only() {
        for frame in [Pause, Local] {
            let bytes = frame.bytes(1_514);
            assert_eq!(bytes.len(), 1_514);
            assert!(frames::frame::is_for_the_wire(&bytes), "{frame:?}");
        }
    }
}
