//! Whether anything in a run is drawn at random: if nothing is, several seeds give one result.

use std::collections::BTreeSet;

use base::setting::Settings;
use traffic::qdisc;

use super::warning::{Kind, Warning};
use crate::demand::Demand;
use crate::plan::{NodeKind, Plan, Transport};

/// Disciplines that draw nothing.
const WITHOUT_CHANCE: [&str; 8] = ["fifo", "psp", "priq", "tbr", "drr", "ets", "hfsc", "codel"];

/// A warning that several seeds change nothing, if that is so for all of `plans`. What may draw something counts as
/// drawing: the warning may be missing, but never wrong.
pub fn idle_seeds<'p>(plans: impl IntoIterator<Item = &'p Plan>) -> Option<Warning> {
    let plans: Vec<&Plan> = plans.into_iter().collect();
    let seeds: BTreeSet<u64> = plans.iter().map(|plan| plan.seed).collect();
    if seeds.len() < 2 || plans.iter().any(|plan| draws(plan)) {
        return None;
    }
    Some(Warning {
        kind: Kind::IdleSeeds,
        about: "seed".into(),
        message: format!(
            "{} seeds give one result, for nothing in the scenario is drawn at random",
            seeds.len()
        ),
        help: "run one of them, or set what draws, such as `link.NAME.loss`, or `stagger = \"exponential 10 ms\"` of flows".into(),
    })
}

/// Whether the results of a run of `plan` may depend on its seed.
fn draws(plan: &Plan) -> bool {
    !plan.changes.is_empty()
        || plan.nodes.iter().any(|node| match &node.kind {
            NodeKind::Host(host) => host.kernel.is_some(),
            NodeKind::Switch(config) => config.ecn.is_some() || config.notifies(),
            _ => false,
        })
        || plan.links.iter().flat_map(|link| &link.ends).any(|end| {
            !end.impairments.is_empty() || end.conditioner.is_some() || queue_draws(&end.queue)
        })
        || plan.flows.iter().any(|flow| is_drawn(&flow.demand) || transport_draws(&flow.transport))
        || has_choice(plan)
}

fn is_drawn(demand: &Demand) -> bool {
    !demand.is_fixed() || demand.bytes.as_ref().is_some_and(|bytes| !bytes.is_fixed())
}

fn queue_draws(queue: &qdisc::Parameters) -> bool {
    let leaf = |settings: &dyn Settings| {
        settings.settings().iter().any(|setting| {
            let value = settings.get(setting.name);
            value.as_ref().and_then(qdisc::Parameters::of).is_some_and(queue_draws)
        })
    };
    let in_class = |classes: &dyn base::setting::Classes| {
        (0..classes.count()).any(|index| leaf(classes.class(index).2))
    };
    !WITHOUT_CHANCE.contains(&queue.name()) || queue.classes().is_some_and(in_class)
}

fn transport_draws(transport: &Transport) -> bool {
    match transport {
        Transport::Tcp(tcp) => tcp.workload.draws(),
        Transport::Udp(udp) => udp.workload.draws(),
        Transport::Program(_) => true,
    }
}

/// Whether some node has several ways of equal cost to an end of a flow. The flow hash takes one of them.
fn has_choice(plan: &Plan) -> bool {
    let ends: BTreeSet<_> =
        plan.flows.iter().flat_map(|flow| [flow.source, flow.destination]).collect();
    let hosts = plan.nodes.len() + plan.interfaces.len();
    ends.iter()
        .any(|end| (0..hosts).any(|node| plan.routes.next_hops(node, end.0 as usize).len() > 1))
}
