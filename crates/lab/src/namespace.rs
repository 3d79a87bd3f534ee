//! A network namespace, held by a file descriptor only. It has no name and disappears with the last process that holds
//! it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{panic, thread};

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};

use crate::Error;
use crate::netlink;

/// The loopback's index in every namespace (`LOOPBACK_IFINDEX` of include/net/flow.h).
const LOOPBACK: u32 = 1;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    descriptor: OwnedFd,
}

impl Namespace {
    /// Creates a namespace with only the loopback interface, which is up.
    pub fn new() -> Result<Self, Error> {
        let descriptor = on_own_thread(create)??;
        let namespace = Self { descriptor };
        netlink::Socket::open(&namespace)?.raise(LOOPBACK)?;
        Ok(namespace)
    }

    /// Returns another handle of the same namespace.
    pub fn try_clone(&self) -> Result<Self, Error> {
        let descriptor = self.descriptor.try_clone();
        let descriptor = descriptor.map_err(Error::system("copy a namespace's descriptor"))?;
        Ok(Self { descriptor })
    }

    /// The namespace of the calling thread.
    pub fn current() -> Result<Self, Error> {
        open().map(|descriptor| Self { descriptor })
    }

    /// Moves this thread into the namespace for good. Sockets that it opens afterwards belong to the namespace.
    pub fn enter(&self) -> Result<(), Error> {
        setns(&self.descriptor, CloneFlags::CLONE_NEWNET)
            .map_err(Error::system("enter a network namespace"))
    }

    /// Runs `work` on a thread inside the namespace and waits for it.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        on_own_thread(|| self.enter().map(|()| work()))?
    }
}

impl From<OwnedFd> for Namespace {
    fn from(descriptor: OwnedFd) -> Self {
        Self { descriptor }
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Runs `work` on a separate thread: a namespace is a property of a thread, and the caller stays in its own.
fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .spawn_scoped(scope, work)
            .map_err(Error::system("start a thread for a network namespace"))?;
        worker.join().map_err(|panicked| panic::resume_unwind(panicked))
    })
}

fn create() -> Result<OwnedFd, Error> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(refused)?;
    open()
}

fn open() -> Result<OwnedFd, Error> {
    File::open("/proc/thread-self/ns/net")
        .map(OwnedFd::from)
        .map_err(Error::system("open /proc/thread-self/ns/net"))
}

fn refused(errno: Errno) -> Error {
    let help = match errno {
        Errno::EPERM => {
            "run it as root, or on a machine that lets users create namespaces (`unshare -rn true`)"
        }
        Errno::ENOSPC => "raise the limit: sysctl -w user.max_net_namespaces=10000",
        Errno::EINVAL => "boot a kernel with network namespaces (CONFIG_NET_NS)",
        _ => return Error::system("create a network namespace")(errno),
    };
    Error::lacking("create a network namespace", io::Error::from(errno), help)
}
