//! Changes during the run: of a port, or of connections' options.

use std::ops::Range;

use base::{Instant, Rate};
use network::PortId;
use traffic::qdisc;
use traffic::reservation::Request;
use transport::{OptionError, SocketOption};

use super::Plan;

/// A change during the run.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its name in the file.
    pub name: String,
    /// The time.
    pub when: Instant,
    /// The target, with the change.
    pub target: Target,
}

/// The target of a change.
#[derive(Clone, Debug)]
pub enum Target {
    /// A port, or its queue.
    Port(PortId, Action),
    /// Socket options of connections.
    Sockets(Options),
}

/// A change of a port.
#[derive(Clone, Debug)]
pub enum Action {
    /// Sets these parameters, of the current discipline or of another one.
    Switch(qdisc::Parameters),
    /// Replaces the discipline with a plain FIFO.
    Disable,
    /// Restores the discipline.
    Enable,
    /// Requests a class.
    Reserve(Request),
    /// Releases the class of that name.
    Release(String),
    /// Sets the line rate from the next frame on.
    Rate(Rate),
}

/// New options of connections.
#[derive(Clone, Debug)]
pub struct Options {
    /// The connections, by their numbers in [`Plan::flows`].
    pub flows: Range<usize>,
    /// The options, in this order.
    pub list: Vec<SocketOption>,
}

impl Change {
    /// The port, with its change, if the target is a port.
    pub const fn of_port(&self) -> Option<(PortId, &Action)> {
        match &self.target {
            Target::Port(port, action) => Some((*port, action)),
            Target::Sockets(_) => None,
        }
    }
}

impl Options {
    /// Calls `set` for each option of each connection, given its number, at each sending end, given its node. Returns
    /// the refusals, each reason once.
    pub fn set_each(
        &self,
        plan: &Plan,
        mut set: impl FnMut(usize, usize, &SocketOption) -> Result<(), OptionError>,
    ) -> Option<String> {
        let mut refused = Vec::new();
        for number in self.flows.clone() {
            let flow = &plan.flows[number];
            let both = flow.tcp().is_some_and(|tcp| tcp.workload.both_write());
            for node in std::iter::once(flow.from).chain(both.then_some(flow.to)) {
                for option in &self.list {
                    if let Err(error) = set(node, number, option) {
                        let why = format!("{} of `{}`: {error}", option.name(), flow.name);
                        refused.push((option.name(), error, why));
                    }
                }
            }
        }
        // One of a thousand connections represents the others.
        refused.dedup_by(|(a, why, _), (b, before, _)| (a, why) == (b, before));
        let texts: Vec<String> = refused.into_iter().map(|(.., text)| text).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}
