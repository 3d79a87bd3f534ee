//! Detects scenarios that the lab cannot run on any machine, before it builds anything. Both `suimon check` and a run
//! use it.

use scenario::Plan;
use scenario::plan::NodeKind;

use crate::{Error, agents, veth};

/// Rejects a plan that no kernel could run. Features that this machine lacks are detected by a run only.
///
/// # Errors
/// `Unfit`, for the first problem.
pub fn check(plan: &Plan) -> Result<(), Error> {
    for link in &plan.links {
        for end in &link.ends {
            let node = &plan.nodes[end.node];
            if matches!(node.kind, NodeKind::Host(_)) {
                let mtu = u32::try_from(link.config.mtu.0).unwrap_or(u32::MAX);
                veth::check_mtu(mtu, node.address).map_err(|error| at_link(error, &link.name))?;
            }
        }
    }
    agents::check(plan)
}

/// Adds the link's name to an error.
fn at_link(error: Error, link: &str) -> Error {
    match error {
        Error::Unfit { message, help } => Error::unfit(format!("link `{link}`: {message}"), help),
        other => other,
    }
}
