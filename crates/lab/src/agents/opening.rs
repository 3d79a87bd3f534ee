//! The sockets of all flows, opened in their hosts' namespaces before the run begins.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use engine::GoodputMarks;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use results::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::{Flow, Tcp, Transport};
use traffic::Instant;
use transport::Info;

use super::applications::{Applications, Socket};
use super::stack;
use super::tcp::{self, Listener};
use super::udp::{self, Datagrams, Scratch};
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::{Error, Namespace, sysctl};

/// A flow at work.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) start: Instant,
    marks: GoodputMarks,
    pub(super) kind: Kind,
}

/// By which protocol.
#[derive(Debug)]
pub(super) enum Kind {
    /// With these sockets, the connecting one first, of which the second reads what counts, or the first.
    Tcp {
        /// Their numbers.
        sockets: [u32; 2],
        /// That whose application reads what counts.
        reader: u32,
    },
    Udp(Box<Datagrams>),
    /// A program's, of which only the times are known.
    Foreign,
}

impl Agent {
    pub(super) fn wake(
        &mut self,
        now: Instant,
        clock: Clock,
        scratch: &mut Scratch,
        applications: &Applications,
    ) {
        if let Kind::Udp(datagrams) = &mut self.kind {
            datagrams.wake(now, clock, scratch);
        }
        self.marks.note(now, self.progress(applications).0);
    }

    pub(super) fn next_wakeup(&self) -> Instant {
        let own = match &self.kind {
            Kind::Udp(datagrams) => datagrams.next_wakeup(),
            Kind::Tcp { .. } | Kind::Foreign => Instant::NEVER,
        };
        own.min(self.marks.next())
    }

    /// The socket of its connection at that node of the plan's.
    pub(super) fn socket_at(&self, flow: &Flow, node: usize) -> Option<u32> {
        match self.kind {
            Kind::Tcp { sockets, .. } => Some(sockets[usize::from(node != flow.from)]),
            Kind::Udp(_) | Kind::Foreign => None,
        }
    }

    pub(super) fn infos(&self, applications: &Applications) -> [Info; 2] {
        match &self.kind {
            Kind::Tcp { sockets, .. } => {
                sockets.map(|number| applications.sockets()[number as usize].info())
            }
            Kind::Udp(datagrams) => datagrams.infos(),
            Kind::Foreign => Default::default(),
        }
    }

    fn progress(&self, applications: &Applications) -> (u64, Instant) {
        match &self.kind {
            &Kind::Tcp { reader, .. } => applications.sockets()[reader as usize].progress(),
            Kind::Udp(datagrams) => datagrams.progress(),
            Kind::Foreign => Default::default(),
        }
    }

    /// What became of it until `now`.
    pub(super) fn totals(
        &self,
        flow: &Flow,
        now: Instant,
        applications: &Applications,
    ) -> FlowTotals {
        let [sender, receiver] = self.infos(applications);
        let (datagrams, exchanges) = match &self.kind {
            Kind::Tcp { sockets: [asking, _], .. } => (None, applications.exchanges(*asking)),
            Kind::Udp(datagrams) => (Some(datagrams), None),
            Kind::Foreign => (None, None),
        };
        FlowTotals {
            sender,
            receiver,
            delay: datagrams.map(|datagrams| datagrams.delay()),
            unseen: datagrams.map(|datagrams| datagrams.unseen()),
            exchanges,
            ..self.marks.totals(flow, now, self.progress(applications))
        }
    }
}

/// Every flow, and where connections come in.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) agents: Vec<Agent>,
    pub(super) applications: Applications,
    pub(super) listeners: Vec<Listener>,
}

/// A flow's sockets as far as they are open.
#[derive(Default)]
struct Half {
    connection: Option<[Socket; 2]>,
    out: Option<OwnedFd>,
    sink: Option<OwnedFd>,
}

