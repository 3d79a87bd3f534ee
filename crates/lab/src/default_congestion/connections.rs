//! The BPF program that sets an algorithm on each connection of some namespaces.
//!
//! It is attached to the root of the cgroup hierarchy, where it sees every process that enters a host, from
//! whatever terminal; it leaves other namespaces alone. The link goes with the process.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};
use nix::sys::socket::{getsockopt, sockopt};

use crate::Namespace;
use crate::device::option;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/default_congestion.bpf.o"));

/// Linux's TCP_CA_NAME_MAX, with the terminating zero.
const NAME_BYTES: usize = 16;

/// The program at work.
#[derive(Debug)]
pub(super) struct Connections {
    _link: Link,
    _object: Object,
}

impl Connections {
    /// Sets `algorithm` on connections of `hosts` from now on, and tries it on one.
    ///
    /// # Errors
    /// If this kernel or this user cannot, or a connection has another algorithm all the same.
    pub(super) fn attach(hosts: &[&Namespace], algorithm: &str) -> io::Result<Self> {
        // What libbpf would print is in the error as far as it matters.
        libbpf_rs::set_print(None);
        let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(told)?;
        for mut map in open.maps_mut().filter(|map| map.name() == OsStr::new("names")) {
            map.set_max_entries(hosts.len() as u32).map_err(told)?;
        }
        let object = open.load().map_err(told)?;
        let mut name = [0; NAME_BYTES];
        for (place, byte) in name.iter_mut().take(NAME_BYTES - 1).zip(algorithm.bytes()) {
            *place = byte;
        }
        let names = object.maps().find(|map| map.name() == OsStr::new("names"));
        let names = names.ok_or(io::ErrorKind::NotFound)?;
        for host in hosts {
            let cookie = cookie(host)?.to_ne_bytes();
            names.update(&cookie, &name, MapFlags::ANY).map_err(told)?;
        }
        let cgroup = File::open(root_cgroup()?)?;
        let program = object.progs_mut().next().ok_or(io::ErrorKind::NotFound)?;
        let link = program.attach_cgroup(cgroup.as_raw_fd()).map_err(told)?;
        hosts.first().map_or(Ok(()), |host| check(host, algorithm))?;
        Ok(Self { _link: link, _object: object })
    }
}

/// The number of a namespace that no other ever has (socket(7), Linux 5.14).
fn cookie(host: &Namespace) -> io::Result<u64> {
    let read = || {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        // SAFETY: the option is an integer of 64 bits.
        unsafe { option::get(&socket, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE) }
    };
    host.within(read).map_err(io::Error::other)?
}

/// Where the whole cgroup hierarchy of this process's cgroup namespace is mounted (cgroups(7), version 2).
fn root_cgroup() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    root_mount(&mounts).ok_or_else(|| io::Error::other("no cgroup2 is mounted"))
}

/// The mount in a `mountinfo` file of proc(5): its fields 4 and 5 are the root within the file system and the
/// mount point; the type comes after a hyphen.
fn root_mount(mounts: &str) -> Option<PathBuf> {
    let mount = |line: &str| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        (kind.starts_with("cgroup2 ") && root == "/").then(|| PathBuf::from(point))
    };
    mounts.lines().find_map(mount)
}

/// Makes a connection in `host` and looks what both ends have.
fn check(host: &Namespace, algorithm: &str) -> io::Result<()> {
    let connect = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let active = TcpStream::connect(listener.local_addr()?)?;
        let (passive, _) = listener.accept()?;
        for end in [&active, &passive] {
            let found = getsockopt(end, sockopt::TcpCongestion)?;
            if found != algorithm {
                let found = found.display();
                return Err(io::Error::other(format!("a connection has `{found}` all the same")));
            }
        }
        Ok(())
    };
    host.within(connect).map_err(io::Error::other)?
}

/// What libbpf says, with what it comes from.
fn told(error: libbpf_rs::Error) -> io::Error {
    io::Error::other(format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_hierarchy_is_found_among_mounts() {
        let hybrid = "\
            24 20 0:21 / /sys/fs/cgroup rw shared:6 - tmpfs tmpfs rw,mode=755\n\
            25 24 0:22 / /sys/fs/cgroup/cpu rw shared:7 - cgroup cgroup rw,cpu\n\
            26 24 0:23 /one /mnt/part rw - cgroup2 cgroup2 rw\n\
            27 24 0:23 / /sys/fs/cgroup/unified rw shared:8 - cgroup2 cgroup2 rw\n";
        assert_eq!(root_mount(hybrid), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        let part = "26 24 0:23 /one /mnt/part rw - cgroup2 cgroup2 rw\n";
        assert_eq!(root_mount(part), None);
    }
}
