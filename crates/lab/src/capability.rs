//! What the lab can do on any machine. What one machine lacks is found by a run, or by `suimon doctor`.

use base::Fault;
use scenario::Plan;
use scenario::capability::{
    CHANGES, Capability, EXPECTATIONS, IMPAIRMENTS, KERNEL_CONGESTION, KERNELS, LOSSLESS, MPI, MTU,
    NODES, PHASES, PORTS, PROBES, PROCESSOR, PROFILES, PROGRAMS, QDISCS, TCP, WINDOWS,
};
use scenario::plan::NodeKind;

use crate::veth;

pub use crate::agents::{check_ports, check_stacks};

/// The lab: this machine's kernel at every host.
pub const CAPABILITIES: &[Capability] = &[
    Capability::lacking(&QDISCS, "the fabric has the disciplines, not the hosts' kernel"),
    Capability::full(&MPI),
    Capability::lacking(&KERNELS, "every host has this machine's kernel"),
    Capability::full(&KERNEL_CONGESTION),
    Capability::full(&PROGRAMS),
    Capability::limited(&MTU, "68 to 65535 bytes at a host, 1280 or more with IPv6")
        .refusing(check_mtus),
    Capability::lacking(&PORTS, "sockets differ in an address or a port").refusing(check_ports),
    Capability::limited(&TCP, "those that a kernel has for each connection, or for a whole host")
        .refusing(check_stacks),
    Capability::lacking(&PROFILES, "TCP is the kernel's"),
    Capability::lacking(&PROCESSOR, "the machine takes the time that it takes"),
    Capability::lacking(&WINDOWS, "Linux has no socket option for them: such a change is reported"),
    Capability::limited(&PHASES, "if `suimon mpi enable` has added them to this machine's kernel"),
    Capability::limited(&LOSSLESS, "pauses hold packets in the fabric, not in the hosts' kernels"),
    Capability::full(&NODES),
    Capability::full(&IMPAIRMENTS),
    Capability::full(&CHANGES),
    Capability::limited(&PROBES, "of TCP, what the kernel reports of a connection"),
    Capability::full(&EXPECTATIONS),
];

/// Refuses an MTU that no interface of Linux can have.
///
/// # Errors
/// The first link with one.
pub fn check_mtus(plan: &Plan) -> Result<(), Fault> {
    for link in &plan.links {
        for end in &link.ends {
            let node = &plan.nodes[end.node];
            if matches!(node.kind, NodeKind::Host(_)) {
                let mtu = u32::try_from(link.config.mtu.0).unwrap_or(u32::MAX);
                veth::check_mtu(mtu, node.address).map_err(|Fault { message, help, .. }| {
                    Fault::usage(format!("link `{}`: {message}", link.name), help)
                })?;
            }
        }
    }
    Ok(())
}
