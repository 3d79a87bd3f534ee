//! Which class a packet belongs to: an ordered list of filters, of which the first that matches
//! decides.

use alloc::string::String;
use alloc::vec::Vec;

use crate::packet::{FlowId, HostId, Packet};

/// What a packet must look like. What is `None` is not looked at, so the default matches
/// everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The host that sent it.
    pub source: Option<HostId>,
    /// The host it is for.
    pub destination: Option<HostId>,
    /// Its flow.
    pub flow: Option<FlowId>,
}

impl Filter {
    /// Whether `packet` looks like this.
    pub fn matches(&self, packet: &Packet) -> bool {
        self.source.is_none_or(|host| host == packet.source)
            && self.destination.is_none_or(|host| host == packet.destination)
            && self.flow.is_none_or(|flow| flow == packet.flow)
    }
}

/// A filter and the name of the class it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What the packet must look like.
    pub filter: Filter,
    /// The class for such packets.
    pub class: String,
}

/// The rules with their classes' names resolved to indices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classifier {
    rules: Vec<(Filter, usize)>,
}

impl Classifier {
    /// A classifier that tries `rules` in this order.
    pub(crate) const fn new(rules: Vec<(Filter, usize)>) -> Self {
        Self { rules }
    }

    /// The class of the first rule that matches; `None` if none does.
    pub(crate) fn class_of(&self, packet: &Packet) -> Option<usize> {
        self.rules.iter().find(|(filter, _)| filter.matches(packet)).map(|&(_, class)| class)
    }
}
