//! Cables. A cable is a veth pair: one end is a host's interface, the other end belongs to the fabric. In a guest
//! kernel it is a network card that connects to the simulator.

mod address;
mod card;
mod module;
mod offload;
mod shaper;
mod steering;

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use base::Fault;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute,
    LinkInfo, LinkMessage,
};

pub(crate) use card::adopt;
pub use module::ModuleQdisc;
pub use shaper::Line;

use crate::netlink::{self, Socket};
use crate::{Error, Namespace, sysctl};

/// The settings of a cable.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// The number of the host's interface: 0 is `eth0`.
    pub interface: u16,
    /// The name of the fabric's end: at most 15 bytes, unique in the fabric's namespace.
    pub fabric_interface: &'a str,
    /// The Ethernet address of the host's end.
    pub mac: [u8; 6],
    /// The largest IP datagram (MTU), bytes.
    pub mtu: u32,
    /// The host's address, as a prefix of full length (/32 or /128).
    pub address: IpAddr,
    /// The interface's own address, of the same IP version, if the host has several interfaces. Packets with this
    /// source address leave by this cable.
    pub own_address: Option<IpAddr>,
    /// Destination ports whose packets leave by this cable too, from `own_address`, whatever their destination address.
    pub own_ports: &'a [u16],
    /// The destinations reached by this cable.
    pub routes: Routes<'a>,
    /// The line that limits the host's sending rate; `None`: no limit.
    pub line: Option<Line>,
    /// The discipline of the module `sch_suimon` in place of the line, if that is in this kernel.
    pub qdisc: Option<ModuleQdisc>,
    /// The place where the host's TCP data is cut into frames.
    pub segmentation: Segmentation,
    /// The CPUs that do the host's receive processing (Linux RPS). If empty, the CPU that writes a frame does
    /// it: the write returns only after the host's TCP has run, up to the transmission of its next packets.
    /// Frames on their way to other CPUs count against the send buffer of the socket that wrote them.
    pub receive_cpus: &'a [usize],
}

/// The place where TCP data is cut into frames. A later place costs the host less CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segmentation {
    /// In TCP itself, one packet at a time.
    #[default]
    Tcp,
    /// In the host's queue, from super-frames of any length: each frame leaves at its own time. Needs a line.
    InQueue,
    /// In the host's kernel, after the queue, from super-frames of at most this many frames (1 or more).
    /// Frames leave separately, but those of one super-frame leave at the same time.
    BehindQueue(u32),
    /// In the program that reads the frames: super-frames pass whole.
    Reader,
}

/// The destinations reached by a cable. All are on-link; the fabric answers ARP and neighbor solicitations for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routes<'a> {
    /// All addresses of the host's address family. Only one cable of a host may have this.
    #[default]
    Everything,
    /// These addresses, of the host's address family.
    Only(&'a [IpAddr]),
}

/// An installed cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// The index of the fabric's end in the fabric's namespace.
    pub fabric_index: u32,
    /// The index of the host's end in the host's namespace.
    pub host_index: u32,
    /// Whether the kernel limits the host to the rate of its line. False without `line`, and if the kernel has
    /// no TBF: the host then has no visible queue of its own.
    pub shaped: bool,
    /// Whether `receive_cpus` do the receive processing. Needs Linux 6.3.
    pub steered: bool,
}

/// Installs a cable from `host` to `fabric`. Both ends can transmit at once. The cable exists as long as both
/// namespaces exist; after an error, so do the parts created before it.
///
/// # Errors
/// `Unfit` for an MTU that the kernel or the host's address family does not support; others if a system call fails.
pub fn lay(host: &Namespace, fabric: &Namespace, settings: &Settings) -> Result<Cable, Error> {
    check_mtu(settings.mtu, settings.address)?;
    let name = format!("eth{}", settings.interface);
    let steered = steering::set(host, settings.receive_cpus)?;
    let (mut at_host, mut at_fabric) = (Socket::open(host)?, Socket::open(fabric)?);
    at_host
        .change(Message::NewLink(pair(&name, fabric, settings)), NLM_F_CREATE | NLM_F_EXCL)
        .map_err(|error| create_failed(&name, settings.fabric_interface, error))?;
    let host_index = at_host.index(&name)?;
    let fabric_index = at_fabric.index(settings.fabric_interface)?;
    offload::set_host(host, &name, settings.segmentation == Segmentation::Reader)?;
    offload::set_fabric(fabric, settings.fabric_interface)?;
    silence(&mut at_fabric, fabric_index)?;
    let shaped = configure(&mut at_host, host_index, settings)?;
    at_fabric.raise(fabric_index)?;
    at_host.raise(host_index)?;
    at_fabric.await_carrier(fabric_index)?;
    at_host.await_carrier(host_index)?;
    address::give(&mut at_host, host_index, settings)?;
    Ok(Cable { fabric_index, host_index, shaped, steered })
}

