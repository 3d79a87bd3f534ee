//! An interface of the machine that a router is to take.

use std::io;

use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo};

use super::uplink;
use crate::device::Promiscuous;
use crate::error::Error;
use crate::{ethtool, netlink};

/// What is known of an interface.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) address: [u8; 6],
    /// The longest IP datagram, bytes.
    pub(super) mtu: u32,
    /// By how many queues it receives.
    pub(super) queues: u32,
    /// Where its frames come from.
    pub(super) medium: Medium,
}

/// Where an interface's frames come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// A network card: frames are as they were on the wire.
    Wire,
    /// A veth pair, whose other end may leave checksums and segmentation to this one.
    Veth,
    /// Another interface of a machine's own (tap, bridge, VLAN), or one of a virtual machine, which may
    /// leave them to it too.
    Virtual,
}

/// Drivers of cards that are none: what a neighbour on the same host sent comes without checksums.
const PARAVIRTUAL: [&str; 2] = ["virtio_net", "vif"];

impl Interface {
    /// The interface of that name in the calling thread's namespace, which must be up.
    pub(super) fn find(name: &str) -> Result<Self, Error> {
        let link = netlink::Socket::here()?.named(name).map_err(|error| missing(name, error))?;
        if !link.header.flags.contains(LinkFlags::Up) {
            let down = io::Error::from_raw_os_error(libc::ENETDOWN);
            return Err(Error::lacking(name, down, format!("type `ip link set {name} up`")));
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
                // What has a kind is no card.
                LinkAttribute::LinkInfo(all) => all.iter().for_each(|info| match info {
                    LinkInfo::Kind(InfoKind::Veth) => found.medium = Medium::Veth,
                    LinkInfo::Kind(_) => found.medium = Medium::Virtual,
                    _ => {}
                }),
                _ => {}
            }
        }
        // The kernel's count above is of all that there may be.
        found.queues = ethtool::receive_queues(name).unwrap_or(found.queues);
        if ethtool::driver(name).is_ok_and(|driver| PARAVIRTUAL.contains(&driver.as_str())) {
            found.medium = Medium::Virtual;
        }
        Ok(found)
    }

    /// An error if the machine itself reaches the world by it.
    pub(super) fn refuse_uplink(&self) -> Result<(), Error> {
        let name = &self.name;
        if !uplink::is(name).map_err(Error::system(format!("look at the routes by {name}")))? {
            return Ok(());
        }
        let help =
            "take another interface, or say --force if this machine may lose its own way out";
        Err(Error::unfit(format!("{name} has this machine's default route"), help))
    }

    /// Has it let in every frame.
    pub(super) fn promiscuous(&self) -> Result<Promiscuous, Error> {
        let what = format!("take all frames of {}", self.name);
        Promiscuous::new(self.index).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                let help = "run it as root, or give the program the right: setcap \
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
            Error::unfit(format!("there is no interface {name}"), "`ip link` lists those there are")
        }
        _ => Error::system(format!("find the interface {name}"))(error),
    }
}
