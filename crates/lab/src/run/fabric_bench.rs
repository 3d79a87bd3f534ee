//! A scenario's hosts and fabric without any flow, for who measures what the fabric costs.

use std::time;

use scenario::Plan;

use super::{Options, attachments, memory};
use crate::clock::Clock;
use crate::device::Kind;
use crate::error::Error;
use crate::event_channel::Listener;
use crate::fabric::Fabric;
use crate::hosts::Hosts;
use crate::namespace::Namespace;

/// Hosts and the fabric between them, moved a step at a time by the calling thread.
#[derive(Debug)]
pub struct FabricBench {
    fabric: Fabric,
    hosts: Hosts,
    /// What the fabric tells goes here.
    _listener: Listener,
}

impl FabricBench {
    /// Makes the hosts of `plan`, whose kernels receive where the fabric writes, and the fabric.
    ///
    /// # Errors
    /// As [`super::run`].
    pub fn build(plan: &Plan, kind: Kind) -> Result<Self, Error> {
        let hosts = Hosts::new(plan, &[])?;
        let mut memory = memory(plan)?;
        let options = Options { kind: Some(kind), ..Options::default() };
        let (attachments, _) = attachments(plan, &hosts, options, &mut memory, &mut Vec::new())?;
        let mut listener = Listener::new();
        let clock = Clock::starting_in(time::Duration::ZERO);
        let fabric = Fabric::new(plan, clock, memory, attachments, listener.sender())?;
        Ok(Self { fabric, hosts, _listener: listener })
    }

    /// The namespace of a node that is a host.
    pub fn host(&self, node: usize) -> Option<&Namespace> {
        self.hosts.namespaces.get(node)?.as_ref()
    }

    /// Does what is due, and takes in what came; how many frames it sent to hosts.
    ///
    /// # Errors
    /// If an interface is gone.
    pub fn step(&mut self) -> Result<usize, Error> {
        self.fabric.step()
    }
}
