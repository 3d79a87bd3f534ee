//! Programs at a host. A program runs in the host's network namespace and resolves the plan's host names. It
//! ends with the lab, together with all processes that it started, however the lab ends.
//!
//! It has a PID namespace, whose first process (`init`) ends on SIGTERM or when the lab is gone; a UTS namespace
//! with the host's name; and a mount namespace with the host's `/proc`, `/sys` and name resolution files (`view`).

mod init;
mod nobody;
mod system;
mod view;

use std::ffi::{CString, OsStr, OsString, c_char};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{getpgrp, pipe2};

use crate::clock::Clock;
use crate::{Error, Namespace, readiness};
use init::{Recipe, Step, Terminal};
use nobody::Nobody;
use system::Cloned;

/// The host that a program runs at.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The host's network namespace.
    pub namespace: &'a Namespace,
    /// The host's name.
    pub host: &'a str,
    /// The names and addresses that it can look up.
    pub names: &'a [(String, IpAddr)],
    /// The process that holds the network, if it is not this one. The program ends with that process, too.
    pub holder: Option<BorrowedFd<'a>>,
}

/// The rights of a program.
#[derive(Clone, Copy, Debug)]
pub enum Rights<'a> {
    /// The rights of this process.
    Own,
    /// None: the program runs as `nobody`, with the machine's files read-only. It may write this folder, which is
    /// its working directory and its `/tmp`; a tmpfs, if `None`.
    Nobody(Option<&'a Path>),
}

/// The standard streams of a program.
#[derive(Debug)]
pub enum Output {
    /// Both output streams go to this file; the input is empty.
    Log(File),
    /// Standard output goes to the first pipe, standard error to the second; the input is empty.
    Pipes(OwnedFd, OwnedFd),
    /// All three streams are this process's. If they are a terminal, the program has it while it runs.
    Inherited,
    /// All three streams are given.
    Streams([OwnedFd; 3]),
    /// All three streams are this terminal, which no other process has.
    Terminal(OwnedFd),
}

/// The environment variable with the name of the program's host.
pub const HOST: &str = "SUIMON_HOST";
/// The time from SIGTERM to SIGKILL, in milliseconds.
const GRACE_MS: u64 = 1_000;

/// A program that was started. Dropping this value ends it.
#[derive(Debug)]
pub struct Program {
    name: String,
    /// The first process of its namespace.
    init: OwnedFd,
    status: File,
    ended: Option<ExitStatus>,
    /// Whether standard input is a terminal that is lent to the program.
    terminal: bool,
    /// Whether the first process is gone, too.
    reaped: bool,
    /// The clock that started when the program was asked to end.
    asked: Option<Clock>,
}

impl Program {
    /// Starts the program `words[0]` at a host, with the other words as its arguments. It is searched in `PATH`,
    /// as by a shell.
    ///
    /// # Errors
    /// `Lacking` if there is no such program, or the user may not create its namespaces.
    pub fn spawn(
        site: &Site<'_>,
        words: &[String],
        output: Output,
        rights: Rights<'_>,
    ) -> Result<Self, Error> {
        Self::spawn_with(site, words, &[], output, rights)
    }

