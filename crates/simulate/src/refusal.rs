//! Why a plan cannot be simulated.

use congestion::Algorithm;
use scenario::Plan;
use scenario::plan::{Flow, Transport};

/// Why a plan cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A discipline or conditioner refused its parameters.
    #[error(transparent)]
    World(#[from] engine::Refusal),
    /// It takes a real kernel.
    #[error("{message}\n  help: {help}")]
    Real {
        /// What takes one.
        message: String,
        /// What to do.
        help: String,
    },
}

/// Refuses what only a real kernel runs.
///
/// # Errors
/// [`Refusal::Real`] for the first of it.
pub fn check(plan: &Plan) -> Result<(), Refusal> {
    let host = plan.nodes.iter().find(|node| !node.programs.is_empty());
    if let Some(host) = host {
        return Err(program(&format!("host `{}`", host.name)));
    }
    plan.flows.iter().try_for_each(check_flow)
}

fn check_flow(flow: &Flow) -> Result<(), Refusal> {
    match &flow.transport {
        Transport::Program(_) => Err(program(&format!("flow `{}`", flow.name))),
        Transport::Tcp(tcp) => match &tcp.kernel_congestion {
            Some(name) => Err(congestion(flow, name)),
            None => Ok(()),
        },
        Transport::Udp(_) => Ok(()),
    }
}

fn program(whose: &str) -> Refusal {
    Refusal::Real {
        message: format!("{whose} runs a program, which takes a real kernel"),
        help: "run it with --on lab".into(),
    }
}

fn congestion(flow: &Flow, name: &str) -> Refusal {
    let ours: Vec<&str> = Algorithm::all().iter().map(Algorithm::name).collect();
    Refusal::Real {
        message: format!("flow `{}` has the kernel's own congestion control `{name}`", flow.name),
        help: format!("run it with --on lab, or give it one of {}", ours.join(", ")),
    }
}
