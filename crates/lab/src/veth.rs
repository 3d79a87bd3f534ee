//! A cable: a veth pair whose one end is a host's interface and whose other end is the fabric's. In a guest kernel
//! it is a network card, at whose other end is the simulator.

mod address;
mod card;
mod offload;
mod shaper;
mod steering;

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute,
    LinkInfo, LinkMessage,
};

pub(crate) use card::adopt;
pub use shaper::Line;

use crate::netlink::{self, Socket};
use crate::{Error, Namespace, sysctl};

/// What a cable is.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// The number of the host's interface: 0 is `eth0`.
    pub interface: u16,
    /// The name of the fabric's end, at most 15 bytes, its own among the fabric's.
    pub fabric_interface: &'a str,
    /// The Ethernet address of the host's end.
    pub mac: [u8; 6],
    /// The gso_max_segs IP datagram, bytes.
    pub mtu: u32,
    /// The host's address, alone in its network.
    pub address: IpAddr,
    /// The interface's own address, of the same version of IP, where the host has several: what is sent from it leaves
    /// by this cable.
    pub own_address: Option<IpAddr>,
    /// What programs of the host send to these ports, wherever, goes by that address too.
    pub own_ports: &'a [u16],
    /// What is reached by this cable.
    pub routes: Routes<'a>,
    /// The line at whose rate the host sends; `None`: as fast as it can.
    pub line: Option<Line>,
    /// Who cuts what the host's TCP sends into frames.
    pub segmentation: Segmentation,
    /// The CPUs that do the host's receive processing (the kernel's RPS). Empty: the one that
    /// writes the frame, which then runs the host's TCP down to the next packets' transmission
    /// before it is back. Frames under way to other CPUs count against the send buffer of the
    /// socket that wrote them.
    pub receive_cpus: &'a [usize],
}

/// Who cuts what TCP sends into frames. What is cut later costs the host less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segmentation {
    /// TCP itself: one packet at a time.
    #[default]
    Tcp,
    /// The host's queue, of super-frames of any length: each frame leaves at its own time. Needs a line.
    InQueue,
    /// The host's kernel, of at most so many frames (1 or more), once they have left its queue: a
    /// frame at a time leaves, but those of one super-frame leave together.
    BehindQueue(u32),
    /// Who reads the frames: super-frames pass whole.
    Reader,
}

/// What is reached by a cable; all of it is on link, and the fabric answers for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routes<'a> {
    /// Every address of the host's family; of one cable of a host only.
    #[default]
    Everything,
    /// These, of the host's family.
    Only(&'a [IpAddr]),
}

/// A cable that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// The index of the fabric's end in the fabric's namespace.
    pub fabric_index: u32,
    /// The index of the host's end in the host's namespace.
    pub host_index: u32,
    /// Whether the kernel holds the host to its line. Without `line` it does not, nor where it has
    /// no TBF: then the host's own queue is not seen.
    pub shaped: bool,
    /// Whether `receive_cpus` do the receive processing; not before Linux 6.3.
    pub steered: bool,
}

/// Lays a cable from `host` to `fabric`; both ends transmit at once. It lies as long as both
/// namespaces live, and so does what was made before an error. An MTU that the kernel or the host's
/// address does not bear is unfit.
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

/// Prepares a host's interface that is still down; returns whether the kernel holds the host to its line.
fn configure(at_host: &mut Socket, index: u32, settings: &Settings) -> Result<bool, Error> {
    if settings.address.is_ipv4() {
        silence(at_host, index)?;
    }
    match &settings.line {
        Some(line) => shaper::install(at_host, index, line, settings),
        None => Ok(false),
    }
}

/// Refuses an MTU that the kernel or a host of this address does not bear.
///
/// # Errors
/// `Unfit`.
pub(crate) fn check_mtu(mtu: u32, address: IpAddr) -> Result<(), Error> {
    // RFC 791 and RFC 8200, section 5; the kernel's interfaces bear no more than the last.
    let (least, most) = (if address.is_ipv6() { 1_280 } else { 68 }, 65_535);
    if (least..=most).contains(&mtu) {
        return Ok(());
    }
    Err(Error::unfit(
        format!("an MTU of {mtu} bytes at a host of address {address}"),
        format!("give the link one from {least} to {most} bytes"),
    ))
}

fn create_failed(host: &str, fabric: &str, error: io::Error) -> Error {
    let what = format!("create a veth pair ({host} to {fabric})");
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Error::lacking(what, error, "load or build it: modprobe veth"),
        _ => Error::system(what)(error),
    }
}

/// The pair, made in the host's namespace with its peer in the fabric's.
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

/// What both ends of the pair have.
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

/// TCP builds super-frames of so many segments, whatever ethtool says.
fn gso_max_segs(settings: &Settings) -> Option<LinkAttribute> {
    let segments = match settings.segmentation {
        Segmentation::Tcp => Some(1),
        Segmentation::BehindQueue(frames) => Some(frames.max(1)),
        Segmentation::InQueue | Segmentation::Reader => None,
    };
    segments.map(LinkAttribute::GsoMaxSegs)
}

/// Keeps the kernel from giving an interface an IPv6 address, and from telling its groups.
fn silence(socket: &mut Socket, index: u32) -> Result<(), Error> {
    if !sysctl::has_ipv6() {
        return Ok(());
    }
    let mode = vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)];
    let mut link = netlink::of(index);
    link.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(mode)]));
    match socket.change(Message::SetLink(link), 0) {
        // One whose MTU is below IPv6's least, 1280 bytes (RFC 8200, section 5), has no IPv6.
        Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(()),
        done => done.map_err(Error::system("keep an interface from IPv6 addresses of its own")),
    }
}
