//! The programs that a plan names: those that serve, before the run's time zero, and those that belong to
//! a flow, at its start.

use std::fs::File;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use results::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::Transport;
use traffic::Instant;

use crate::error::Error;
use crate::hosts::Hosts;
use crate::program::{Output, Program};

/// The folder, in a run's folder, of what programs say.
pub const FOLDER: &str = "programs";

/// The plan's hosts by name, as programs may call them.
pub(crate) fn names(plan: &Plan) -> Vec<(String, IpAddr)> {
    plan.nodes.iter().map(|node| (node.name.clone(), node.address)).collect()
}

/// The programs at work; they end with this at the latest.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Those that go on for the whole run.
    servers: Vec<Program>,
    clients: Vec<Client>,
    names: Vec<(String, IpAddr)>,
    folder: Option<PathBuf>,
}

/// A flow's program.
#[derive(Debug)]
struct Client {
    flow: usize,
    node: usize,
    words: Vec<String>,
    start: Instant,
    stop: Instant,
    running: Option<Program>,
    ended: Option<Instant>,
    /// Why it is not well, if it is not.
    fault: Option<String>,
}

impl Programs {
    /// Starts what serves, in `hosts`; what programs say goes to files in `folder`, or nowhere.
    pub(crate) fn start(plan: &Plan, hosts: &Hosts, folder: Option<&Path>) -> Result<Self, Error> {
        let mut programs = Self {
            servers: Vec::new(),
            clients: Vec::new(),
            names: names(plan),
            folder: folder.map(|folder| folder.join(FOLDER)),
        };
        for (number, node) in plan.nodes.iter().enumerate() {
            for (index, words) in node.programs.iter().enumerate() {
                let log = format!("{}.{}", node.name, index + 1);
                programs.servers.push(programs.spawn(hosts, number, words, &log)?);
            }
        }
        for (number, flow) in plan.flows.iter().enumerate() {
            let Transport::Program(program) = &flow.transport else { continue };
            if let Some(words) = &program.server {
                let log = format!("{}.server", flow.name);
                programs.servers.push(programs.spawn(hosts, flow.to, words, &log)?);
            }
            programs.clients.push(Client {
                flow: number,
                node: flow.from,
                words: program.client.clone(),
                start: flow.span.start,
                stop: flow.span.stop,
                running: None,
                ended: None,
                fault: None,
            });
        }
        Ok(programs)
    }

    fn spawn(
        &self,
        hosts: &Hosts,
        node: usize,
        words: &[String],
        log: &str,
    ) -> Result<Program, Error> {
        let file = match &self.folder {
            Some(folder) => {
                let path = folder.join(format!("{log}.log"));
                let made = std::fs::create_dir_all(folder).and_then(|()| File::create(&path));
                made.map_err(Error::system(format!("write {}", path.display())))?
            }
            None => File::create("/dev/null").map_err(Error::system("open /dev/null"))?,
        };
        let namespace = hosts.namespaces[node].as_ref().ok_or_else(|| {
            Error::unfit("a program at what is no host", "name a host of the scenario")
        })?;
        Program::spawn(namespace, words, Output::Log(file), &self.names)
    }

    /// Starts the programs whose time has come, ends those whose time is over, and looks which have ended.
    pub(crate) fn attend(&mut self, plan: &Plan, hosts: &Hosts, now: Instant) -> Result<(), Error> {
        for number in 0..self.clients.len() {
            let client = &self.clients[number];
            if client.running.is_none() && client.ended.is_none() && now >= client.start {
                let log = &plan.flows[client.flow].name;
                let program = self.spawn(hosts, client.node, &client.words, log)?;
                self.clients[number].running = Some(program);
            }
            self.clients[number].look(now)?;
        }
        Ok(())
    }

    /// Ends what still runs, and tells what became of flows, and what is to be noted.
    pub(crate) fn finish(
        mut self,
        now: Instant,
        flows: &mut [FlowTotals],
        notes: &mut Vec<String>,
    ) -> Result<(), Error> {
        for client in &mut self.clients {
            let totals = &mut flows[client.flow];
            (totals.start, totals.end) = (client.start, client.ended.unwrap_or(now));
            totals.completed = client.ended.is_some() && client.fault.is_none();
            let name = client.words.join(" ");
            if let Some(fault) = &client.fault {
                notes.push(format!("`{name}` {fault}"));
            } else if client.ended.is_none() {
                notes.push(format!("`{name}` was still running at the end, and was ended"));
            }
            if let Some(mut program) = client.running.take() {
                program.end()?;
            }
        }
        self.servers.iter_mut().try_for_each(Program::end)
    }
}

impl Client {
    fn look(&mut self, now: Instant) -> Result<(), Error> {
        let Some(program) = &mut self.running else { return Ok(()) };
        if self.ended.is_some() {
            return Ok(());
        }
        if now >= self.stop {
            program.end()?;
            self.ended = Some(now);
        } else if let Some(status) = program.try_wait()? {
            self.ended = Some(now);
            self.fault = (!status.success()).then(|| format!("ended with {status}"));
        }
        Ok(())
    }
}
