//! The network that flows, changes, probes and judgements refer to.

use std::net::IpAddr;

use base::{Duration, HostId};

use super::interfaces::Interfaces;
use super::links::Links;
use super::nodes::Nodes;
use super::routes::Routes;
use crate::included::Files;

/// The network that flows and probes refer to.
pub(super) struct Network<'f> {
    pub(super) nodes: Nodes<'f>,
    pub(super) interfaces: Interfaces,
    pub(super) links: Links<'f>,
    /// Empty if nodes or links are faulty.
    pub(super) routes: Routes,
    pub(super) duration: Duration,
    pub(super) seed: u64,
    pub(super) files: &'f Files,
}

impl Network<'_> {
    /// The address of a host, or of one of its interfaces.
    pub(super) fn address(&self, HostId(number): HostId) -> IpAddr {
        let (nodes, number) = (&self.nodes.list, number as usize);
        match number.checked_sub(nodes.len()) {
            Some(interface) => self.interfaces.list[interface].address,
            None => nodes[number].address,
        }
    }

    /// The node, or the node of the interface.
    pub(super) fn node(&self, HostId(number): HostId) -> usize {
        let number = number as usize;
        let interface = number.checked_sub(self.nodes.list.len());
        interface.map_or(number, |interface| self.interfaces.list[interface].node)
    }
}

/// The source and the destination of a flow's packets.
pub(super) type Ends = [HostId; 2];
