//! Any program at a host: it runs in the host's network namespace, sees the plan's hosts by their names,
//! and ends with the lab, whatever it has started and however the lab ends.
//!
//! It has a PID namespace, whose first process (`init`) ends when it is told to or when the lab is gone;
//! and a mount namespace, in which `/proc`, `/sys` and `/etc/hosts` are the host's.

mod init;
mod system;

use std::env;
use std::ffi::{CString, OsStr, c_char};
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{getpgrp, pipe2};

use crate::{Error, Namespace};
use init::{Recipe, Step};
use system::Cloned;

/// Where a program's output goes.
#[derive(Debug)]
pub enum Output {
    /// Both its streams to this file; it has nothing to read.
    Log(File),
    /// Its three streams are this process's, and a terminal is its own as long as it runs.
    Inherited,
}

/// How long a program is given to end when it is asked to, in milliseconds.
const GRACE_MS: u16 = 1_000;

/// A program that was started. It ends with this value at the latest.
#[derive(Debug)]
pub struct Program {
    name: String,
    /// The first process of its namespace.
    init: OwnedFd,
    status: File,
    ended: Option<ExitStatus>,
    /// Standard input is a terminal, which the program has.
    terminal: bool,
    /// The first process is gone, too.
    reaped: bool,
}

impl Program {
    /// Starts the program `words[0]`, which is looked for as a shell does, with the others as its
    /// arguments. `hosts` are the names that it can resolve.
    ///
    /// # Errors
    /// `Lacking` if there is no such program, or the user may not make its namespaces.
    pub fn spawn(
        namespace: &Namespace,
        words: &[String],
        output: Output,
        hosts: &[(String, IpAddr)],
    ) -> Result<Self, Error> {
        let Some(name) = words.first().cloned() else {
            return Err(Error::unfit("a program without a name", "say which one to run"));
        };
        let path = string(find(&name)?.as_os_str())?;
        let strings: Vec<_> =
            words.iter().map(|word| string(OsStr::new(word))).collect::<Result<_, _>>()?;
        let null = std::iter::once(std::ptr::null());
        let arguments: Vec<*const c_char> =
            strings.iter().map(|s| s.as_ptr()).chain(null).collect();
        let channels = Channels::open().map_err(Error::system(format!("start `{name}`")))?;
        let Channels {
            empty,
            lab,
            failure: (failure, failure_told),
            status: (status, status_told),
        } = channels;
        let streams = Streams::new(&output, &empty);
        let names = names(hosts);
        let recipe = Recipe {
            network: namespace.as_fd(),
            path: &path,
            arguments: &arguments,
            hosts: names.as_bytes(),
            streams: streams.descriptors,
            terminal: streams.terminal,
            lab: lab.as_fd(),
            failure: failure_told,
            status: status_told,
        };
        let init = start(recipe).map_err(|errno| forbidden(&name, errno))?;
        let mut program = Self {
            name,
            init,
            status: status.into(),
            ended: None,
            terminal: streams.terminal,
            reaped: false,
        };
        program.check(failure.into())?;
        Ok(program)
    }

    /// Waits until the program runs, or says why it does not.
    fn check(&mut self, mut failure: File) -> Result<(), Error> {
        let mut told = Vec::new();
        failure.read_to_end(&mut told).map_err(self.refused("start"))?;
        let Some(&[step, a, b, c, d]) = told.first_chunk() else { return Ok(()) };
        let errno = Errno::from_raw(i32::from_ne_bytes([a, b, c, d]));
        self.end()?;
        let what = |doing: &str| format!("{doing} for `{}`", self.name);
        Err(match Step::of(step) {
            Step::Enter => Error::system(what("enter the host's namespace"))(errno),
            Step::Mount => Error::system(what("mount /proc, /sys and /etc/hosts"))(errno),
            Step::Clone => Error::system(what("make a process"))(errno),
            Step::Start => Error::lacking(
                format!("run `{}`", self.name),
                errno.into(),
                "it is no program that this machine runs: install it, or name another",
            ),
        })
    }

