//! A scenario's hosts and fabric without flows, to measure the cost of the fabric.

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

/// Hosts and the fabric between them, run step by step by the calling thread.
#[derive(Debug)]
pub struct FabricBench {
    fabric: Fabric,
    hosts: Hosts,
    /// The receiving end of the fabric's events.
    _listener: Listener,
}

impl FabricBench {
    /// Creates the hosts of `plan` and the fabric. The hosts' kernels receive on the CPU where the fabric writes.
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

    /// The namespace of a host; `None` for other nodes.
    pub fn host(&self, node: usize) -> Option<&Namespace> {
        self.hosts.namespaces.get(node)?.as_ref()
    }

    /// Handles due events and received frames. Returns the number of frames sent to hosts.
    ///
    /// # Errors
    /// If an interface is gone.
    pub fn step(&mut self) -> Result<usize, Error> {
        self.fabric.step()
    }
}
