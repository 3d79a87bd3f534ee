//! Links and nodes that the summary counts rather than lists.

use crate::Named;
use crate::declare::measured;

measured! {
    #[derive(Default)]
    /// Links and nodes of a topology or a `count` that have no entry of their own, because nothing went through them.
    pub struct IdleSummary at "";
    /// Takes the number of links, and of nodes, of each topology part or `count`.
    of(links: Vec<(String, u64)>, nodes: Vec<(String, u64)>) {
        /// How many links, by the name of their `count`: `host` for `host.1`, `host.2`, ….
        #[serde(default, skip_serializing_if = "Named::is_empty")]
        link: Named<u64> = Named(links);
        /// How many nodes, by the name of their `count`; all links of an idle node are idle.
        #[serde(default, skip_serializing_if = "Named::is_empty")]
        node: Named<u64> = Named(nodes);
    }
}

impl IdleSummary {
    /// Whether every link and every node has an entry.
    pub fn is_empty(&self) -> bool {
        self.link.is_empty() && self.node.is_empty()
    }
}
