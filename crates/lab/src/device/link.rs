//! The link state of an interface, which the rings in memory do not show.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::option;
use crate::Error;

/// The number of polls in a row without a frame before the socket's error is checked. A busy loop thus detects an
/// outage within a millisecond.
const QUIET: u32 = 1024;

/// The state of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Taken down: `ip link set NAME down`.
    Down,
    /// Up, but without a peer or cable. Frames to send are lost.
    NoCarrier,
    /// Up: sends and receives.
    Up,
}

impl LinkState {
    /// The state's name, for display.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::NoCarrier => "no carrier",
            Self::Up => "up",
        }
    }

    /// The state from the flags of netdevice(7).
    const fn of(flags: u32) -> Self {
        if flags & libc::IFF_UP as u32 == 0 {
            Self::Down
        } else if flags & libc::IFF_RUNNING as u32 == 0 {
            Self::NoCarrier
        } else {
            Self::Up
        }
    }
}

/// The reason for a failure of a device's socket.
#[derive(Debug)]
pub(super) enum Failure {
    /// The interface is down, or was for a moment, or is gone.
    Interface,
    /// Anything else.
    Other(Error),
}

/// Counts polls without a frame.
#[derive(Debug, Default)]
pub(super) struct Quiet(u32);

impl Quiet {
    /// Resets the counter after a received frame.
    #[inline]
    pub(super) const fn heard(&mut self) {
        self.0 = 0;
    }

    /// Counts a poll without a frame. Fails if the reason is the interface of `socket`.
    #[inline]
    pub(super) fn check(&mut self, socket: impl AsFd) -> Result<(), Failure> {
        self.0 += 1;
        if self.0 < QUIET {
            return Ok(());
        }
        self.0 = 0;
        if take_error(socket).map_err(Failure::Other)? { Err(Failure::Interface) } else { Ok(()) }
    }
}

/// Returns whether `socket` has a pending error, as after its interface was taken down, and clears it.
#[cold]
fn take_error(socket: impl AsFd) -> Result<bool, Error> {
    // SAFETY: an integer.
    let error = unsafe { option::get::<i32>(socket, libc::SOL_SOCKET, libc::SO_ERROR) };
    Ok(error.map_err(Error::system("query the state of an interface"))? != 0)
}

/// An interface in its namespace.
#[derive(Debug)]
pub(super) struct Link {
    /// A socket in that namespace, for ioctls.
    socket: OwnedFd,
    index: u32,
    name: String,
    state: LinkState,
    /// The number of times that it went down or lost its carrier.
    pub(super) outages: u64,
    /// Frames that were to be sent during outages.
    pub(super) lost: u64,
}

impl Link {
    /// Opens the interface with index `index` in the calling thread's namespace.
    pub(super) fn open(index: u32) -> Result<Self, Error> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None);
        let socket = socket.map_err(Error::system("open a socket to query interfaces"))?;
        let mut link = Self {
            socket,
            index,
            name: format!("interface {index}"),
            state: LinkState::Up,
            outages: 0,
            lost: 0,
        };
        link.name = link.name_now().map_err(Error::system(format!("find {}", link.name)))?;
        link.state = LinkState::of(link.flags().map_err(|error| link.gone(error))?);
        Ok(link)
    }

    pub(super) const fn state(&self) -> LinkState {
        self.state
    }

    /// Whether it was taken down.
    #[inline]
    pub(super) const fn is_down(&self) -> bool {
        matches!(self.state, LinkState::Down)
    }

    /// Checks the interface; called periodically.
    pub(super) fn check(&mut self, device: impl AsFd) -> Result<(), Error> {
        let failed = take_error(device)?;
        self.look(failed)
    }

    /// Reads the interface's state. `failed`: an error of the interface was seen before.
    ///
    /// # Errors
    /// If it was removed.
    #[cold]
    pub(super) fn look(&mut self, failed: bool) -> Result<(), Error> {
        let state = LinkState::of(self.flags().map_err(|error| self.gone(error))?);
        // If it failed but is up now, it was down between two checks. An interface that goes down loses its carrier
        // first.
        if self.state == LinkState::Up && (failed || state != LinkState::Up) {
            self.outages += 1;
        }
        self.state = state;
        Ok(())
    }

    fn gone(&self, error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO) => Error::system(format!(
                "{} is gone: it was removed or moved to another namespace",
                self.name
            ))(error),
            _ => Error::system(format!("query the state of {}", self.name))(error),
        }
    }

    /// The flags of netdevice(7). The interface is looked up by index, since its name may have changed.
    fn flags(&self) -> io::Result<u32> {
        let mut request = self.named()?;
        self.ask(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: SIOCGIFFLAGS writes this member.
        Ok(u32::from(unsafe { request.ifr_ifru.ifru_flags } as u16))
    }

    fn name_now(&self) -> io::Result<String> {
        let name = self.named()?.ifr_name.map(|letter| letter as u8);
        let name = CStr::from_bytes_until_nul(&name).map_err(io::Error::other)?;
        Ok(name.to_string_lossy().into_owned())
    }

    /// A request with the interface's name.
    fn named(&self) -> io::Result<libc::ifreq> {
        // SAFETY: every field of `ifreq` is an integer, a byte array or a pointer, for which zero is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_ifru.ifru_ifindex = self.index as i32;
        self.ask(libc::SIOCGIFNAME, &mut request)?;
        Ok(request)
    }

    fn ask(&self, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: both requests read and write an `ifreq`, which outlives the call.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), what, &raw mut *request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
