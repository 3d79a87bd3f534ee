//! Attachments: where real interfaces meet the fabric.

use network::PortId;
use traffic::{HostId, Packets};

use crate::buffers::Buffers;
use crate::device::{Device, Kind};
use crate::error::Error;

/// Where what an interface receives enters the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A machine of that node sent it.
    Machine(u32),
    /// It comes as if by a wire, in a router between real networks.
    Wire {
        /// The port that would feed the wire.
        by: PortId,
        /// The node that stands for whatever sent it.
        source: HostId,
        /// The node that stands for whatever is beyond the router.
        destination: HostId,
    },
}

/// A place for an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The interface's index, in the namespace where attachments are opened.
    pub(crate) interface: u32,
    pub(crate) entry: Entry,
    /// The port that feeds the wire towards it.
    pub(crate) fed_by: PortId,
    /// The Ethernet address from which gap frames come.
    pub(crate) gaps_from: [u8; 6],
    /// Whether its frames may lack their checksums without a word from the device.
    pub(crate) pending_checksums: bool,
}

/// An interface in its place.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(crate) device: Device,
    pub(crate) place: Place,
    /// Frames of MAC control that came in, which are for this end of the wire alone.
    pub(crate) mac_control_frames: u64,
}

/// Opens every interface, of the calling thread's namespace, as `kind` or else as the best that the machine
/// grants; why it is not better is noted.
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
        Err(Error::Lacking { what, source, .. } | Error::System { what, source }) => {
            format!("{what}: {source}")
        }
        Err(Error::Unfit { message, .. }) => message,
    };
    notes.push(format!("AF_PACKET in place of AF_XDP ({why})"));
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