    fn refused(&self, doing: &str) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::system(format!("{doing} `{}`", self.name))
    }

    /// Waits until the program ends. What it left running goes on until [`Self::end`].
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
            // Its first process was killed, and it with that.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                ExitStatus::from_raw(Signal::SIGKILL as i32)
            }
            Err(error) => return Err(self.refused("wait for")(error)),
        };
        self.ended = Some(status);
        self.take_terminal_back();
        Ok(status)
    }

    /// How the program ended; `None` while it runs.
    ///
    /// # Errors
    /// If the system fails.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, Error> {
        if self.ended.is_none() && !is_readable(self.status.as_fd(), PollTimeout::ZERO) {
            return Ok(None);
        }
        self.wait().map(Some)
    }

    /// Ends the program and everything that it started: asks them to, and a second later makes them.
    ///
    /// # Errors
    /// If the system fails.
    pub fn end(&mut self) -> Result<(), Error> {
        if self.reaped {
            return Ok(());
        }
        let _ = system::send(self.init.as_fd(), Signal::SIGTERM);
        if !is_readable(self.init.as_fd(), PollTimeout::from(GRACE_MS)) {
            let _ = system::send(self.init.as_fd(), Signal::SIGKILL);
        }
        waitid(Id::PIDFd(self.init.as_fd()), WaitPidFlag::WEXITED)
            .map_err(|errno| self.refused("end")(errno.into()))?;
        self.reaped = true;
        self.wait().map(drop)
    }

    /// A process of a group that is not the terminal's may take it only with SIGTTOU blocked (tcsetpgrp(3)).
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

/// What this process and the program's first one are joined by, besides the output.
struct Channels {
    /// What is read where there is nothing to read.
    empty: File,
    /// Readable when this process is gone.
    lab: OwnedFd,
    /// Where a failure to start is read and told.
    failure: (OwnedFd, OwnedFd),
    /// Where the program's status is read and told.
    status: (OwnedFd, OwnedFd),
}

impl Channels {
    fn open() -> io::Result<Self> {
        let (failure, status) = (pipe2(OFlag::O_CLOEXEC)?, pipe2(OFlag::O_CLOEXEC)?);
        let (empty, lab) = (File::open("/dev/null")?, system::own_pidfd()?);
        Ok(Self { empty, lab, failure, status })
    }
}

/// The program's standard streams.
struct Streams<'a> {
    descriptors: [BorrowedFd<'a>; 3],
    terminal: bool,
}

impl<'a> Streams<'a> {
    fn new(output: &'a Output, empty: &'a File) -> Self {
        match output {
            Output::Log(file) => {
                let descriptors = [empty.as_fd(), file.as_fd(), file.as_fd()];
                Self { descriptors, terminal: false }
            }
            Output::Inherited => {
                // SAFETY: the three are open as long as the process lives.
                let descriptors = [0, 1, 2].map(|raw| unsafe { BorrowedFd::borrow_raw(raw) });
                Self { descriptors, terminal: io::stdin().is_terminal() }
            }
        }
    }
}

/// Makes the first process; returns its pidfd.
fn start(recipe: Recipe<'_>) -> nix::Result<OwnedFd> {
    // SAFETY: the child lives as its recipe says, which was prepared for that.
    match unsafe { system::clone_into(libc::CLONE_NEWPID | libc::CLONE_NEWNS) }? {
        Cloned::Parent(init) => Ok(init),
        Cloned::Child => recipe.live(),
    }
}

fn forbidden(name: &str, errno: Errno) -> Error {
    let what = format!("make namespaces for `{name}`");
    match errno {
        Errno::EPERM => Error::lacking(what, errno.into(), "run it as root"),
        _ => Error::system(what)(errno),
    }
}

fn is_readable(descriptor: BorrowedFd<'_>, patience: PollTimeout) -> bool {
    let mut polled = [PollFd::new(descriptor, PollFlags::POLLIN)];
    poll(&mut polled, patience).is_ok_and(|ready| ready > 0)
}

/// The file that a shell would run for `name`.
fn find(name: &str) -> Result<PathBuf, Error> {
    let runs = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let places = env::var_os("PATH").unwrap_or_default();
    let found = if name.contains('/') {
        Some(PathBuf::from(name)).filter(|path| runs(path))
    } else {
        env::split_paths(&places).map(|place| place.join(name)).find(|path| runs(path))
    };
    found.ok_or_else(|| {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        Error::lacking(
            format!("run `{name}`"),
            missing,
            format!("install `{name}`, or name another"),
        )
    })
}

fn string(text: &OsStr) -> Result<CString, Error> {
    let unfit = |_| Error::unfit(format!("{text:?} holds a zero byte"), "leave it out");
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