    /// Starts a program as [`Self::spawn`] does, with `variables` added to its environment.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub(crate) fn spawn_with(
        site: &Site<'_>,
        words: &[String],
        variables: &[(String, String)],
        output: Output,
        rights: Rights<'_>,
    ) -> Result<Self, Error> {
        let Some(name) = words.first().cloned() else {
            return Err(Error::unfit("the program has no name", "name the program to run"));
        };
        let nobody = match rights {
            Rights::Own => None,
            Rights::Nobody(folder) => Some(Nobody::new(folder)?),
        };
        let path = string(nobody::find(&name, nobody.as_ref())?.as_os_str())?;
        let arguments = Strings::new(words.iter().map(OsStr::new))?;
        let own = [(HOST.to_owned(), site.host.to_owned())];
        let variables = with(nobody::environment(nobody.as_ref()), &[&own, variables].concat());
        let environment = Strings::new(variables.iter().map(OsString::as_os_str))?;
        let channels = Channels::open().map_err(Error::system(format!("start `{name}`")))?;
        let Channels {
            empty,
            lab,
            failure: (failure, failure_sender),
            status: (status, status_sender),
        } = channels;
        let streams = Streams::new(&output, &empty);
        let names = names(site.names);
        let recipe = Recipe {
            network: site.namespace.as_fd(),
            path: &path,
            arguments: &arguments.pointers,
            environment: &environment.pointers,
            host: site.host.as_bytes(),
            names: names.as_bytes(),
            nobody: nobody.as_ref().map(Nobody::recipe),
            streams: streams.descriptors,
            terminal: streams.terminal,
            holders: [lab.as_fd(), site.holder.unwrap_or(lab.as_fd())],
            failure: failure_sender,
            status: status_sender,
        };
        let init = start(recipe).map_err(|errno| forbidden(&name, errno))?;
        let mut program = Self {
            name,
            init,
            status: status.into(),
            ended: None,
            terminal: streams.terminal == Terminal::Shared,
            reaped: false,
            asked: None,
        };
        program.check(failure.into())?;
        Ok(program)
    }

    /// Waits until the program runs, or returns why it does not.
    fn check(&mut self, mut failure: File) -> Result<(), Error> {
        let mut report = Vec::new();
        failure.read_to_end(&mut report).map_err(self.refused("start"))?;
        let Some(&[step, a, b, c, d]) = report.first_chunk() else { return Ok(()) };
        let errno = Errno::from_raw(i32::from_ne_bytes([a, b, c, d]));
        self.end()?;
        let what = |doing: &str| format!("{doing} for `{}`", self.name);
        Err(match Step::of(step) {
            Step::Enter => Error::system(what("enter the host's namespace"))(errno),
            Step::Mount => Error::system(what("mount its view of the machine"))(errno),
            Step::User => Error::system(what("switch to the user nobody"))(errno),
            Step::Clone => Error::system(what("create a process"))(errno),
            Step::Start => Error::lacking(
                format!("run `{}`", self.name),
                errno.into(),
                "this machine cannot run it as a program: install it, or name another",
            ),
        })
    }

    fn refused(&self, doing: &str) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::system(format!("{doing} `{}`", self.name))
    }

    /// Waits until the program ends. Processes that it left running go on until [`Self::end`].
    ///
    /// # Errors
    /// If the system fails.
    pub fn wait(&mut self) -> Result<ExitStatus, Error> {
        if let Some(status) = self.ended {
            return Ok(status);
        }
        let mut word = [0; 4];
        let status = match self.status.read_exact(&mut word) {
            Ok(()) => ExitStatus::from_raw(i32::from_ne_bytes(word)),
            // The namespace's first process was killed, and the program with it.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                ExitStatus::from_raw(Signal::SIGKILL as i32)
            }
            Err(error) => return Err(self.refused("wait for")(error)),
        };
        self.ended = Some(status);
        self.take_terminal_back();
        Ok(status)
    }

    /// The program's exit status; `None` while it runs.
    ///
    /// # Errors
    /// If the system fails.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, Error> {
        if self.ended.is_none() && !is_readable(self.status.as_fd(), PollTimeout::ZERO) {
            return Ok(None);
        }
        self.wait().map(Some)
    }

    /// The number of its PID namespace; `None` when that is gone.
    pub(crate) fn space(&self) -> Option<u64> {
        let path = format!("/proc/self/fdinfo/{}", self.init.as_raw_fd());
        let text = std::fs::read_to_string(path).ok()?;
        let pid = text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
        readiness::pid_namespace(pid)
    }

    /// Ends the program and all processes that it started: by SIGTERM, and a second later by SIGKILL.
    ///
    /// # Errors
    /// If the system fails.
    pub fn end(&mut self) -> Result<(), Error> {
        if self.reaped {
            return Ok(());
        }
        let asked = self.ask_to_end();
        let left = GRACE_MS.saturating_sub(asked.now().as_us() / 1_000);
        if !is_readable(self.init.as_fd(), PollTimeout::from(left as u16)) {
            let _ = system::send(self.init.as_fd(), Signal::SIGKILL);
        }
        waitid(Id::PIDFd(self.init.as_fd()), WaitPidFlag::WEXITED)
            .map_err(|errno| self.refused("end")(errno.into()))?;
        self.reaped = true;
        self.wait().map(drop)
    }

    /// Sends SIGTERM, unless that was done before, and does not wait. Returns the clock since then.
    pub(crate) fn ask_to_end(&mut self) -> Clock {
        *self.asked.get_or_insert_with(|| {
            let _ = system::send(self.init.as_fd(), Signal::SIGTERM);
            Clock::starting_in(time::Duration::ZERO)
        })
    }

    /// Takes the terminal back. A process in a background group needs SIGTTOU blocked for that (tcsetpgrp(3)).
    fn take_terminal_back(&mut self) {
        if std::mem::take(&mut self.terminal) {
            let (mut blocked, mut before) = (SigSet::empty(), SigSet::empty());
            blocked.add(Signal::SIGTTOU);
            let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&blocked), Some(&mut before));
            let _ = system::give_terminal(io::stdin().as_fd(), getpgrp());
            let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The descriptors between this process and the program's first process, besides the output.
struct Channels {
    /// An empty standard input (`/dev/null`).
    empty: File,
    /// A pidfd of this process: readable when it is gone.
    lab: OwnedFd,
    /// The pipe that reports a failure to start: its read and write ends.
    failure: (OwnedFd, OwnedFd),
    /// The pipe that reports the program's exit status: its read and write ends.
    status: (OwnedFd, OwnedFd),
}

