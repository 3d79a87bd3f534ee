//! Why a plan cannot be simulated.

use congestion::Algorithm;
use frames::rules::by_headers;
use guest::CARDS_MAX;
use guest::network::sockets;
use network::PortId;
use scenario::Plan;
use scenario::plan::{End, Flow, Link, Target, Transport};

/// Why a plan cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A discipline or conditioner refused its parameters.
    #[error(transparent)]
    World(#[from] engine::Refusal),
    /// A guest kernel does not start.
    #[error(transparent)]
    Guest(#[from] guest::Error),
    /// Flows of guest kernels set an algorithm differently.
    #[error("{message}\n  help: {help}")]
    Parameters {
        /// The conflict.
        message: String,
        /// The advice.
        help: String,
    },
    /// The plan needs a real kernel, and nothing is left to simulate.
    #[error("{message}\n  help: {help}")]
    Real {
        /// The part that needs one.
        message: String,
        /// The advice.
        help: String,
    },
}

/// Refuses a plan with parts that only a real kernel runs; see [`crate::left_out`] for the parts that a simulation
/// leaves out.
///
/// # Errors
/// [`Refusal::Real`] for the first such part, and for ranks of an MPI job that are not all modelled or all in one
/// guest: another process cannot read their message headers.
pub fn check(plan: &Plan) -> Result<(), Refusal> {
    qdiscs(plan)?;
    let mut guests = vec![None; plan.nodes.len()];
    for (guest, cards) in sockets(plan, CARDS_MAX).iter().enumerate() {
        cards.iter().for_each(|card| guests[card.node] = Some(guest));
    }
    let apart = |flow: &&Flow| flow.job().is_some() && guests[flow.from] != guests[flow.to];
    if let Some(flow) = plan.flows.iter().find(apart) {
        return Err(ranks(plan, flow));
    }
    if plan.flows.iter().any(|flow| plan.is_simulated(flow)) {
        return Ok(());
    }
    if let Some(flow) = plan.flows.first() {
        return Err(of_flow(plan, flow));
    }
    let (mut nodes, has_kernel) = (plan.nodes.iter().enumerate(), |number| plan.has_kernel(number));
    match nodes.find(|(number, node)| !node.programs.is_empty() && !has_kernel(*number)) {
        Some((_, host)) => Err(program(&format!("host `{}`", host.name))),
        None => Ok(()),
    }
}

fn of_flow(plan: &Plan, flow: &Flow) -> Refusal {
    match &flow.transport {
        _ if plan.has_kernel(flow.from) != plan.has_kernel(flow.to) => half(flow),
        Transport::Tcp(tcp) => {
            congestion(flow, tcp.kernel_congestion.as_deref().unwrap_or_default())
        }
        Transport::Udp(_) | Transport::Program(_) => program(&format!("flow `{}`", flow.name)),
    }
}

/// Refuses disciplines that a kernel cannot have, and changes of them during the run, which do not reach it.
fn qdiscs(plan: &Plan) -> Result<(), Refusal> {
    let changed = |port: PortId| {
        plan.changes.iter().any(|change| matches!(change.target, Target::Port(at, _) if at == port))
    };
    for (number, link) in (0..).zip(&plan.links) {
        for (side, end) in (0..).zip(&link.ends) {
            if plan.has_qdiscs(end.node) {
                qdisc(plan, link, end, changed(PortId(2 * number + side)))?;
            }
        }
    }
    Ok(())
}

/// Refuses the discipline of one port.
fn qdisc(plan: &Plan, link: &Link, end: &End, changed: bool) -> Result<(), Refusal> {
    let host = &plan.nodes[end.node].name;
    let refused = |why: String| Refusal::Real {
        message: format!("host `{host}` has qdisc = \"kernel\", and at link `{}` {why}", link.name),
        help: "change that, or give the host qdisc = \"card\"".into(),
    };
    if end.trace.is_some() {
        return Err(refused("the rate follows a trace, which its kernel does not see".into()));
    }
    if changed {
        return Err(refused(
            "the port changes during the run, which its kernel does not see".into(),
        ));
    }
    by_headers(plan, &end.queue).map(drop).map_err(refused)
}

fn program(whose: &str) -> Refusal {
    Refusal::Real {
        message: format!("{whose} runs a program, which requires a real kernel"),
        help: "give its hosts a `kernel`, or run it with --on lab".into(),
    }
}

fn ranks(plan: &Plan, flow: &Flow) -> Refusal {
    let name = &flow.name;
    if plan.has_kernel(flow.from) != plan.has_kernel(flow.to) {
        return half(flow);
    }
    Refusal::Real {
        message: format!("flow `{name}` belongs to an MPI job with ranks in several guests"),
        help: format!(
            "give hosts with a `kernel` at most {CARDS_MAX} links in total, leave out `kernel`, or run it with --on lab"
        ),
    }
}

fn half(flow: &Flow) -> Refusal {
    Refusal::Real {
        message: format!("flow `{}` has a `kernel` at one end only", flow.name),
        help: "give the host at its other end a `kernel`, too".into(),
    }
}

fn congestion(flow: &Flow, name: &str) -> Refusal {
    let ours: Vec<&str> = Algorithm::all().iter().map(Algorithm::name).collect();
    Refusal::Real {
        message: format!("flow `{}` has the kernel's own congestion control `{name}`", flow.name),
        help: format!(
            "give its hosts a `kernel`, run it with --on lab, or use one of {}",
            ours.join(", ")
        ),
    }
}
