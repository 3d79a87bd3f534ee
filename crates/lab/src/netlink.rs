//! Requests to the kernel's networking over rtnetlink, one at a time, each acknowledged (RFC 3549).

use std::time::Duration;
use std::{io, thread};

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage, State};

use crate::{Error, Namespace};

/// A netlink socket. It stays in the namespace where it was opened, whichever thread uses it.
pub(crate) struct Socket(host::netlink::Socket);

impl Socket {
    /// A socket in `namespace`.
    pub(crate) fn open(namespace: &Namespace) -> Result<Self, Error> {
        namespace.within(Self::here)?
    }

    /// A socket in the calling thread's namespace.
    pub(crate) fn here() -> Result<Self, Error> {
        host::netlink::Socket::here().map(Self).map_err(Error::system("open a netlink socket"))
    }

    /// Requests a change and waits until the kernel has made or refused it. `flags` are the flags for creation
    /// (`NLM_F_CREATE`, …).
    pub(crate) fn change(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.0.change(message, flags)
    }

    /// The index of the interface `name`.
    pub(crate) fn index(&mut self, name: &str) -> Result<u32, Error> {
        let found = self.named(name).map_err(Error::system(format!("find interface {name}")))?;
        Ok(found.header.index)
    }

    /// The kernel's description of the interface `name`.
    pub(crate) fn named(&mut self, name: &str) -> io::Result<LinkMessage> {
        let mut wanted = LinkMessage::default();
        wanted.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.link(wanted)
    }

    /// Sets an interface up.
    pub(crate) fn raise(&mut self, index: u32) -> Result<(), Error> {
        let mut link = of(index);
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.change(RouteNetlinkMessage::SetLink(link), 0)
            .map_err(Error::system("set an interface up"))
    }

    /// Waits until an interface has a carrier; the interface and the other end of its cable must be up. The kernel
    /// detects a carrier at once or up to a second later, and discards packets until then. Since Linux 6.8, a query of
    /// the interface makes it detect the carrier.
    pub(crate) fn await_carrier(&mut self, index: u32) -> Result<(), Error> {
        const TRIES: u32 = 3_000;
        const WHAT: &str = "wait for an interface's carrier";
        for _ in 0..TRIES {
            let link = self.link(of(index)).map_err(Error::system(WHAT))?;
            if link.attributes.contains(&LinkAttribute::OperState(State::Up)) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err(Error::system(WHAT)(io::Error::from(io::ErrorKind::TimedOut)))
    }

    fn link(&mut self, wanted: LinkMessage) -> io::Result<LinkMessage> {
        match self.0.ask(RouteNetlinkMessage::GetLink(wanted), 0)? {
            Some(RouteNetlinkMessage::NewLink(found)) => Ok(found),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// A message about the interface `index`.
pub(crate) fn of(index: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link
}
