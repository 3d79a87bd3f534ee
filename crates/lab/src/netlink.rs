//! Requests to the kernel's networking over rtnetlink, one at a time, each acknowledged (RFC 3549).

use std::time::Duration;
use std::{io, thread};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage, State};
use netlink_sys::{SocketAddr, protocols::NETLINK_ROUTE};

use crate::{Error, Namespace};

/// A netlink socket. It stays in the namespace where it was opened, whichever thread uses it.
pub(crate) struct Socket {
    inner: netlink_sys::Socket,
    sequence: u32,
}

impl Socket {
    /// A socket in `namespace`.
    pub(crate) fn open(namespace: &Namespace) -> Result<Self, Error> {
        namespace.within(Self::here)?
    }

    /// A socket in the calling thread's namespace.
    pub(crate) fn here() -> Result<Self, Error> {
        let inner = netlink_sys::Socket::new(NETLINK_ROUTE);
        let inner = inner.map_err(Error::system("open a netlink socket"))?;
        inner.connect(&SocketAddr::new(0, 0)).map_err(Error::system("connect to netlink"))?;
        Ok(Self { inner, sequence: 0 })
    }

    /// Requests a change and waits until the kernel has made or refused it. `flags` are the flags for creation
    /// (`NLM_F_CREATE`, …).
    pub(crate) fn change(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.ask(message, NLM_F_ACK | flags).map(drop)
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
        match self.ask(RouteNetlinkMessage::GetLink(wanted), 0)? {
            Some(RouteNetlinkMessage::NewLink(found)) => Ok(found),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Sends a request and returns the first answer to it: an object, or `None` for an
    /// acknowledgement.
    fn ask(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Option<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.inner.send(&bytes, 0)?;
        self.answer()
    }

    fn answer(&self) -> io::Result<Option<RouteNetlinkMessage>> {
        loop {
            let (bytes, _) = self.inner.recv_from_full()?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&bytes)
                .map_err(io::Error::other)?;
            if answer.header.sequence_number != self.sequence {
                continue;
            }
            return match answer.payload {
                NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
                NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
                _ => Ok(None),
            };
        }
    }
}

/// A message about the interface `index`.
pub(crate) fn of(index: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link
}
