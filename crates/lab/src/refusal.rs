//! What of a scenario the lab cannot run on any machine, known before anything is built: `suimon check` and a run
//! both ask here.

use scenario::Plan;
use scenario::plan::NodeKind;

use crate::{Error, agents, veth};

/// Refuses what no kernel could run. What this machine lacks only a run can tell.
///
/// # Errors
/// `Unfit`, for the first of it.
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

/// The same refusal, with the link that it is of.
fn at_link(error: Error, link: &str) -> Error {
    match error {
        Error::Unfit { message, help } => Error::unfit(format!("link `{link}`: {message}"), help),
        other => other,
    }
}
