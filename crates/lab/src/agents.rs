//! The plan's flows on real sockets: agents that write, read, send datagrams and count them, all on one thread of
//! this process. Their sockets are in the hosts' namespaces; the thread need not be.

mod applications;
mod connection;
mod end;
mod info;
mod opening;
mod socket;
mod stack;
mod tcp;
mod udp;
mod worker;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use base::Fault;
use base::packet::Protocol;
use base::{Duration, FlowId, Instant};
use nix::sys::eventfd::{EfdFlags, EventFd};
use record::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::Transport;
use transport::Info;

use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::{Error, Namespace, threads};
use socket::Route;
pub use stack::check as check_stacks;
use worker::Worker;

/// The state of a flow at some time.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The time of the sample.
    pub now: Instant,
    /// The flow.
    pub flow: FlowId,
    /// The states of the flow's sender and receiver. Fields that `TCP_INFO` lacks are zero.
    pub ends: [Info; 2],
}

/// The results of the agents.
#[derive(Debug)]
pub struct Ended {
    /// The totals of each flow, in the order of the plan.
    pub flows: Vec<FlowTotals>,
    /// The totals at the start and the end of the measured period, if the run reached them.
    pub snapshots: Vec<Vec<FlowTotals>>,
    /// The changes of connections that were due: number in the plan, and the refused part, if any.
    pub changes: Vec<(usize, Option<String>)>,
    /// The time for which the agents' thread waited for a CPU; `None` if this kernel does not report it. The
    /// hosts' kernels run on the same CPU.
    pub waited: Option<Duration>,
}

/// Rejects a plan whose sockets no kernel could open: two flows between the same addresses and ports.
///
/// # Errors
/// The first two such flows.
pub fn check_ports(plan: &Plan) -> Result<(), Fault> {
    let mut known = HashMap::new();
    for flow in &plan.flows {
        let protocol = match flow.transport {
            Transport::Tcp(_) => Protocol::Tcp,
            Transport::Udp(_) => Protocol::Udp,
            // A program chooses its ports itself.
            Transport::Program(_) => continue,
        };
        let Route { source, destination } = Route::of(flow)?;
        if let Some(other) = known.insert((protocol as u8, source, destination), &flow.name) {
            let message = format!(
                "flows `{other}` and `{}` both go from {source} to {destination}",
                flow.name
            );
            return Err(Fault::usage(message, "give one of them a different source_port"));
        }
    }
    Ok(())
}

/// The running agents.
#[derive(Debug)]
pub struct Agents {
    thread: JoinHandle<Result<Ended, Error>>,
    stop: Arc<EventFd>,
}

impl Agents {
    /// Opens the sockets of the plan's flows in `hosts`, by node number, and starts the thread. The thread starts
    /// each flow at its time by `clock` and passes the samples for the plan's probes to `samples`.
    ///
    /// # Errors
    /// If a socket cannot be opened, or the plan's ports clash at a host.
    pub fn start(
        plan: &Plan,
        hosts: &[Option<Namespace>],
        clock: Clock,
        modules: &Congestion,
        samples: impl FnMut(Sample) + Send + 'static,
    ) -> Result<Self, Error> {
        // Opening sockets moves a thread into the namespaces; this must not be the caller's thread.
        let opened = thread::scope(|scope| {
            let opening = scope.spawn(|| opening::open(plan, hosts, modules, clock));
            opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let start = || {
            let stop = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?);
            let worker = Worker::new(Arc::new(plan.clone()), opened, clock, &stop, samples)?;
            Ok((worker, stop))
        };
        let (worker, stop) = start().map_err(Error::system::<nix::Error>("set up the agents"))?;
        let thread = thread::Builder::new()
            .name("agents".into())
            .spawn(move || {
                threads::become_agent();
                worker.run()
            })
            .map_err(Error::system("start the agents' thread"))?;
        Ok(Self { thread, stop })
    }

    /// Stops the agents and returns their results. Connections that are still open are reset.
    ///
    /// # Errors
    /// If the agents failed.
    pub fn finish(self) -> Result<Ended, Error> {
        self.stop.write(1).map_err(Error::system("stop the agents"))?;
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
