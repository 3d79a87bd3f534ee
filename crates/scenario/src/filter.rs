//! What a packet must look like, as it stands in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value::{Count, DscpUnit, Name, PortsUnit, PrefixUnit, ProtocolUnit, Quantity};

/// What a packet must look like; what is left out is not looked at, and a field that the packet does not
/// have matches nothing.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Match {
    /// The host that sent it.
    pub(crate) from: Option<Name>,
    /// The host that it is for.
    pub(crate) to: Option<Name>,
    /// Its flow, both directions.
    pub(crate) flow: Option<Name>,
    /// Where it comes from.
    pub(crate) source: Option<Quantity<PrefixUnit>>,
    /// Where it goes to.
    pub(crate) destination: Option<Quantity<PrefixUnit>>,
    /// Its transport protocol.
    pub(crate) protocol: Option<Quantity<ProtocolUnit>>,
    /// The sender's port.
    pub(crate) source_port: Option<Quantity<PortsUnit>>,
    /// The receiver's port.
    pub(crate) destination_port: Option<Quantity<PortsUnit>>,
    /// Its code point (RFC 2474).
    pub(crate) dscp: Option<Quantity<DscpUnit>>,
    /// Its IPv6 flow label, 0 to 1048575.
    pub(crate) flow_label: Option<Count>,
    /// The priority in its 802.1Q tag, 0 to 7; simulated frames have no tag.
    pub(crate) vlan_priority: Option<Count>,
    /// Of several that match, the greatest decides, 0 to 65535; of equals, the first. 0 unless given.
    pub(crate) priority: Option<Count>,
}
