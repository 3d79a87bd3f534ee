//! The sockets of all flows, opened in their hosts' namespaces before the run begins.

use std::collections::BTreeMap;

use applications::mpi::Phases;
use applications::results::Results;
use base::Instant;
use engine::GoodputMarks;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use record::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::{Flow, PlannedApplication, Tcp, Transport};
use transport::Info;

use super::applications::{Applications, Socket};
use super::tcp::{self, Listener};
use super::udp;
use super::{socket, stack};
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::{Error, Namespace, sysctl};

/// A running flow.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) start: Instant,
    marks: GoodputMarks,
    /// Its sockets; `None` for a program's flow, for which only the times are known, and if its hosts are elsewhere.
    pub(super) sockets: Option<FlowSockets>,
}

/// The sockets at the two ends of a flow, for the ends that are here.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowSockets {
    /// The socket numbers, the one at `from` first.
    pub(super) ends: [Option<u32>; 2],
    /// The socket whose application reads the flow's data.
    reader: Option<u32>,
}

impl Agent {
    pub(super) fn wake(&mut self, now: Instant, applications: &Applications) {
        self.marks.note(now, self.progress(applications).0);
    }

    pub(super) fn next_wakeup(&self) -> Instant {
        self.marks.next()
    }

    /// The flow's socket at `node` of the plan.
    pub(super) fn socket_at(&self, flow: &Flow, node: usize) -> Option<u32> {
        self.sockets?.ends[usize::from(node != flow.from)]
    }

    pub(super) fn infos(&self, applications: &Applications) -> [Info; 2] {
        self.sockets.map_or_else(Default::default, |sockets| {
            let info = |number: u32| applications.sockets()[number as usize].info();
            sockets.ends.map(|number| number.map_or_else(Info::default, info))
        })
    }

    fn progress(&self, applications: &Applications) -> (u64, Instant) {
        let reader = self.sockets.and_then(|sockets| sockets.reader);
        reader.map_or_else(Default::default, |number| {
            applications.sockets()[number as usize].progress()
        })
    }

    /// The flow's totals up to `now`.
    pub(super) fn totals(
        &self,
        flow: &Flow,
        now: Instant,
        applications: &Applications,
    ) -> FlowTotals {
        let [sender, receiver] = self.infos(applications);
        let ends = self.sockets.map_or([None; 2], |sockets| sockets.ends);
        let datagrams = ends[1].and_then(|far| applications.sockets()[far as usize].datagrams());
        let results = ends.map(|end| {
            let (application, socket) = applications.application(end?)?;
            Results::of(application, socket)
        });
        FlowTotals {
            sender: sender.into(),
            receiver: receiver.into(),
            delay: datagrams.map(|datagrams| Box::new(datagrams.counters().delay())),
            unseen: datagrams.map(|datagrams| datagrams.unseen(sender.segments_sent)),
            ..self.marks.totals(flow, now, self.progress(applications), results)
        }
    }
}

/// All flows, applications and listening sockets.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) agents: Vec<Agent>,
    pub(super) applications: Applications,
    pub(super) listeners: Vec<Listener>,
}

/// A flow's open sockets.
type Ends = [Option<Socket>; 2];

/// Opens all sockets. Moves this thread from namespace to namespace.
pub(super) fn open(
    plan: &Plan,
    hosts: &[Option<Namespace>],
    modules: &Congestion,
    clock: Clock,
) -> Result<Opened, Error> {
    allow_sockets(plan.flows.len())?;
    let mut opened: Vec<Ends> = plan.flows.iter().map(|_| Ends::default()).collect();
    let mut listeners = Vec::new();
    for (number, host) in hosts.iter().enumerate() {
        let Some(host) = host else { continue };
        let here = |flow: &&Flow| flow.from == number || flow.to == number;
        if plan.flows.iter().any(|flow| here(&flow)) {
            host.enter()?;
            stack::set(plan, number, host)?;
            check_phases(plan, number)?;
            reflect_labels(plan, number, host)?;
            open_at(plan, number, modules, &mut opened)?;
            listen_at(plan, number, modules, &mut listeners)?;
        }
    }
    let mut applications = Applications::new(modules.names().clone(), clock);
    let numbers = add_applications(plan, opened, &mut applications);
    let agents = plan.flows.iter().zip(numbers).map(|(flow, ends)| {
        let (start, marks) = (flow.span.start, GoodputMarks::new(plan, flow));
        let reader = ends[usize::from(flow.reader() == flow.to)];
        // A program opens its own sockets, and hosts may be elsewhere.
        let sockets = (ends != [None; 2]).then_some(FlowSockets { ends, reader });
        Agent { start, marks, sockets }
    });
    let agents = agents.collect();
    Ok(Opened { agents, applications, listeners })
}

