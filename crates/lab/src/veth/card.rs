//! A network card of this kernel as a host's interface.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::LinkAttribute;

use super::{Settings, address, configure, gso_max_segs};
use crate::netlink::{self, Socket};
use crate::{Error, Namespace};

/// Moves the card `card` from this thread's namespace into `host`, and configures it as `settings` say. Returns whether
/// the kernel limits the host to the rate of its line. The card's provider has set its Ethernet address, and offers no
/// segmentation or checksum offload.
pub(crate) fn adopt(host: &Namespace, card: &str, settings: &Settings) -> Result<bool, Error> {
    super::check_mtu(settings.mtu, settings.address)?;
    let what = || format!("move network card {card} to a host");
    let name = format!("eth{}", settings.interface);
    let mut outside = Socket::here()?;
    let mut link = netlink::of(outside.index(card)?);
    link.attributes.push(LinkAttribute::NetNsFd(host.as_fd().as_raw_fd()));
    link.attributes.push(LinkAttribute::IfName(name.clone()));
    outside.change(Message::SetLink(link), 0).map_err(Error::system(what()))?;
    let mut at_host = Socket::open(host)?;
    let index = at_host.index(&name)?;
    let mut link = netlink::of(index);
    link.attributes.push(LinkAttribute::Mtu(settings.mtu));
    link.attributes.extend(gso_max_segs(settings));
    at_host.change(Message::SetLink(link), 0).map_err(Error::system(what()))?;
    let shaped = configure(&mut at_host, index, settings)?;
    at_host.raise(index)?;
    at_host.await_carrier(index)?;
    address::give(&mut at_host, index, settings)?;
    Ok(shaped)
}