/// Opens everything; moves this thread from namespace to namespace.
pub(super) fn open(
    plan: &Plan,
    hosts: &[Option<Namespace>],
    modules: &Congestion,
) -> Result<Opened, Error> {
    allow_sockets(plan.flows.len())?;
    let mut halves: Vec<Half> = plan.flows.iter().map(|_| Half::default()).collect();
    let mut listeners = Vec::new();
    for (number, host) in hosts.iter().enumerate() {
        let Some(host) = host else { continue };
        let here = |flow: &&Flow| flow.from == number || flow.to == number;
        if plan.flows.iter().any(|flow| here(&flow)) {
            host.enter()?;
            stack::set(plan, number, host)?;
            reflect_labels(plan, number, host)?;
            open_at(plan, number, modules, &mut halves)?;
            listen_at(plan, number, &mut listeners)?;
        }
    }
    let mut agents = Vec::with_capacity(halves.len());
    let mut applications = Applications::new(modules.names().clone());
    for (number, (flow, half)) in (0..).zip(plan.flows.iter().zip(halves)) {
        let (start, marks) = (flow.span.start, GoodputMarks::new(plan, flow));
        let kind = match (&flow.transport, half) {
            (Transport::Tcp(tcp), Half { connection: Some([near, far]), .. }) => {
                let [sender, receiver] = flow.applications(tcp, plan.seed);
                let sockets = [applications.add(sender, [near]), applications.add(receiver, [far])];
                let reader = sockets[usize::from(flow.reader() == flow.to)];
                Kind::Tcp { sockets, reader }
            }
            (Transport::Udp(config), Half { out: Some(out), sink: Some(sink), .. }) => {
                let ends = [out, sink];
                Kind::Udp(Datagrams::new(flow, number, *config, plan.seed, ends).into())
            }
            (Transport::Program(_), _) => Kind::Foreign,
            _ => {
                let message = format!("flow `{}` has an end that is no host", flow.name);
                return Err(Error::unfit(message, "connect hosts"));
            }
        };
        agents.push(Agent { start, marks, kind });
    }
    Ok(Opened { agents, applications, listeners })
}

/// Lets listening sockets at the host `number` answer with the flow label that they were called with, if
/// any is.
fn reflect_labels(plan: &Plan, number: usize, host: &Namespace) -> Result<(), Error> {
    let labelled = |flow: &Flow| flow.to == number && flow.header.flow_label != 0;
    if plan.flows.iter().any(labelled) {
        sysctl::set(host, "net.ipv6.flowlabel_consistency", "0")?;
    }
    Ok(())
}

/// Opens the ends of flows that are at the host `number`, where this thread is; but for listening.
fn open_at(
    plan: &Plan,
    number: usize,
    modules: &Congestion,
    halves: &mut [Half],
) -> Result<(), Error> {
    for (flow, half) in plan.flows.iter().zip(halves) {
        match &flow.transport {
            Transport::Tcp(tcp) if flow.from == number => {
                half.connection = Some(tcp::open(flow, tcp, modules)?);
            }
            Transport::Udp(config) if flow.from == number => {
                half.out = Some(udp::open_source(flow, config)?);
            }
            Transport::Udp(_) if flow.to == number => half.sink = Some(udp::open_sink(flow)?),
            _ => {}
        }
    }
    Ok(())
}

/// Listens at the host `number`, where this thread is, at every port that connections go to.
fn listen_at(plan: &Plan, number: usize, listeners: &mut Vec<Listener>) -> Result<(), Error> {
    let mut ports: BTreeMap<u16, Vec<(u32, &Flow, &Tcp)>> = BTreeMap::new();
    for (flow_number, flow) in (0..).zip(&plan.flows).filter(|(_, flow)| flow.to == number) {
        if let (Some(tcp), Some(header_ports)) = (flow.tcp(), flow.header.ports) {
            ports.entry(header_ports.destination).or_default().push((flow_number, flow, tcp));
        }
    }
    for flows in ports.values() {
        listeners.push(Listener::open(flows)?);
    }
    Ok(())
}

/// Raises the limit on open files as far as it goes; a flow needs two, and the rest of the lab some.
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
