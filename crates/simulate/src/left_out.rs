//! The parts of a plan that a simulation leaves out because they need a real kernel.

use record::summary::group_of;
use scenario::Plan;
use scenario::plan::Flow;

use crate::capability::Lack;

/// Removes the expectations of `plan` on flows that a simulation leaves out. Returns a description of everything
/// left out: programs at hosts, flows (those of a `count` once), expectations.
pub fn leave_out(plan: &mut Plan) -> Vec<String> {
    let mut found = left_out(plan);
    let mut expectations = std::mem::take(&mut plan.expectations);
    expectations.retain(|expectation| {
        let out = |flow: &Flow| !plan.is_simulated(flow) && is_of(&expectation.path, flow);
        let judged = !plan.flows.iter().any(out);
        if !judged {
            found.push(format!("`{}` is not judged", expectation.path));
        }
        judged
    });
    plan.expectations = expectations;
    found
}

/// A description of what a simulation of `plan` leaves out; the flows of a `count` once.
pub fn left_out(plan: &Plan) -> Vec<String> {
    let hosts = plan.nodes.iter().enumerate().filter(|(number, _)| !plan.has_kernel(*number));
    let hosts = hosts.filter(|(_, node)| !node.programs.is_empty());
    let mut found: Vec<String> =
        hosts.map(|(_, host)| format!("host `{}` runs a program", host.name)).collect();
    let mut flows = plan.flows.iter().filter(|flow| !plan.is_simulated(flow)).peekable();
    while let Some(flow) = flows.next() {
        let group = group_of(&flow.name);
        let mut count = 1;
        while group.is_some() && flows.next_if(|next| group_of(&next.name) == group).is_some() {
            count += 1;
        }
        let name = match group {
            Some(group) => format!("flow `{group}` ({count})"),
            None => format!("flow `{}`", flow.name),
        };
        found.push(format!("{name} {}", Lack::of(plan, flow).text(flow)));
    }
    found
}

/// Whether a path of the summary is about `flow`, or about the group that it belongs to.
fn is_of(path: &str, flow: &Flow) -> bool {
    let Some(rest) = path.strip_prefix("flow.").or_else(|| path.strip_prefix("group.")) else {
        return false;
    };
    let names = [Some(flow.name.as_str()), group_of(&flow.name)];
    names
        .into_iter()
        .flatten()
        .any(|name| rest.strip_prefix(name).is_some_and(|quantity| quantity.starts_with('.')))
}
