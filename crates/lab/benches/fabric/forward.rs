//! The bare forwarder: what comes in by one device leaves by the other.

use lab::buffers::Buffers;
use lab::device::{Device, Kind, Received};
use traffic::Packets;

use crate::bed::{Bed, Result, device};

/// Two devices and nothing between them.
pub(crate) struct Forwarder {
    devices: [Device; 2],
    buffers: Buffers,
    packets: Packets,
    received: Vec<Received>,
}

impl Forwarder {
    pub(crate) fn new(bed: &Bed, kind: Kind) -> Result<Self> {
        const COUNT: u32 = 4 * Device::PLACES;
        let buffers = Buffers::new(COUNT, Buffers::size_for(1514))?;
        let mut packets = Packets::with_places(COUNT);
        let f0 = device(&bed.middle, "f0", kind, &buffers, &mut packets, None)?;
        let f1 = device(&bed.middle, "f1", kind, &buffers, &mut packets, Some(&f0))?;
        Ok(Self { devices: [f0, f1], buffers, packets, received: Vec::new() })
    }

    /// Moves a batch each way; how many frames those were.
    pub(crate) fn step(&mut self) -> Result<u32> {
        let [left, right] = &mut self.devices;
        let there = pass(left, right, &mut self.buffers, &mut self.packets, &mut self.received)?;
        let back = pass(right, left, &mut self.buffers, &mut self.packets, &mut self.received)?;
        Ok(there + back)
    }
}

fn pass(
    from: &mut Device,
    to: &mut Device,
    buffers: &mut Buffers,
    packets: &mut Packets,
    received: &mut Vec<Received>,
) -> Result<u32> {
    from.receive(buffers, packets, received)?;
    let count = received.len() as u32;
    if count == 0 {
        return Ok(0);
    }
    for frame in received.drain(..) {
        to.send(frame.packet, frame.length);
    }
    to.flush(buffers, packets)?;
    Ok(count)
}
