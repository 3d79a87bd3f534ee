//! Frames as they came on the wire: an interface that merges none, nor takes tags out where they are not told.

use crate::device::Kind;
use crate::ethtool::{self, command};

/// `ETH_FLAG_LRO`: the card merges segments, which nobody can cut again as they were.
const LRO: u32 = 1 << 15;
/// `ETH_FLAG_RXVLAN`: the card takes the VLAN tag out of the frame, and AF_XDP is not told of it.
const TAGS_OUT: u32 = 1 << 8;

/// An interface that hands over whole frames as long as this lives; then it is as it was.
#[derive(Debug)]
pub(super) struct Whole {
    name: String,
    /// Set at the end: each command with its value.
    before: Vec<(u32, u32)>,
}

impl Whole {
    /// Has the interface of that name hand over whole frames. What it refuses is noted.
    pub(super) fn keep(name: &str, kind: Kind, notes: &mut Vec<String>) -> Self {
        let off = match kind {
            Kind::Xdp { .. } => LRO | TAGS_OUT,
            Kind::Packet { .. } => LRO,
        };
        let mut whole = Self { name: name.into(), before: Vec::new() };
        for (get, set, off) in [
            (command::GET_GRO, command::SET_GRO, u32::MAX),
            (command::GET_FLAGS, command::SET_FLAGS, off),
        ] {
            // What an interface does not know, it does not do.
            let Ok(value) = ethtool::get(name, get) else { continue };
            if value & off == 0 {
                continue;
            }
            match ethtool::set(name, set, value & !off) {
                Ok(()) => whole.before.push((set, value)),
                Err(error) => notes.push(format!(
                    "{name} may merge frames, which are then lost ({error}): type `ethtool -K {name} \
                     gro off lro off rxvlan off`"
                )),
            }
        }
        whole
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        for &(command, value) in self.before.iter().rev() {
            // The interface may be gone.
            let _ = ethtool::set(&self.name, command, value);
        }
    }
}
