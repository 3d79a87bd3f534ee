//! An interface of the machine for a router.

use std::io;

use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo};

use host::ethtool;

use super::uplink;
use crate::device::Promiscuous;
use crate::error::Error;
use crate::netlink;

/// The properties of an interface.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) address: [u8; 6],
    /// The largest IP datagram (MTU), bytes.
    pub(super) mtu: u32,
    /// The number of receive queues.
    pub(super) queues: u32,
    /// The source of its frames.
    pub(super) medium: Medium,
}

/// The source of an interface's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// A network card: frames are as on the wire.
    Wire,
    /// A veth pair. Its other end may leave checksums and segmentation to this end.
    Veth,
    /// Another virtual interface of the machine (tap, bridge, VLAN), or a virtual machine's. Its frames may need
    /// checksums and segmentation too.
    Virtual,
}

/// The drivers of paravirtual cards: frames from a neighbour on the same host come without checksums.
const PARAVIRTUAL: [&str; 2] = ["virtio_net", "vif"];

impl Interface {
    /// Finds the interface `name` in the calling thread's namespace. It must be up.
    pub(super) fn find(name: &str) -> Result<Self, Error> {
        let link = netlink::Socket::here()?.named(name).map_err(|error| missing(name, error))?;
        if !link.header.flags.contains(LinkFlags::Up) {
            let down = io::Error::from_raw_os_error(libc::ENETDOWN);
            return Err(Error::lacking(name, down, format!("run `ip link set {name} up`")));
        }
        let mut found = Self {
            name: name.into(),
            index: link.header.index,
            address: [0; 6],
            mtu: 0,
            queues: 1,
            medium: Medium::Wire,
        };
        for attribute in link.attributes {
            match attribute {
                LinkAttribute::Address(bytes) => {
                    found.address = bytes.first_chunk().copied().unwrap_or_default();
                }
                LinkAttribute::Mtu(mtu) => found.mtu = mtu,
                LinkAttribute::NumRxQueues(queues) => found.queues = queues,
                // An interface with a kind is not a card.
                LinkAttribute::LinkInfo(all) => all.iter().for_each(|info| match info {
                    LinkInfo::Kind(InfoKind::Veth) => found.medium = Medium::Veth,
                    LinkInfo::Kind(_) => found.medium = Medium::Virtual,
                    _ => {}
                }),
                _ => {}
            }
        }
        // The kernel's count above is the maximum number of queues.
        found.queues = ethtool::receive_queues(name).unwrap_or(found.queues);
        if ethtool::driver(name).is_ok_and(|driver| PARAVIRTUAL.contains(&driver.as_str())) {
            found.medium = Medium::Virtual;
        }
        Ok(found)
    }

    /// Returns an error if the interface is the machine's own uplink.
    pub(super) fn refuse_uplink(&self) -> Result<(), Error> {
        let name = &self.name;
        if !uplink::is(name).map_err(Error::system(format!("read the routes of {name}")))? {
            return Ok(());
        }
        let help = "use another interface, or --force if this machine may lose its default route";
        Err(Error::unfit(format!("{name} has this machine's default route"), help))
    }

    /// Enables promiscuous mode.
    pub(super) fn promiscuous(&self) -> Result<Promiscuous, Error> {
        let what = format!("receive all frames of {}", self.name);
        Promiscuous::new(self.index).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                let help = "run it as root, or grant the capabilities: setcap \
                            cap_net_admin,cap_net_raw,cap_bpf+ep suimon";
                Error::lacking(what, error, help)
            }
            _ => Error::system(what)(error),
        })
    }
}

fn missing(name: &str, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENODEV | libc::ERANGE | libc::EINVAL) => {
            Error::unfit(format!("there is no interface {name}"), "see `ip link`")
        }
        _ => Error::system(format!("find the interface {name}"))(error),
    }
}
