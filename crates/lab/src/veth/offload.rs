//! The offloads of a cable's ends: segmentation, merging and checksums, set as by ethtool(8).

use crate::{Error, Namespace};
use host::ethtool::{self, command};

/// The command that sets a feature, and the feature's name.
const TX_CHECKSUM: (u32, &str) = (command::SET_TX_CHECKSUM, "transmit checksums");
const TSO: (u32, &str) = (command::SET_TSO, "TCP segmentation");
const GSO: (u32, &str) = (command::SET_GSO, "generic segmentation");
const GRO: (u32, &str) = (command::SET_GRO, "generic receive");

/// Configures the host's end: with `gso`, all work is left to the reader of the frames; otherwise every frame is
/// complete.
pub(super) fn set_host(host: &Namespace, name: &str, gso: bool) -> Result<(), Error> {
    let features = [TX_CHECKSUM, TSO, GSO, GRO];
    host.within(|| features.into_iter().try_for_each(|feature| set(name, feature, gso)))?
}

/// Configures the fabric's end: received packets are not merged.
pub(super) fn set_fabric(fabric: &Namespace, name: &str) -> Result<(), Error> {
    fabric.within(|| set(name, GRO, false))?
}

/// Sets a feature of an interface in this thread's namespace.
fn set(name: &str, (command, feature): (u32, &str), on: bool) -> Result<(), Error> {
    let what = || format!("turn the offload of {feature} {}", if on { "on" } else { "off" });
    ethtool::set(name, command, on.into()).map_err(Error::system(what()))
}
