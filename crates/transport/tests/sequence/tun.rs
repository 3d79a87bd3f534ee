//! A TUN device in a network namespace of this thread's own: what the kernel sends there this process
//! reads, and what it writes the kernel has received by when the call returns.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::time::TimeSpec;

nix::ioctl_write_int!(set_interface, b'T', 202);

/// `struct ifreq` as TUNSETIFF reads it.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

const IFF_TUN: i16 = 1;
const IFF_NO_PI: i16 = 0x1000;

pub(crate) struct Tun(File);

impl Tun {
    /// Moves this thread into a new namespace, with a device of 1500 bytes and the kernel's defaults, except
    /// for state that one connection would leave to the next.
    pub(crate) fn new() -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("root may make a namespace");
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .expect("/dev/net/tun");
        let mut name = [0; 16];
        name[..2].copy_from_slice(b"t0");
        let request = InterfaceRequest { name, flags: IFF_TUN | IFF_NO_PI, rest: [0; 22] };
        // SAFETY: the request is a whole `struct ifreq` that outlives the call.
        let set = unsafe { set_interface(file.as_raw_fd(), (&raw const request) as u64) };
        set.expect("root may make a TUN device");
        for line in [
            "ip addr add 10.78.0.1/24 dev t0",
            "ip link set t0 txqueuelen 10000 up",
            "ip link set t0 gso_max_segs 1",
        ] {
            run(line);
        }
        sysctl("tcp_no_metrics_save", "1");
        Self(file)
    }

    /// Waits until the kernel sends, or `span` is over.
    pub(crate) fn wait(&self, span: Duration) {
        let mut polled = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        ppoll(&mut polled, Some(TimeSpec::from_duration(span)), None).expect("ppoll");
    }

    /// The next datagram that the kernel sent, in `buffer`.
    pub(crate) fn read<'a>(&mut self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        match self.0.read(buffer) {
            Ok(length) => Some(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("reading the TUN device: {error}"),
        }
    }

    /// The kernel receives a datagram.
    pub(crate) fn write(&mut self, datagram: &[u8]) {
        let written = self.0.write(datagram).expect("the device is up");
        assert_eq!(written, datagram.len());
    }
}

/// Runs one command line; it must succeed.
fn run(line: &str) {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().expect("a command")).args(words).output();
    let output = output.unwrap_or_else(|e| panic!("{line}: {e}"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Sets a setting of this namespace's TCP.
pub(crate) fn sysctl(name: &str, value: &str) {
    let path = format!("/proc/sys/net/ipv4/{name}");
    fs::write(&path, value).unwrap_or_else(|e| panic!("{path}: {e}"));
}
