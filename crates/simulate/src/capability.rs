//! What the simulator can do, with modelled hosts and with guest kernels.

use applications::workload::config::Sharing;
use base::Fault;
use congestion::Algorithm;
use frames::rules::by_headers;
use guest::CARDS_MAX;
use guest::network::sockets;
use network::PortId;
use scenario::Plan;
use scenario::capability::{
    CHANGES, Capability, EXPECTATIONS, IMPAIRMENTS, KERNEL_CONGESTION, KERNELS, LOSSLESS, MPI, MTU,
    NODES, PHASES, PORTS, PROBES, PROCESSOR, PROFILES, PROGRAMS, QDISCS, TCP, WINDOWS,
};
use scenario::plan::{End, Flow, Link, Target, Transport};

/// The simulator. Parts that only a real kernel runs are left out, unless nothing else remains: [`crate::left_out`].
pub const CAPABILITIES: &[Capability] = &[
    Capability::limited(
        &QDISCS,
        "at hosts with a kernel, with filters that headers decide, and without changes",
    )
    .refusing(check_qdiscs),
    Capability::limited(&MPI, "all ranks are modelled, or all are in one guest")
        .refusing(check_ranks),
    Capability::limited(&KERNELS, "at both ends of a flow, or at one end of a built-in one")
        .refusing(|plan| nothing_left(plan, &Lack::OneKernel)),
    Capability::limited(&KERNEL_CONGESTION, "at hosts with a kernel; left out elsewhere")
        .refusing(|plan| nothing_left(plan, &Lack::Congestion)),
    Capability::limited(&PROGRAMS, "at hosts with a kernel; left out elsewhere").refusing(programs),
    Capability::full(&MTU),
    Capability::full(&PORTS),
    Capability::full(&TCP),
    Capability::full(&PROFILES),
    Capability::full(&PROCESSOR),
    Capability::full(&WINDOWS),
    Capability::full(&PHASES),
    Capability::full(&LOSSLESS),
    Capability::full(&NODES),
    Capability::full(&IMPAIRMENTS),
    Capability::full(&CHANGES),
    Capability::full(&PROBES),
    Capability::full(&EXPECTATIONS),
];

/// What a flow needs that a simulation of its hosts lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// A kernel at its other end.
    OneKernel,
    /// The congestion control of a kernel.
    Congestion,
    /// A kernel that runs a program.
    Program,
}

impl Lack {
    /// The reason why the simulator leaves `flow` out.
    pub(crate) fn of(plan: &Plan, flow: &Flow) -> Self {
        match &flow.transport {
            _ if plan.has_kernel(flow.from) != plan.has_kernel(flow.to) => Self::OneKernel,
            Transport::Tcp(_) => Self::Congestion,
            Transport::Udp(_) | Transport::Program(_) => Self::Program,
        }
    }

    /// What the flow has or does, for a sentence that begins with its name.
    pub(crate) fn text(self, flow: &Flow) -> String {
        let control = || flow.tcp().and_then(|tcp| tcp.kernel_congestion.as_deref());
        match self {
            Self::OneKernel => "has a `kernel` at one end only".into(),
            Self::Congestion => {
                let name = control().unwrap_or_default();
                format!("has the kernel's own congestion control `{name}`")
            }
            Self::Program => "runs a program".into(),
        }
    }

    /// The change that helps.
    fn obstacle(self, flow: &Flow) -> Fault {
        let message = format!("flow `{}` {}", flow.name, self.text(flow));
        match self {
            Self::OneKernel => {
                Fault::usage(message, "give the host at its other end a `kernel`, too")
            }
            Self::Congestion => {
                let ours: Vec<&str> = Algorithm::all().iter().map(Algorithm::name).collect();
                let help = "give its hosts a `kernel`, run it with --on lab, or use one of";
                Fault::usage(message, format!("{help} {}", ours.join(", ")))
            }
            Self::Program => program(&message),
        }
    }
}

/// Refuses a plan whose first flow lacks `lack`, if no flow of it can be simulated.
fn nothing_left(plan: &Plan, lack: &Lack) -> Result<(), Fault> {
    match plan.flows.first() {
        Some(flow)
            if Lack::of(plan, flow) == *lack
                && !plan.flows.iter().any(|flow| plan.is_simulated(flow)) =>
        {
            Err(lack.obstacle(flow))
        }
        _ => Ok(()),
    }
}

/// Refuses programs if nothing else remains to be simulated.
fn programs(plan: &Plan) -> Result<(), Fault> {
    if !plan.flows.is_empty() {
        return nothing_left(plan, &Lack::Program);
    }
    let mut nodes = plan.nodes.iter().enumerate();
    match nodes.find(|(number, node)| !node.programs.is_empty() && !plan.has_kernel(*number)) {
        Some((_, host)) => Err(program(&format!("host `{}` runs a program", host.name))),
        None => Ok(()),
    }
}

fn program(message: &str) -> Fault {
    Fault::usage(
        format!("{message}, which requires a real kernel"),
        "give its hosts a `kernel`, or run it with --on lab",
    )
}

/// Refuses ranks of an MPI job that are not all modelled or all in one guest: another process cannot read their
/// message headers.
///
/// # Errors
/// The first flow between two such ranks.
pub fn check_ranks(plan: &Plan) -> Result<(), Fault> {
    let mut guests = vec![None; plan.nodes.len()];
    for (guest, cards) in sockets(plan, CARDS_MAX).iter().enumerate() {
        cards.iter().for_each(|card| guests[card.node] = Some(guest));
    }
    let shared = |flow: &Flow| flow.workload().is_some_and(|own| own.sharing() == Sharing::All);
    let apart = |flow: &&Flow| shared(flow) && guests[flow.from] != guests[flow.to];
    let Some(flow) = plan.flows.iter().find(apart) else { return Ok(()) };
    if plan.has_kernel(flow.from) != plan.has_kernel(flow.to) {
        return Err(Lack::OneKernel.obstacle(flow));
    }
    Err(Fault::usage(
        format!("flow `{}` belongs to an MPI job with ranks in several guests", flow.name),
        format!(
            "give hosts with a `kernel` at most {CARDS_MAX} links in total, leave out `kernel`, or run it with --on lab"
        ),
    ))
}

/// Refuses disciplines that a kernel cannot have, and changes of them during the run, which do not reach it.
///
/// # Errors
/// The first such discipline.
pub fn check_qdiscs(plan: &Plan) -> Result<(), Fault> {
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
fn qdisc(plan: &Plan, link: &Link, end: &End, changed: bool) -> Result<(), Fault> {
    let host = &plan.nodes[end.node].name;
    let refused = |why: String| {
        Fault::usage(
            format!("host `{host}` has qdisc = \"kernel\", and at link `{}` {why}", link.name),
            "change that, or give the host qdisc = \"card\"",
        )
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
