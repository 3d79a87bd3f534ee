//! Packet filters as written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value::{Count, DscpUnit, Name, PortsUnit, PrefixUnit, ProtocolUnit, Quantity};

/// Conditions on a packet. An omitted condition always holds; one on a field that the packet does not have never
/// holds.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Match {
    /// Host that sent the packet.
    pub(crate) from: Option<Name>,
    /// Host that the packet is for.
    pub(crate) to: Option<Name>,
    /// Flow, both directions.
    pub(crate) flow: Option<Name>,
    /// Source address.
    pub(crate) source: Option<Quantity<PrefixUnit>>,
    /// Destination address.
    pub(crate) destination: Option<Quantity<PrefixUnit>>,
    /// Transport protocol.
    pub(crate) protocol: Option<Quantity<ProtocolUnit>>,
    /// Sender's port.
    pub(crate) source_port: Option<Quantity<PortsUnit>>,
    /// Receiver's port.
    pub(crate) destination_port: Option<Quantity<PortsUnit>>,
    /// Code point (RFC 2474).
    pub(crate) dscp: Option<Quantity<DscpUnit>>,
    /// IPv6 flow label, 0 to 1048575.
    pub(crate) flow_label: Option<Count>,
    /// Priority in the 802.1Q tag, 0 to 7; simulated frames have no tag.
    pub(crate) vlan_priority: Option<Count>,
    /// Priority among several matching filters, 0 to 65535: the highest decides, and the first among equals. 0 unless
    /// given.
    pub(crate) priority: Option<Count>,
}
