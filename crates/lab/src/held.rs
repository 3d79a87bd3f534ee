//! A network that runs until it is taken down (`suimon lab up`), and the access of other processes to its hosts.

use std::fs::File;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::process::ExitStatus;
use std::sync::mpsc::{Sender, channel};
use std::time;

use base::DropReason;
use nix::sched::{CloneFlags, setns};
use record::{Drops, LabReport};
use scenario::Plan;

use crate::error::Error;
use crate::exec::host;
use crate::fabric::{Look, Order};
use crate::hosts::Hosts;
use crate::namespace::Namespace;
use crate::program::{self, Output, Program, Rights, Site};
use crate::programs::Programs;
use crate::run::{Lab, Next, Options, Outcome};
use crate::threads::Layout;

/// A running network.
#[derive(Debug)]
pub struct Held<'a> {
    plan: &'a Plan,
    hosts: &'a Hosts,
    programs: &'a mut Programs,
    orders: &'a Sender<Order>,
}

/// The timeout for the fabric's answer.
const REPLY_TIMEOUT: time::Duration = time::Duration::from_secs(1);

/// A program of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProgram {
    /// The host.
    pub host: String,
    /// The program and its arguments.
    pub line: String,
    /// The state: the ports that it listens on, or how it ended.
    pub state: String,
}

impl Held<'_> {
    /// The hosts and their addresses.
    pub fn hosts(&self) -> Vec<(String, IpAddr)> {
        let nodes = self.plan.nodes.iter().zip(&self.hosts.namespaces);
        let hosts = nodes.filter(|(_, namespace)| namespace.is_some());
        hosts.map(|(node, _)| (node.name.clone(), node.address)).collect()
    }

    /// The number of this process's descriptor of a host's network namespace, for [`Attached::open`].
    ///
    /// # Errors
    /// If there is no such host.
    pub fn descriptor(&self, name: &str) -> Result<RawFd, Error> {
        Ok(host(self.plan, self.hosts, name)?.as_fd().as_raw_fd())
    }

    /// The hosts' programs.
    ///
    /// # Errors
    /// If the system fails.
    pub fn programs(&mut self) -> Result<Vec<HostProgram>, Error> {
        let states = self.programs.states()?;
        let program = |(node, line, state): (usize, &str, String)| HostProgram {
            host: self.plan.nodes[node].name.clone(),
            line: line.into(),
            state,
        };
        Ok(states.into_iter().map(program).collect())
    }

    /// The fabric's counters so far; `None` if it does not answer within a second.
    pub fn look(&self) -> Option<Look> {
        let (answer, answered) = channel();
        self.orders.send(Order::Look(answer)).ok()?;
        answered.recv_timeout(REPLY_TIMEOUT).ok()
    }

    /// The drops in `look`: the place as `NODE:LINK` or a node's name, the reason, and the number of packets.
    pub fn drops(&self, look: &Look) -> Vec<(String, DropReason, u64)> {
        let name = |node: usize| self.plan.nodes[node].name.clone();
        let ports = self.plan.links.iter().flat_map(|link| {
            link.ends.iter().map(move |end| format!("{}:{}", name(end.node), link.name))
        });
        let ports = ports.zip(look.ports.iter().map(|port| &port.drops));
        let nodes = look.nodes.iter().enumerate().map(|(node, drops)| (name(node), drops));
        let of = |(place, drops): (String, &Drops)| {
            let some: Vec<_> = drops.iter().filter(|&(_, count)| count > 0).collect();
            some.into_iter().map(move |(reason, count)| (place.clone(), reason, count))
        };
        ports.chain(nodes).flat_map(of).collect()
    }

    /// The substitutes that programs use instead of the intended settings, and how to fix that.
    pub fn substitutions(&self) -> Vec<String> {
        self.hosts.congestion.warning().into_iter().collect()
    }

    /// The programs that have failed so far, each with its status and its last output.
    pub fn failures(&self) -> Vec<String> {
        self.programs.failures()
    }
}

/// Builds the network of `plan`, with its hosts' programs but without its flows. Waits until the programs listen, then
/// keeps the network until `over` returns true. `over` is called every few milliseconds.
///
/// # Errors
/// If the lab cannot be built, or breaks.
pub fn hold(
    plan: &Plan,
    options: Options<'_>,
    mut over: impl FnMut(&mut Held<'_>) -> Result<bool, Error>,
) -> Result<LabReport, Error> {
    let plan = &plan.by_hand();
    let mut lab = Lab::build(plan, options)?;
    let mut programs = match lab.programs.take() {
        Some(programs) => programs,
        None => Programs::start(plan, &lab.hosts, None, None)?,
    };
    let (orders, taken) = channel();
    lab.fabric = lab.fabric.with_orders(taken);
    let over = |hosts: &_, _| {
        let mut held = Held { plan, hosts, programs: &mut programs, orders: &orders };
        over(&mut held).map(Next::stop_if)
    };
    let (Outcome { report, failure, .. }, ()) = lab.serve(plan, &mut (), over, || ())?;
    drop(programs);
    failure.map_or(Ok(report), Err)
}

/// A host of a network that another process holds.
#[derive(Debug)]
pub struct Attached {
    namespace: Namespace,
    holder: OwnedFd,
    host: String,
    names: Vec<(String, IpAddr)>,
}

impl Attached {
    /// Opens the host whose network namespace is `descriptor` of the process `holder`; `names` are the hosts' names.
    /// Joins the holder's user namespace if it has its own; this process must be single-threaded for that.
    ///
    /// The caller must check afterwards that the holder is still alive: its PID may have been reused.
    ///
    /// # Errors
    /// If the process is gone, or belongs to another user.
    pub fn open(
        holder: u32,
        descriptor: RawFd,
        host: &str,
        names: Vec<(String, IpAddr)>,
    ) -> Result<Self, Error> {
        let process =
            program::pidfd(holder).map_err(Error::system("find who holds the network"))?;
        let open = |what: String| {
            let path = format!("/proc/{holder}/{what}");
            File::open(&path).map_err(Error::system(format!("open {path}")))
        };
        let (network, users) = (open(format!("fd/{descriptor}"))?, open("ns/user".into())?);
        let number = |file: &File| file.metadata().map(|found| (found.dev(), found.ino()));
        let own = File::open("/proc/self/ns/user").and_then(|own| number(&own));
        let own = own.map_err(Error::system("look at this process's user namespace"))?;
        if number(&users).map_err(Error::system("look at a user namespace"))? != own {
            setns(&users, CloneFlags::CLONE_NEWUSER)
                .map_err(Error::system("enter the user namespace of the network"))?;
        }
        let namespace = Namespace::from(OwnedFd::from(network));
        Ok(Self { namespace, holder: process, host: host.into(), names })
    }

    /// Runs `words` there, with this process's streams and rights. It ends with the network at the latest.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run(&self, words: &[String]) -> Result<ExitStatus, Error> {
        let _restored = Layout::of_this_machine().leave_fabric_alone();
        let Self { namespace, holder, host, names } = self;
        let site = Site { namespace, host, names, holder: Some(holder.as_fd()) };
        Program::spawn(&site, words, Output::Inherited, Rights::Own)?.wait()
    }

    /// Whether the network still runs.
    pub fn stands(&self) -> bool {
        !program::is_gone(self.holder.as_fd())
    }
}
