//! Datagrams from the left host to the right one.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lab::Namespace;
use lab::clock::Clock;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::RcvBufForce;

use crate::machines::{LEFT, Machines, RIGHT};

/// UDP payload of each.
pub(crate) const PAYLOAD: usize = 1_000;

/// A socket in each host, both with one port.
pub(crate) struct Datagrams {
    port: u16,
    from: UdpSocket,
    to: UdpSocket,
}

impl Datagrams {
    pub(crate) fn new(machines: &Machines, port: u16) -> Self {
        let (from, to) = (bound(&machines.left, LEFT, port), bound(&machines.right, RIGHT, port));
        Self { port, from, to }
    }

    /// Sends `count` datagrams at once.
    pub(crate) fn burst(&self, count: usize) {
        for _ in 0..count {
            self.from.send_to(&[0; PAYLOAD], (RIGHT, self.port)).expect("send");
        }
    }

    /// Sends about 17 Mbit/s until `stop` is set, and catches up when it was delayed; returns the number of
    /// datagrams.
    pub(crate) fn flood(&self, stop: &AtomicBool) -> u64 {
        const A_MILLISECOND: u64 = 2;
        let clock = Clock::starting_in(Duration::ZERO);
        let mut sent = 0;
        while !stop.load(Ordering::Relaxed) {
            let due = clock.now().as_ps() / 1_000_000_000 * A_MILLISECOND;
            self.burst((due - sent) as usize);
            sent = due;
            thread::sleep(Duration::from_millis(1));
        }
        sent
    }

    /// Waits at most half a second for a datagram; returns its length.
    pub(crate) fn receive(&self) -> io::Result<usize> {
        self.to.recv(&mut [0; 2_048])
    }

    /// Counts what arrives until nothing has for a while after `stop`.
    pub(crate) fn count(&self, stop: &AtomicBool, counted: &AtomicU64) {
        loop {
            match self.receive() {
                Ok(_) => drop(counted.fetch_add(1, Ordering::Relaxed)),
                Err(_) if stop.load(Ordering::Relaxed) => return,
                Err(_) => {}
            }
        }
    }
}

/// A bound UDP socket in a host.
fn bound(host: &Namespace, address: &str, port: u16) -> UdpSocket {
    let socket = host.within(|| UdpSocket::bind((address, port)));
    let socket = socket.expect("a namespace").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    // Or datagrams are lost there while this thread waits for its turn.
    setsockopt(&socket, RcvBufForce, &(8 << 20)).expect("root may");
    socket
}