impl Channels {
    fn open() -> io::Result<Self> {
        let (failure, status) = (pipe2(OFlag::O_CLOEXEC)?, pipe2(OFlag::O_CLOEXEC)?);
        let (empty, lab) = (File::open("/dev/null")?, system::pidfd(std::process::id())?);
        Ok(Self { empty, lab, failure, status })
    }
}

/// The program's standard streams.
struct Streams<'a> {
    descriptors: [BorrowedFd<'a>; 3],
    terminal: Terminal,
}

impl<'a> Streams<'a> {
    fn new(output: &'a Output, empty: &'a File) -> Self {
        let (descriptors, terminal) = match output {
            Output::Log(file) => ([empty.as_fd(), file.as_fd(), file.as_fd()], Terminal::None),
            Output::Pipes(output, errors) => {
                ([empty.as_fd(), output.as_fd(), errors.as_fd()], Terminal::None)
            }
            Output::Streams(streams) => (streams.each_ref().map(AsFd::as_fd), Terminal::None),
            Output::Terminal(terminal) => ([terminal.as_fd(); 3], Terminal::Own),
            Output::Inherited => {
                // SAFETY: the three are open as long as the process lives.
                let descriptors = [0, 1, 2].map(|raw| unsafe { BorrowedFd::borrow_raw(raw) });
                let is_terminal = io::stdin().is_terminal();
                (descriptors, if is_terminal { Terminal::Shared } else { Terminal::None })
            }
        };
        Self { descriptors, terminal }
    }
}

/// Creates the namespace's first process. Returns its pidfd.
fn start(recipe: Recipe<'_>) -> nix::Result<OwnedFd> {
    let mut namespaces = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWUTS;
    if recipe.nobody.is_some() {
        namespaces |= libc::CLONE_NEWIPC;
    }
    // SAFETY: the child only runs its recipe, which was prepared for that.
    match unsafe { system::clone_into(namespaces) }? {
        Cloned::Parent(init) => Ok(init),
        Cloned::Child => recipe.live(),
    }
}

fn forbidden(name: &str, errno: Errno) -> Error {
    let what = format!("create namespaces for `{name}`");
    match errno {
        Errno::EPERM => Error::lacking(what, errno.into(), "run it as root"),
        _ => Error::system(what)(errno),
    }
}

/// Opens a pidfd of a process, which always refers to that process.
pub(crate) fn pidfd(process: u32) -> io::Result<OwnedFd> {
    Ok(system::pidfd(process)?)
}

/// Closes all descriptors of this single-threaded process except those in `kept`, which is sorted.
pub(crate) fn close_others(kept: &[RawFd]) {
    // SAFETY: the calling process does nothing else any more.
    unsafe { system::close_others(kept) };
}

/// Kills a process (SIGKILL).
pub(crate) fn kill(process: BorrowedFd<'_>) {
    let _ = system::send(process, Signal::SIGKILL);
}

/// Ends this process at once, without exit handlers.
pub(crate) fn leave() -> ! {
    system::leave()
}

/// Whether the process of that descriptor is gone.
pub(crate) fn is_gone(process: BorrowedFd<'_>) -> bool {
    is_readable(process, PollTimeout::ZERO)
}

fn is_readable(descriptor: BorrowedFd<'_>, timeout: PollTimeout) -> bool {
    let mut polled = [PollFd::new(descriptor, PollFlags::POLLIN)];
    poll(&mut polled, timeout).is_ok_and(|ready| ready > 0)
}

/// An environment, each variable as `NAME=VALUE`, with these in the place of others of their names.
fn with(mut environment: Vec<OsString>, variables: &[(String, String)]) -> Vec<OsString> {
    for (name, value) in variables {
        let start = format!("{name}=");
        environment.retain(|other| !other.as_bytes().starts_with(start.as_bytes()));
        environment.push((start + value).into());
    }
    environment
}

/// Strings as C takes them.
struct Strings {
    _owned: Vec<CString>,
    /// A pointer to each, and a null.
    pointers: Vec<*const c_char>,
}

impl Strings {
    fn new<'a>(texts: impl Iterator<Item = &'a OsStr>) -> Result<Self, Error> {
        let owned: Vec<_> = texts.map(string).collect::<Result<_, _>>()?;
        let null = std::iter::once(std::ptr::null());
        let pointers = owned.iter().map(|text| text.as_ptr()).chain(null).collect();
        Ok(Self { _owned: owned, pointers })
    }
}

fn string(text: &OsStr) -> Result<CString, Error> {
    let unfit = |_| Error::unfit(format!("{text:?} contains a zero byte"), "remove it");
    CString::new(text.as_bytes()).map_err(unfit)
}

/// The content of `/etc/hosts`.
fn names(hosts: &[(String, IpAddr)]) -> String {
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost ip6-localhost\n");
    for (name, address) in hosts {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{address} {name}");
    }
    text
}
