//! The simulator with a real kernel at every host: virtual time, the kernel's TCP.

use guest::Kernel;
use network::host;
use scenario::Plan;
use scenario::capability::{
    CHANGES, Capability, EXPECTATIONS, IMPAIRMENTS, KERNEL_CONGESTION, KERNELS, LOSSLESS, MPI, MTU,
    NODES, PHASES, PORTS, PROBES, PROCESSOR, PROFILES, PROGRAMS, QDISCS, TCP, WINDOWS,
};
use scenario::plan::NodeKind;
use simulate::capability;

use super::interface::{Description, Driver, Options, Request, Role, Run, Stacks};
use super::simulator::Simulator;
use crate::error::Error;

/// The simulator with that kernel at every host.
#[derive(Debug)]
pub struct Guests(pub host::Kernel);

static LINUX_6_12: Description = Description {
    name: host::Kernel::Linux6_12.name(),
    manifest: "kernel",
    help: "Simulator with a real kernel (from `suimon linux build`) at every host: virtual time, the kernel's TCP",
    subject: host::Kernel::Linux6_12.name(),
    doing: "running kernels for",
    place: "with real kernels in the simulator",
    suffix: "-kernel",
    stacks: Stacks::Guests,
    is_real_time: false,
    role: Role::Run,
    topic: Some("linux"),
    capabilities: CAPABILITIES,
};

const CAPABILITIES: &[Capability] = &[
    Capability::limited(&QDISCS, "with filters that headers decide, and without changes")
        .refusing(capability::check_qdiscs),
    Capability::limited(&MPI, "all ranks are in one guest").refusing(capability::check_ranks),
    Capability::full(&KERNELS),
    Capability::full(&KERNEL_CONGESTION),
    Capability::full(&PROGRAMS),
    Capability::limited(&MTU, "68 to 65535 bytes at a host, 1280 or more with IPv6")
        .refusing(::lab::capability::check_mtus),
    Capability::lacking(&PORTS, "sockets differ in an address or a port")
        .refusing(::lab::capability::check_ports),
    Capability::limited(&TCP, "those that a kernel has for each connection, or for a whole host")
        .refusing(::lab::capability::check_stacks),
    Capability::lacking(&PROFILES, "TCP is the kernel's"),
    Capability::lacking(&PROCESSOR, "a kernel computes in no time"),
    Capability::lacking(&WINDOWS, "Linux has no socket option for them: such a change is reported"),
    Capability::full(&PHASES),
    Capability::full(&LOSSLESS),
    Capability::full(&NODES),
    Capability::full(&IMPAIRMENTS),
    Capability::full(&CHANGES),
    Capability::limited(&PROBES, "of TCP, what the kernel reports of a connection"),
    Capability::full(&EXPECTATIONS),
];

impl Driver for Guests {
    fn description(&self) -> &'static Description {
        match self.0 {
            host::Kernel::Linux6_12 => &LINUX_6_12,
        }
    }

    fn prepare(&self, plan: &mut Plan, options: Options) {
        for node in &mut plan.nodes {
            if let NodeKind::Host(host) = &mut node.kind {
                host.kernel = Some(self.0);
                host.qdisc = options.qdisc.or(host.qdisc);
            }
        }
    }

    fn left_out(&self, plan: &Plan) -> Vec<String> {
        Simulator.left_out(plan)
    }

    fn leave_out(&self, plan: &mut Plan) -> Vec<String> {
        Simulator.leave_out(plan)
    }

    fn kernel(&self, plan: &Plan) -> Result<Option<Kernel>, Error> {
        Simulator.kernel(plan)
    }

    fn run(&self, request: Request<'_>) -> Result<Run, Error> {
        Simulator.run(request)
    }
}