/// Rejects a job with phases at the host `number` if the host's kernel has no phases.
fn check_phases(plan: &Plan, number: usize) -> Result<(), Error> {
    let here = |flow: &&Flow| flow.from == number || flow.to == number;
    let phased = |flow: &&Flow| flow.workload().is_some_and(|own| own.phases() != Phases::Off);
    let Some(flow) = plan.flows.iter().filter(here).find(phased) else { return Ok(()) };
    if socket::has_phases().map_err(Error::system("open a socket"))? {
        return Ok(());
    }
    let message = format!("flow `{}` has phases, but this kernel does not support them", flow.name);
    Err(Error::unfit(message, "run `suimon mpi enable` as root, or leave out `phases`"))
}

/// Gives the applications of all flows their sockets. Returns the socket numbers of each flow.
fn add_applications(
    plan: &Plan,
    mut opened: Vec<Ends>,
    applications: &mut Applications,
) -> Vec<[Option<u32>; 2]> {
    let mut numbers = vec![[None; 2]; opened.len()];
    for planned in plan.sharing().flat_map(|flows| plan.applications(flows)) {
        let PlannedApplication { application, sockets: ends } = planned;
        let sockets: Option<Vec<Socket>> =
            ends.iter().map(|at| opened[at.flow][at.end].take()).collect();
        // The application's host may be elsewhere.
        let Some(sockets) = sockets else { continue };
        let first = applications.add(application, sockets);
        for (at, number) in ends.into_iter().zip(first..) {
            numbers[at.flow][at.end] = Some(number);
        }
    }
    numbers
}

/// Makes listening sockets at the host `number` reflect the peer's flow label, if any flow has one.
fn reflect_labels(plan: &Plan, number: usize, host: &Namespace) -> Result<(), Error> {
    let labelled = |flow: &Flow| flow.to == number && flow.header.flow_label != 0;
    if plan.flows.iter().any(labelled) {
        sysctl::set(host, "net.ipv6.flowlabel_consistency", "0")?;
    }
    Ok(())
}

/// Opens the flows' ends at the host `number`, where this thread is, except listening sockets.
fn open_at(
    plan: &Plan,
    number: usize,
    modules: &Congestion,
    opened: &mut [Ends],
) -> Result<(), Error> {
    for (flow, ends) in plan.flows.iter().zip(opened) {
        match &flow.transport {
            Transport::Tcp(tcp) if flow.from == number => {
                ends[0] = Some(tcp::open(flow, tcp, modules)?.into());
            }
            Transport::Tcp(tcp) if flow.to == number => {
                ends[1] = Some(tcp::expect(flow, tcp, modules).into());
            }
            Transport::Udp(sender) if flow.from == number => {
                ends[0] = Some(udp::open_source(flow, &sender.datagrams())?.into());
            }
            Transport::Udp(_) if flow.to == number => {
                ends[1] = Some(udp::open_sink(flow)?.into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Listens at the host `number`, where this thread is, at every destination port of a connection.
fn listen_at(
    plan: &Plan,
    number: usize,
    modules: &Congestion,
    listeners: &mut Vec<Listener>,
) -> Result<(), Error> {
    let mut ports: BTreeMap<u16, Vec<(u32, &Flow, &Tcp)>> = BTreeMap::new();
    for (flow_number, flow) in (0..).zip(&plan.flows).filter(|(_, flow)| flow.to == number) {
        if let (Some(tcp), Some(header_ports)) = (flow.tcp(), flow.header.ports) {
            ports.entry(header_ports.destination).or_default().push((flow_number, flow, tcp));
        }
    }
    for flows in ports.values() {
        listeners.push(Listener::open(flows, modules)?);
    }
    Ok(())
}

/// Raises the limit on open files to the maximum. A flow needs two files, and the rest of the lab some more.
fn allow_sockets(flows: usize) -> Result<(), Error> {
    const OTHERS: u64 = 1_000;
    let needed = 2 * flows as u64 + OTHERS;
    let what = "open two sockets for every flow";
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(Error::system(what))?;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed && setrlimit(Resource::RLIMIT_NOFILE, needed, needed).is_err() {
        let help = format!("allow {needed} open files: ulimit -Hn {needed}");
        return Err(Error::lacking(what, std::io::Error::from_raw_os_error(libc::EMFILE), help));
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed)).map_err(Error::system(what))
}
