//! Which priority a code point has.

use crate::control::PRIORITIES;
use crate::packet::Packet;

/// Code points of differentiated services (RFC 2474): six bits.
pub const CODE_POINTS: usize = 64;

/// The priority of each code point: 802.1Qcd's application priority by DSCP, `dcb app … dscp-prio`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DscpMap([u8; CODE_POINTS]);

impl Default for DscpMap {
    /// The class selector (RFC 2474, section 4.2.2): the high three bits.
    fn default() -> Self {
        Self(core::array::from_fn(|dscp| Packet::priority_of((dscp as u8) << 2)))
    }
}

impl DscpMap {
    /// The priority of a code point, 0 to 63.
    #[inline]
    pub const fn priority(&self, dscp: u8) -> u8 {
        self.0[dscp as usize % CODE_POINTS]
    }

    /// Gives a code point, 0 to 63, a priority, 0 to 7; of others only the low bits count.
    pub const fn set(&mut self, dscp: u8, priority: u8) {
        self.0[dscp as usize % CODE_POINTS] = priority % PRIORITIES as u8;
    }

    /// Each code point that has another priority than its class selector, and that priority.
    pub fn given(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        let plain = Self::default();
        let each = (0..CODE_POINTS as u8).map(|dscp| (dscp, self.priority(dscp)));
        each.filter(move |&(dscp, priority)| priority != plain.priority(dscp))
    }
}
