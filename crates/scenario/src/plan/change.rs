//! Changes while the run goes on: of a port, or of connections' options.

use std::ops::Range;

use network::PortId;
use traffic::reservation::Request;
use traffic::{Instant, Rate, qdisc};
use transport::{OptionError, SocketOption};

use super::Plan;

/// Something that is changed while the run goes on.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its name in the file.
    pub name: String,
    /// When.
    pub when: Instant,
    /// What.
    pub target: Target,
}

/// What is changed.
#[derive(Clone, Debug)]
pub enum Target {
    /// That port, or its queue.
    Port(PortId, Action),
    /// Socket options of connections.
    Sockets(Options),
}

/// What is done to a port.
#[derive(Clone, Debug)]
pub enum Action {
    /// It gets these parameters, of the discipline that it has or of another.
    Switch(qdisc::Parameters),
    /// A plain FIFO takes the discipline's place.
    Disable,
    /// The discipline takes its place again.
    Enable,
    /// A class is asked for.
    Reserve(Request),
    /// The class of that name is given back.
    Release(String),
    /// The wire has this rate from the next frame on.
    Rate(Rate),
}

/// Options that connections get.
#[derive(Clone, Debug)]
pub struct Options {
    /// The connections, by their numbers in [`Plan::flows`].
    pub flows: Range<usize>,
    /// What is set, in this order.
    pub list: Vec<SocketOption>,
}

impl Change {
    /// The port that it changes, and how, if it changes one.
    pub const fn of_port(&self) -> Option<(PortId, &Action)> {
        match &self.target {
            Target::Port(port, action) => Some((*port, action)),
            Target::Sockets(_) => None,
        }
    }
}

impl Options {
    /// Has `set` set each option of each connection, given its number, at each end that writes, given its
    /// node. Returns what was refused, each reason once.
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
        // One of a thousand connections tells what the others would.
        refused.dedup_by(|(a, why, _), (b, before, _)| (a, why) == (b, before));
        let texts: Vec<String> = refused.into_iter().map(|(.., text)| text).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}
