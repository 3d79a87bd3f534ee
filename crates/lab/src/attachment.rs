//! Attachments of real interfaces to the fabric.

use base::HostId;
use network::PortId;
use traffic::Packets;

use crate::buffers::Buffers;
use crate::device::{Device, Kind};
use crate::error::Error;

/// The point where an interface's received frames enter the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The node whose machine sent them.
    Machine(u32),
    /// A link, in a router between real networks.
    Wire {
        /// The port that would feed the link.
        by: PortId,
        /// The node that represents the network of the sender.
        source: HostId,
        /// The node that represents the network on the other side of the router.
        destination: HostId,
    },
}

/// A place for an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The interface's index, in the namespace where attachments are opened.
    pub(crate) interface: u32,
    pub(crate) entry: Entry,
    /// The port that feeds the link towards it.
    pub(crate) fed_by: PortId,
    /// The Ethernet address from which gap frames come.
    pub(crate) gaps_from: [u8; 6],
    /// Whether its frames may have pending checksums that the device does not report.
    pub(crate) pending_checksums: bool,
}

/// An open interface and its place.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(crate) device: Device,
    pub(crate) place: Place,
    /// Received MAC control frames. They are for this end of the wire only.
    pub(crate) mac_control_frames: u64,
}

/// Opens all interfaces, in the calling thread's namespace, as `kind`, or else as the best kind that the machine
/// supports. A note says why that is not AF_XDP.
pub(crate) fn open(
    places: &[Place],
    kind: Option<Kind>,
    memory: &mut (Buffers, Packets),
    notes: &mut Vec<String>,
) -> Result<(Vec<Attachment>, Kind), Error> {
    if let Some(kind) = kind {
        return Ok((open_as(kind, places, memory)?, kind));
    }
    const XDP: Kind = Kind::Xdp { native: false };
    const PACKET: Kind = Kind::Packet { vnet: false };
    let why = match open_as(XDP, places, memory) {
        Ok(attachments) => return Ok((attachments, XDP)),
        Err(why) => why,
    };
    notes.push(format!("AF_PACKET instead of AF_XDP ({why})"));
    Ok((open_as(PACKET, places, memory)?, PACKET))
}

fn open_as(
    kind: Kind,
    places: &[Place],
    (buffers, packets): &mut (Buffers, Packets),
) -> Result<Vec<Attachment>, Error> {
    let mut attachments: Vec<Attachment> = Vec::new();
    for &place in places {
        let first = attachments.first().map(|attachment| &attachment.device);
        match Device::open(place.interface, kind, buffers, packets, first) {
            Ok(device) => attachments.push(Attachment { device, place, mac_control_frames: 0 }),
            Err(error) => {
                attachments.into_iter().for_each(|attachment| attachment.device.close(packets));
                return Err(error);
            }
        }
    }
    Ok(attachments)
}