/// Configures a host's interface while it is down. Returns whether the kernel limits the host to the rate of its line.
fn configure(at_host: &mut Socket, index: u32, settings: &Settings) -> Result<bool, Error> {
    if settings.address.is_ipv4() {
        silence(at_host, index)?;
    }
    match (&settings.qdisc, &settings.line) {
        (Some(qdisc), _) => module::install(at_host, index, qdisc).map(|()| true),
        (None, Some(line)) => shaper::install(at_host, index, line, settings),
        (None, None) => Ok(false),
    }
}

/// Rejects an MTU that the kernel or the address family of `address` does not support.
///
/// # Errors
/// Such an MTU.
pub(crate) fn check_mtu(mtu: u32, address: IpAddr) -> Result<(), Fault> {
    // The minimum is from RFC 791 or RFC 8200, section 5; the maximum is the limit of Linux interfaces.
    let (least, most) = (if address.is_ipv6() { 1_280 } else { 68 }, 65_535);
    if (least..=most).contains(&mtu) {
        return Ok(());
    }
    Err(Fault::usage(
        format!("an MTU of {mtu} bytes at a host with address {address}"),
        format!("set the link's mtu to {least} to {most} bytes"),
    ))
}

fn create_failed(host: &str, fabric: &str, error: io::Error) -> Error {
    let what = format!("create a veth pair ({host} to {fabric})");
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Error::lacking(what, error, "load or build it: modprobe veth"),
        _ => Error::system(what)(error),
    }
}

/// The message that creates the veth pair: one end in the host's namespace, its peer in the fabric's.
fn pair(name: &str, fabric: &Namespace, settings: &Settings) -> LinkMessage {
    let mut peer = end(settings.fabric_interface, settings);
    peer.attributes.push(LinkAttribute::NetNsFd(fabric.as_fd().as_raw_fd()));
    let mut link = end(name, settings);
    link.attributes.push(LinkAttribute::Address(settings.mac.to_vec()));
    link.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
    ]));
    link
}

/// The attributes common to both ends of the pair.
fn end(name: &str, settings: &Settings) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Mtu(settings.mtu),
        LinkAttribute::NumTxQueues(1),
        LinkAttribute::NumRxQueues(1),
    ];
    link.attributes.extend(gso_max_segs(settings));
    link
}

/// The limit on segments per super-frame that TCP builds, regardless of the ethtool settings.
fn gso_max_segs(settings: &Settings) -> Option<LinkAttribute> {
    let segments = match settings.segmentation {
        Segmentation::Tcp => Some(1),
        Segmentation::BehindQueue(frames) => Some(frames.max(1)),
        Segmentation::InQueue | Segmentation::Reader => None,
    };
    segments.map(LinkAttribute::GsoMaxSegs)
}

/// Keeps the kernel from giving an interface an IPv6 address and from sending multicast group reports.
fn silence(socket: &mut Socket, index: u32) -> Result<(), Error> {
    if !sysctl::has_ipv6() {
        return Ok(());
    }
    let mode = vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)];
    let mut link = netlink::of(index);
    link.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(mode)]));
    match socket.change(Message::SetLink(link), 0) {
        // An interface with an MTU below 1280 bytes, IPv6's minimum (RFC 8200, section 5), has no IPv6.
        Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(()),
        done => done.map_err(Error::system("disable automatic IPv6 addresses on an interface")),
    }
}
