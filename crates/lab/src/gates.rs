//! Gates: where real interfaces meet the fabric.

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
    /// The interface's index, in the namespace where gates are opened.
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
pub(crate) struct Gate {
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
) -> Result<(Vec<Gate>, Kind), Error> {
    if let Some(kind) = kind {
        return Ok((open_as(kind, places, memory)?, kind));
    }
    const XDP: Kind = Kind::Xdp { native: false };
    const PACKET: Kind = Kind::Packet { vnet: false };
    let why = match open_as(XDP, places, memory) {
        Ok(gates) => return Ok((gates, XDP)),
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
) -> Result<Vec<Gate>, Error> {
    let mut gates: Vec<Gate> = Vec::new();
    for &place in places {
        let first = gates.first().map(|gate| &gate.device);
        match Device::open(place.interface, kind, buffers, packets, first) {
            Ok(device) => gates.push(Gate { device, place, mac_control_frames: 0 }),
            Err(error) => {
                gates.into_iter().for_each(|gate| gate.device.close(packets));
                return Err(error);
            }
        }
    }
    Ok(gates)
}
