//! What the policy of a host can set on a machine. It runs nothing: no packet of a scenario moves.

use scenario::capability::{
    CHANGES, Capability, EXPECTATIONS, IMPAIRMENTS, KERNEL_CONGESTION, KERNELS, LOSSLESS, MPI, MTU,
    NODES, PHASES, PORTS, PROBES, PROCESSOR, PROFILES, PROGRAMS, QDISCS, TCP, WINDOWS,
};

/// A host's policy on this machine.
pub const CAPABILITIES: &[Capability] = &[
    Capability::lacking(&QDISCS, "its disciplines are always qdiscs"),
    Capability::limited(&MPI, "phases of its programs, if this kernel has them"),
    Capability::lacking(&KERNELS, "the machine keeps its kernel"),
    Capability::full(&KERNEL_CONGESTION),
    Capability::lacking(&PROGRAMS, "it starts none"),
    Capability::lacking(&MTU, "a device keeps its MTU"),
    Capability::lacking(&PORTS, "programs choose their ports"),
    Capability::limited(&TCP, "those that a kernel has for each route, or for all connections"),
    Capability::lacking(&PROFILES, "TCP is the kernel's"),
    Capability::lacking(&PROCESSOR, "the machine takes the time that it takes"),
    Capability::lacking(&WINDOWS, "nothing changes later"),
    Capability::lacking(&PHASES, "see `suimon mpi enable`"),
    Capability::limited(&LOSSLESS, "PAUSE by priority at the machine's devices"),
    Capability::lacking(&NODES, "only the host is this machine"),
    Capability::lacking(&IMPAIRMENTS, "the real links are as they are"),
    Capability::lacking(&CHANGES, "nothing changes later"),
    Capability::lacking(&PROBES, "see `suimon host metrics`"),
    Capability::lacking(&EXPECTATIONS, "nothing is measured"),
];
