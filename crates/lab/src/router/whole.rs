//! Frames as on the wire: keeps an interface from merging frames, and from removing VLAN tags that are not reported.

use crate::device::Kind;
use host::ethtool::{self, command};

/// `ETH_FLAG_LRO`: the card merges segments, which cannot be restored afterwards.
const LRO: u32 = 1 << 15;
/// `ETH_FLAG_RXVLAN`: the card removes the VLAN tag from the frame, which AF_XDP does not report.
const TAGS_OUT: u32 = 1 << 8;

/// An interface that delivers frames as on the wire. Dropping this value restores its settings.
#[derive(Debug)]
pub(super) struct Whole {
    name: String,
    /// The settings to restore: each command with its value.
    before: Vec<(u32, u32)>,
}

impl Whole {
    /// Makes the interface `name` deliver frames as on the wire. A refusal is noted.
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
            // An interface without the setting does not have the feature.
            let Ok(value) = ethtool::get(name, get) else { continue };
            if value & off == 0 {
                continue;
            }
            match ethtool::set(name, set, value & !off) {
                Ok(()) => whole.before.push((set, value)),
                Err(error) => notes.push(format!(
                    "{name} may merge frames, which are then lost ({error}): run `ethtool -K {name} \
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
