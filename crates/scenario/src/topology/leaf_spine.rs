//! A leaf-spine fabric: a Clos network of two layers.

use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{Joins, Parts, Shape, number};
use crate::diagnostic::Problems;
use crate::value::{Count, Quantity, RateUnit};

/// Hosts NAME-host at the leaves NAME-leaf, the first of them at NAME-leaf.1, and the spines NAME-spine. The links
/// are NAME-access to the hosts and NAME-fabric between leaves and spines.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeafSpine {
    /// Number of leaves; 4 unless given.
    pub(crate) leaves: Option<Count>,
    /// Number of spines; 2 unless given.
    pub(crate) spines: Option<Count>,
    /// Number of hosts at each leaf; 4 unless given.
    pub(crate) hosts: Option<Count>,
    /// Line rate between leaves and spines; "10 Gbit/s", or `rate`, unless given.
    pub(crate) uplink: Option<Quantity<RateUnit>>,
}

impl Shape for LeafSpine {
    fn build(&self, parts: &mut Parts<'_>, problems: &mut Problems) -> Option<()> {
        let leaves = number(self.leaves.as_ref(), 4, (1, 1_024), problems);
        let spines = number(self.spines.as_ref(), 2, (1, 1_024), problems);
        let hosts = number(self.hosts.as_ref(), 4, (1, 1_024), problems);
        let (leaves, spines, hosts) = (leaves?, spines?, hosts?);
        parts.hosts("host", leaves * hosts);
        parts.routers("leaf", leaves);
        parts.routers("spine", spines);
        parts.link("access", ["host", "leaf"], Joins::Groups(leaves), None);
        parts.link("fabric", ["leaf", "spine"], Joins::Groups(1), self.uplink.as_ref());
        Some(())
    }
}
