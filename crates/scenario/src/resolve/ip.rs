//! What the IP header of a flow's packets has.

use std::net::IpAddr;

use super::network::{Ends, Network};
use crate::diagnostic::Problems;
use crate::file;

/// The code point of its packets.
pub(super) fn dscp(table: &file::Flow, problems: &mut Problems) -> Option<u8> {
    table.marks().read(problems).map(|marks| marks.dscp)
}

/// The length of the IP header between these two; reports different IP versions.
pub(super) fn header_length(
    ends: Ends,
    table: &file::Flow,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<u32> {
    match ends.map(|end| network.address(end)) {
        [IpAddr::V4(_), IpAddr::V4(_)] => Some(20),
        [IpAddr::V6(_), IpAddr::V6(_)] => Some(40),
        [one, other] => {
            let message = format!("{one} and {other} have different IP versions");
            let help = "use addresses of the same IP version for both hosts";
            problems.push(&table.to.span, message, help);
            None
        }
    }
}
