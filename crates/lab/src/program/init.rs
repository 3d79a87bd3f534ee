//! The first process of a program's PID namespace. It starts the program, reaps orphaned processes, and ends
//! when the lab does; the kernel then kills all other processes of the namespace.
//!
//! It is a clone of a multi-threaded process, so nothing here allocates, takes a lock or panics.

use std::ffi::{CStr, c_char};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, setpgid, setsid, write};

use super::system::{self, Cloned};
use super::view::{self, Folder};

/// All inputs of the process, prepared before the clone.
pub(super) struct Recipe<'a> {
    pub(super) network: BorrowedFd<'a>,
    pub(super) path: &'a CStr,
    /// Ends with a null.
    pub(super) arguments: &'a [*const c_char],
    /// Ends with a null.
    pub(super) environment: &'a [*const c_char],
    /// The host's name.
    pub(super) host: &'a [u8],
    /// The content of `/etc/hosts`.
    pub(super) names: &'a [u8],
    /// The user `nobody`, if the program does not run as this process's user.
    pub(super) nobody: Option<Nobody<'a>>,
    /// Standard input, output and error.
    pub(super) streams: [BorrowedFd<'a>; 3],
    /// The kind of terminal that standard input is.
    pub(super) terminal: Terminal,
    /// Pidfds of the processes that end the program by their own end; readable when the process is gone.
    pub(super) holders: [BorrowedFd<'a>; 2],
    /// The pipe that reports a failure to start; closed when the program runs.
    pub(super) failure: OwnedFd,
    /// The pipe that reports the program's exit status.
    pub(super) status: OwnedFd,
}

/// Whether standard input is a terminal, and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Terminal {
    /// Not a terminal.
    None,
    /// This process's terminal, lent to the program while it runs.
    Shared,
    /// The program's own terminal.
    Own,
}

/// The user `nobody`, who owns no files.
#[derive(Clone, Copy)]
pub(super) struct Nobody<'a> {
    /// The writable folder; a tmpfs if `None`.
    pub(super) folder: Option<Folder<'a>>,
    /// Whether `nobody` needs a nested user namespace, because this one maps no user but root.
    pub(super) nested: bool,
}

/// The step that failed before the program ran. It is sent to the lab with the errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    Enter,
    Mount,
    Clone,
    User,
    Start,
}

impl Step {
    pub(super) const fn of(byte: u8) -> Self {
        match byte {
            0 => Self::Enter,
            1 => Self::Mount,
            2 => Self::Clone,
            3 => Self::User,
            _ => Self::Start,
        }
    }

    fn send(self, failure: &OwnedFd, errno: Errno) -> ! {
        let [a, b, c, d] = (errno as i32).to_ne_bytes();
        let _ = write(failure, &[self as u8, a, b, c, d]);
        system::leave()
    }
}

impl Recipe<'_> {
    /// Runs as the namespace's first process.
    pub(super) fn live(self) -> ! {
        system::default_signals();
        let awaited = awaited_signals();
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&awaited), None);
        let entered = setns(self.network, CloneFlags::CLONE_NEWNET);
        if let Err(errno) = entered.and_then(|()| system::set_host_name(self.host)) {
            Step::Enter.send(&self.failure, errno);
        }
        if let Err(errno) = self.mount() {
            Step::Mount.send(&self.failure, errno);
        }
        self.close_others();
        let signals =
            SignalFd::with_flags(&awaited, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
        // SAFETY: the child becomes the program, allocating nothing.
        let signals = match (signals, unsafe { system::clone_into(0) }) {
            (Ok(signals), Ok(Cloned::Parent(_))) => signals,
            (Ok(_), Ok(Cloned::Child)) => self.become_program(),
            (Err(errno), _) | (_, Err(errno)) => Step::Clone.send(&self.failure, errno),
        };
        let Self { holders, status, failure, .. } = self;
        drop(failure);
        serve(&signals, holders, &status)
    }

    fn mount(&self) -> nix::Result<()> {
        let none = None::<&CStr>;
        mount(none, c"/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        if let Some(nobody) = self.nobody {
            view::of_nobody(nobody.folder)?;
        }
        view::of_host(self.names)
    }

    /// Closes all other descriptors: the lab's sockets and namespaces would otherwise outlive the lab in this process.
    fn close_others(&self) {
        let [input, output, error] = self.streams.map(|stream| stream.as_raw_fd());
        let [lab, network] = self.holders.map(|holder| holder.as_raw_fd());
        let (failure, status) = (self.failure.as_raw_fd(), self.status.as_raw_fd());
        let mut kept = [input, output, error, lab, network, failure, status];
        kept.sort_unstable();
        // SAFETY: the descriptors still in use are kept.
        unsafe { system::close_others(&kept) };
    }

    fn become_program(&self) -> ! {
        let [input, ..] = self.streams;
        if self.terminal == Terminal::Own {
            let _ = setsid();
            let _ = system::take_terminal(input);
        } else {
            // A separate process group, so that the terminal's signals go to it only; SIGTTOU is still blocked.
            let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
        }
        if self.terminal == Terminal::Shared {
            let _ = system::give_terminal(input, getpid());
        }
        let result = self.connect_streams();
        if let Some(nobody) = self.nobody
            && let Err(errno) = system::become_nobody(nobody.nested)
        {
            Step::User.send(&self.failure, errno);
        }
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
        let errno = match result {
            // SAFETY: `path` is a string, and so are `arguments` and `environment` up to their null.
            Ok(()) => unsafe {
                system::become_program(self.path.as_ptr(), self.arguments, self.environment)
            },
            Err(errno) => errno,
        };
        Step::Start.send(&self.failure, errno)
    }

    fn connect_streams(&self) -> nix::Result<()> {
        let [input, output, error] = self.streams;
        nix::unistd::dup2_stdin(input)?;
        nix::unistd::dup2_stdout(output)?;
        nix::unistd::dup2_stderr(error)
    }
}

/// The signals for which the first process waits: SIGCHLD, and SIGTERM from the lab. SIGTTOU is blocked so that the
/// program may take the terminal.
fn awaited_signals() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGCHLD);
    set.add(Signal::SIGTERM);
    set.add(Signal::SIGTTOU);
    set
}

/// Reaps children, reports the exit status of the first one, and exits after the last one or when a holder is gone.
fn serve(signals: &SignalFd, holders: [BorrowedFd<'_>; 2], status: &OwnedFd) -> ! {
    // The program is the first process that this one created.
    let program = Pid::from_raw(2);
    loop {
        let [lab, network] = holders;
        let mut polled =
            [signals.as_fd(), lab, network].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let _ = poll(&mut polled, PollTimeout::NONE);
        let [_, holders @ ..] = &polled;
        if holders.iter().any(|holder| holder.any() == Some(true)) {
            system::leave();
        }
        while let Ok(Some(signal)) = signals.read_signal() {
            if signal.ssi_signo == Signal::SIGTERM as u32 {
                let _ = kill(Pid::from_raw(-1), Signal::SIGTERM);
            }
        }
        take_in(program, status);
    }
}

fn take_in(program: Pid, status: &OwnedFd) {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == program => {
                let _ = write(status, &(code << 8).to_ne_bytes());
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => {
                let _ = write(status, &(signal as i32).to_ne_bytes());
            }
            // No shell is there to resume it.
            Ok(WaitStatus::Stopped(pid, _)) if pid == program => {
                let _ = kill(pid, Signal::SIGCONT);
            }
            Ok(WaitStatus::StillAlive) => return,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => system::leave(),
        }
    }
}
