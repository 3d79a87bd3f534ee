//! What a conditioner does with a packet.

use alloc::string::String;

/// The action on a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// The packet passes unchanged.
    #[default]
    Pass,
    /// The packet is dropped, with the reason "policed".
    Drop,
    /// The packet passes with this code point, 0 to 63; its ECN field stays.
    Mark(u8),
    /// The packet continues with the element of this name.
    Next(String),
    /// The packet leaves the chain of elements, and the conditioner's default action decides.
    Return,
}
