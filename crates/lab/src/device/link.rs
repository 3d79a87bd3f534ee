//! Whether an interface is there and up, which rings in memory do not say.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::option;
use crate::Error;

/// How many times in a row nothing comes in before the socket is asked: often enough for a busy loop to
/// tell within a millisecond.
const QUIET: u32 = 1024;

/// How an interface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It was taken down: `ip link set NAME down`.
    Down,
    /// It is up, and has nobody at its other end, or no cable. What it is given to send is lost.
    NoCarrier,
    /// It sends and receives.
    Up,
}

impl LinkState {
    /// Its name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::NoCarrier => "no carrier",
            Self::Up => "up",
        }
    }

    /// By the flags of netdevice(7).
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

/// Why a device's socket did nothing.
#[derive(Debug)]
pub(super) enum Failure {
    /// The interface is down, or was for a moment, or is gone.
    Interface,
    /// Anything else.
    Other(Error),
}

/// Counts how often nothing came in.
#[derive(Debug, Default)]
pub(super) struct Quiet(u32);

impl Quiet {
    /// Something came in.
    #[inline]
    pub(super) const fn heard(&mut self) {
        self.0 = 0;
    }

    /// Nothing came in; a failure if that is because of the interface of `socket`.
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

/// Whether `socket` holds an error, as one does whose interface was taken down; it forgets that then.
#[cold]
fn take_error(socket: impl AsFd) -> Result<bool, Error> {
    // SAFETY: an integer.
    let error = unsafe { option::get::<i32>(socket, libc::SOL_SOCKET, libc::SO_ERROR) };
    Ok(error.map_err(Error::system("ask how an interface is"))? != 0)
}

/// An interface, as its namespace has it.
#[derive(Debug)]
pub(super) struct Link {
    /// A socket of that namespace, to ask by.
    socket: OwnedFd,
    index: u32,
    name: String,
    state: LinkState,
    /// How many times it went down, or lost its carrier.
    pub(super) outages: u64,
    /// Frames that were to be sent meanwhile.
    pub(super) lost: u64,
}

impl Link {
    /// The interface with that index in the calling thread's namespace.
    pub(super) fn open(index: u32) -> Result<Self, Error> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None);
        let socket = socket.map_err(Error::system("open a socket to ask of interfaces by"))?;
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

    /// Looks at the interface now and then.
    pub(super) fn check(&mut self, device: impl AsFd) -> Result<(), Error> {
        let failed = take_error(device)?;
        self.look(failed)
    }

    /// Looks at the interface because `failed` says that something was wrong with it, or anyhow.
    ///
    /// # Errors
    /// If it was removed.
    #[cold]
    pub(super) fn look(&mut self, failed: bool) -> Result<(), Error> {
        let state = LinkState::of(self.flags().map_err(|error| self.gone(error))?);
        // One that failed and is up was down between two looks. One that goes down loses its carrier first.
        if self.state == LinkState::Up && (failed || state != LinkState::Up) {
            self.outages += 1;
        }
        self.state = state;
        Ok(())
    }

    fn gone(&self, error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO) => Error::system(format!(
                "{} is gone: it was removed, or given away",
                self.name
            ))(error),
            _ => Error::system(format!("ask how {} is", self.name))(error),
        }
    }

    /// Its flags of netdevice(7). It may have another name by now.
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
