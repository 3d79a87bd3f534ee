//! The programs of a plan. Servers start before the run's time zero, the program of a flow at the flow's start.
//! A program that fails is reported and fails the run.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use base::{Duration, Instant};
use record::folder::PROGRAMS;
use record::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::{Transport, User};

use crate::error::Error;
use crate::hosts::Hosts;
use crate::program::{Program, Rights, Site};
use crate::readiness::{self, Readiness};
use crate::transcript::Transcript;

/// The names and addresses of the plan's hosts, for name resolution by programs.
pub(crate) fn names(plan: &Plan) -> Vec<(String, IpAddr)> {
    plan.nodes.iter().map(|node| (node.name.clone(), node.address)).collect()
}

/// The running programs. Dropping this value ends them.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Programs that run for the whole run.
    servers: Vec<Running>,
    clients: Vec<Client>,
    names: Vec<(String, IpAddr)>,
    folder: Option<PathBuf>,
    /// The folder with a folder for each program to write to.
    own: Option<PathBuf>,
    /// File names in use.
    taken: BTreeSet<String>,
}

/// A program that was started.
#[derive(Debug)]
struct Running {
    /// The node number of its host.
    node: usize,
    line: String,
    program: Program,
    transcript: Transcript,
    /// Its own folder.
    folder: Option<PathBuf>,
    readiness: Option<Readiness>,
    /// Its exit status, if it ended by itself.
    status: Option<ExitStatus>,
    /// Whether the lab ended it.
    stopped: bool,
}

/// A flow's program.
#[derive(Debug)]
struct Client {
    flow: usize,
    node: usize,
    words: Vec<String>,
    user: User,
    start: Instant,
    stop: Instant,
    running: Option<Running>,
    ended: Option<Instant>,
}

/// The findings about a run's programs, for the report.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) notes: Vec<String>,
    /// The programs that failed, each with its status and its last output.
    pub(crate) failures: Vec<String>,
}

impl Programs {
    /// Starts the servers in `hosts`, the plan's hosts that are here. Programs' output goes to files in `folder`, or is
    /// discarded if that is `None`. Each program may write to its own folder in `own`.
    pub(crate) fn start(
        plan: &Plan,
        hosts: &Hosts,
        folder: Option<&Path>,
        own: Option<&Path>,
    ) -> Result<Self, Error> {
        let mut programs = Self {
            servers: Vec::new(),
            clients: Vec::new(),
            names: names(plan),
            folder: folder.map(|folder| folder.join(PROGRAMS)),
            own: own.map(|own| own.join(PROGRAMS)),
            taken: BTreeSet::new(),
        };
        let is_here = |node: usize| hosts.namespaces[node].is_some();
        for (number, node) in plan.nodes.iter().enumerate().filter(|(number, _)| is_here(*number)) {
            for (index, words) in node.programs.iter().enumerate() {
                let log = format!("{}.{}", node.name, index + 1);
                let running = programs.spawn(plan, hosts, number, words, node.user, &log)?;
                programs.servers.push(running);
            }
        }
        for (number, flow) in plan.flows.iter().enumerate() {
            let Transport::Program(program) = &flow.transport else { continue };
            if let Some(words) = program.server.as_ref().filter(|_| is_here(flow.to)) {
                let log = format!("{}.server", flow.name);
                let running = programs.spawn(plan, hosts, flow.to, words, program.user, &log)?;
                programs.servers.push(running);
            }
            if !is_here(flow.from) {
                continue;
            }
            programs.clients.push(Client {
                flow: number,
                node: flow.from,
                words: program.client.clone(),
                user: program.user,
                start: flow.span.start,
                stop: flow.span.stop,
                running: None,
                ended: None,
            });
        }
        Ok(programs)
    }

    /// Returns a unique file name similar to `wanted`, without path separators or leading dots.
    fn file_name(&mut self, wanted: &str) -> String {
        let fits = |c: char| c.is_alphanumeric() || "._-+=".contains(c);
        let plain: String = wanted.chars().map(|c| if fits(c) { c } else { '-' }).collect();
        let plain = plain.trim_start_matches('.');
        let plain = if plain.is_empty() { "program" } else { plain };
        let others = (2..).map(|number| format!("{plain}~{number}"));
        let mut names = std::iter::once(plain.to_owned()).chain(others);
        let name = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        name
    }

    fn spawn(
        &mut self,
        plan: &Plan,
        hosts: &Hosts,
        node: usize,
        words: &[String],
        user: User,
        log: &str,
    ) -> Result<Running, Error> {
        let namespace = hosts.namespaces[node].as_ref().ok_or_else(|| {
            Error::unfit("a program on a node that is not a host", "name a host of the scenario")
        })?;
        let log = &self.file_name(log);
        let file = self.folder.as_ref().map(|folder| {
            let path = folder.join(format!("{log}.log"));
            create(folder, &path).map_err(Error::system(format!("write {}", path.display())))
        });
        let (transcript, output) = Transcript::open(file.transpose()?)?;
        let folder = self.own.as_ref().map(|own| own.join(log));
        let rights = match user {
            User::Nobody => Rights::Nobody(folder.as_deref()),
            User::Root => Rights::Own,
        };
        let host = &plan.nodes[node].name;
        let site = Site { namespace, host, names: &self.names, holder: None };
        let program = Program::spawn(&site, words, output, rights)?;
        let line = words.join(" ");
        Ok(Running {
            node,
            line,
            program,
            transcript,
            folder,
            readiness: None,
            status: None,
            stopped: false,
        })
    }

