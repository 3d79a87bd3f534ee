//! The BPF program that sets an algorithm on each connection of some namespaces.
//!
//! It is attached to the root of the cgroup hierarchy, so it covers every process that enters a host, from any
//! terminal. It ignores other namespaces. The link disappears with the process.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};
use nix::sys::socket::{getsockopt, sockopt};

use crate::Namespace;
use crate::device::option;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/default_congestion.bpf.o"));

/// Linux's TCP_CA_NAME_MAX, with the terminating zero.
const NAME_BYTES: usize = 16;

/// The attached program.
#[derive(Debug)]
pub(super) struct Connections {
    _link: Link,
    _object: Object,
}

impl Connections {
    /// Sets `algorithm` on connections of `hosts` from now on, and tests it with a connection.
    ///
    /// # Errors
    /// If the kernel or the user's rights do not allow it, or the test connection still has another algorithm.
    pub(super) fn attach(hosts: &[&Namespace], algorithm: &str) -> io::Result<Self> {
        // The error contains the relevant part of what libbpf would print.
        libbpf_rs::set_print(None);
        let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(io_error)?;
        for mut map in open.maps_mut().filter(|map| map.name() == OsStr::new("names")) {
            map.set_max_entries(hosts.len() as u32).map_err(io_error)?;
        }
        let object = open.load().map_err(io_error)?;
        let mut name = [0; NAME_BYTES];
        for (place, byte) in name.iter_mut().take(NAME_BYTES - 1).zip(algorithm.bytes()) {
            *place = byte;
        }
        let names = object.maps().find(|map| map.name() == OsStr::new("names"));
        let names = names.ok_or(io::ErrorKind::NotFound)?;
        for host in hosts {
            let cookie = cookie(host)?.to_ne_bytes();
            names.update(&cookie, &name, MapFlags::ANY).map_err(io_error)?;
        }
        let cgroup = File::open(host::root_cgroup()?)?;
        let program = object.progs_mut().next().ok_or(io::ErrorKind::NotFound)?;
        let link = program.attach_cgroup(cgroup.as_raw_fd()).map_err(io_error)?;
        hosts.first().map_or(Ok(()), |host| check(host, algorithm))?;
        Ok(Self { _link: link, _object: object })
    }
}

/// The cookie of a namespace, a number that is never reused (socket(7), Linux 5.14).
fn cookie(host: &Namespace) -> io::Result<u64> {
    let read = || {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        // SAFETY: the option is an integer of 64 bits.
        unsafe { option::get(&socket, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE) }
    };
    host.within(read).map_err(io::Error::other)?
}

/// Opens a connection in `host` and checks the algorithm of both ends.
fn check(host: &Namespace, algorithm: &str) -> io::Result<()> {
    let connect = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let active = TcpStream::connect(listener.local_addr()?)?;
        let (passive, _) = listener.accept()?;
        for end in [&active, &passive] {
            let found = getsockopt(end, sockopt::TcpCongestion)?;
            if found != algorithm {
                let found = found.display();
                return Err(io::Error::other(format!("a connection still has `{found}`")));
            }
        }
        Ok(())
    };
    host.within(connect).map_err(io::Error::other)?
}

/// Converts an error of libbpf, with its causes.
fn io_error(error: libbpf_rs::Error) -> io::Error {
    io::Error::other(format!("{error:#}"))
}