    /// Waits until the servers listen, have ended or are idle, for at most `timeout`.
    pub(crate) fn wait_until_ready(
        &mut self,
        timeout: Duration,
        cancelled: impl Fn() -> bool,
    ) -> Result<(), Error> {
        if self.servers.is_empty() {
            return Ok(());
        }
        let mut programs: Vec<_> = self.servers.iter_mut().map(|it| &mut it.program).collect();
        let found = readiness::wait(&mut programs, timeout, cancelled)?;
        for (server, found) in self.servers.iter_mut().zip(found) {
            server.readiness = Some(found);
            server.look()?;
        }
        Ok(())
    }

    /// Starts the programs that are due, ends those whose stop time has passed, and checks which have ended.
    pub(crate) fn serve(&mut self, plan: &Plan, hosts: &Hosts, now: Instant) -> Result<(), Error> {
        for server in &mut self.servers {
            server.look()?;
        }
        for number in 0..self.clients.len() {
            let client = &self.clients[number];
            if client.running.is_none() && client.ended.is_none() && now >= client.start {
                let log = &plan.flows[client.flow].name;
                let (node, words, user) = (client.node, client.words.clone(), client.user);
                let running = self.spawn(plan, hosts, node, &words, user, log)?;
                self.clients[number].running = Some(running);
            }
            self.clients[number].look(now)?;
        }
        Ok(())
    }

    /// Whether the programs of all flows have ended. Servers may still run.
    pub(crate) fn have_ended(&self) -> bool {
        self.clients.iter().all(|client| client.ended.is_some())
    }

    /// The state of each server: the node number of its host, its command line, and its state as text.
    pub(crate) fn states(&mut self) -> Result<Vec<(usize, &str, String)>, Error> {
        for server in &mut self.servers {
            server.look()?;
        }
        Ok(self.servers.iter().map(|it| (it.node, it.line.as_str(), it.state())).collect())
    }

    /// The servers that have failed so far, each with its status and its last output.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.servers.iter().filter_map(Running::failure).collect()
    }

    /// Ends the programs that still run. Fills in the totals of their flows and returns the findings.
    pub(crate) fn finish(
        mut self,
        now: Instant,
        flows: &mut [FlowTotals],
    ) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        // All are asked at once, so that slow ones end in parallel.
        let clients = self.clients.iter_mut().filter_map(|client| client.running.as_mut());
        for running in clients.chain(&mut self.servers) {
            running.look()?;
            running.stopped = true;
            if running.status.is_none() {
                running.program.ask_to_end();
            }
        }
        for client in &mut self.clients {
            let totals = &mut flows[client.flow];
            (totals.start, totals.end) = (client.start, client.ended.unwrap_or(now));
            let Some(running) = &mut client.running else { continue };
            totals.completed =
                client.ended.is_some() && running.status.is_none_or(|it| it.success());
            if client.ended.is_none() {
                let line = &running.line;
                findings
                    .notes
                    .push(format!("`{line}` was still running at the end and was terminated"));
            }
            running.finish(&mut findings)?;
        }
        self.servers.iter_mut().try_for_each(|server| server.finish(&mut findings))?;
        Ok(findings)
    }
}

/// Creates a program's file in our folder, replacing that of an earlier run. Does not follow links.
fn create(folder: &Path, path: &Path) -> io::Result<File> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ if !fs::symlink_metadata(folder)?.is_dir() => {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        _ => {}
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => OpenOptions::new()
            .write(true)
            .create_new(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path),
    }
}

impl Running {
    /// Records the program's exit status, if it has ended.
    fn look(&mut self) -> Result<(), Error> {
        if self.status.is_none() && !self.stopped {
            self.status = self.program.try_wait()?;
        }
        Ok(())
    }

    /// Ends the program. This does not count as a failure.
    fn stop(&mut self) -> Result<(), Error> {
        self.stopped = true;
        self.program.end()
    }

    /// Ends the program, if it still runs, and adds its findings.
    fn finish(&mut self, findings: &mut Findings) -> Result<(), Error> {
        self.look()?;
        self.stop()?;
        if let Some(note) = self.transcript.close() {
            findings.notes.push(format!("`{}`: {note}", self.line));
        }
        findings.failures.extend(self.failure());
        if let Some(folder) = &self.folder {
            // This removes an empty folder only.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    fn failure(&self) -> Option<String> {
        let status = self.status.filter(|status| !status.success())?;
        let mut text = format!("`{}` ended with {status}", self.line);
        for line in self.transcript.last_lines() {
            text += "\n    ";
            text += &line;
        }
        Some(text)
    }

    fn state(&self) -> String {
        match (&self.status, &self.readiness) {
            (Some(status), _) => format!("ended with {status}"),
            (None, Some(Readiness::Listens(ports))) => {
                let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
                format!("listens on {}", ports.join(", "))
            }
            (None, _) => "runs".into(),
        }
    }
}

impl Client {
    fn look(&mut self, now: Instant) -> Result<(), Error> {
        let Some(running) = &mut self.running else { return Ok(()) };
        if self.ended.is_some() {
            return Ok(());
        }
        running.look()?;
        if running.status.is_some() {
            self.ended = Some(now);
        } else if now >= self.stop {
            running.stop()?;
            self.ended = Some(now);
        }
        Ok(())
    }
}
