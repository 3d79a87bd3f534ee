//! One TCP connection that moves bytes and checks that they arrive unchanged.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, getsockopt, setsockopt, socket,
    sockopt::TcpCongestion,
};

use crate::namespace::{Pair, RECEIVER};

/// The timeout of socket calls: long enough for any recovery, short enough to fail a hung test.
const IO_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes and their FNV-1a hash over 8-byte words and the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) bytes: u64,
    hash: u64,
}

/// The outcome of a transfer.
pub(crate) struct Moved {
    pub(crate) sent: Digest,
    pub(crate) received: Digest,
    pub(crate) seconds: f64,
}

/// An open connection from the sender's to the receiver's namespace.
pub(crate) struct Transfer {
    from: TcpStream,
    to: TcpStream,
}

impl Digest {
    const EMPTY: Self = Self { bytes: 0, hash: 0xcbf2_9ce4_8422_2325 };

    fn add(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        for &byte in data {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

impl Transfer {
    /// Connects and has the sender use `congestion`.
    pub(crate) fn open(pair: &Pair, congestion: &str) -> Self {
        let listener = pair
            .at_receiver(|| TcpListener::bind((RECEIVER, 0)))
            .expect("the receiver's address is up");
        let address = listener.local_addr().expect("a bound socket");
        let from = pair
            .at_sender(|| TcpStream::connect_timeout(&address, IO_TIMEOUT))
            .expect("the namespaces are joined");
        let (to, _) = listener.accept().expect("the connection is there");
        let name = OsString::from(congestion);
        setsockopt(&from, TcpCongestion, &name).expect("the algorithm is registered");
        assert_eq!(getsockopt(&from, TcpCongestion).expect("a TCP socket"), name);
        Self::of(from, to)
    }

    /// Connects two ends that use `congestion` from the SYN on.
    pub(crate) fn open_chosen(pair: &Pair, congestion: &str) -> Self {
        let name = OsString::from(congestion);
        let listener = pair
            .at_receiver(|| TcpListener::bind((RECEIVER, 0)))
            .expect("the receiver's address is up");
        setsockopt(&listener, TcpCongestion, &name).expect("the algorithm is registered");
        let SocketAddr::V4(address) = listener.local_addr().expect("a bound socket") else {
            unreachable!("the receiver's address is of IPv4")
        };
        let from = pair.at_sender(|| {
            let kind = (AddressFamily::Inet, SockType::Stream);
            let socket = socket(kind.0, kind.1, SockFlag::empty(), None).expect("a TCP socket");
            setsockopt(&socket, TcpCongestion, &name).expect("the algorithm is registered");
            connect(socket.as_raw_fd(), &SockaddrIn::from(address)).expect("they are joined");
            TcpStream::from(socket)
        });
        let (to, _) = listener.accept().expect("the connection is there");
        Self::of(from, to)
    }

    fn of(from: TcpStream, to: TcpStream) -> Self {
        for end in [&from, &to] {
            end.set_read_timeout(Some(IO_TIMEOUT)).expect("a TCP socket");
            end.set_write_timeout(Some(IO_TIMEOUT)).expect("a TCP socket");
        }
        Self { from, to }
    }

    /// Moves `bytes` and closes.
    pub(crate) fn run(self, bytes: u64) -> Moved {
        self.run_in_bursts(bytes, 1, Duration::ZERO)
    }

    /// Moves `bytes`, `bursts` times, with silence between, and closes.
    pub(crate) fn run_in_bursts(self, bytes: u64, bursts: u32, silence: Duration) -> Moved {
        let Self { from, to } = self;
        // clippy's ban on clocks is for the algorithms; this measures the real machine.
        #[expect(clippy::disallowed_methods)]
        let start = Instant::now();
        let sending = thread::spawn(move || send(from, bytes, bursts, silence));
        let received = receive(to);
        let sent = sending.join().expect("the sender");
        Moved { sent, received, seconds: start.elapsed().as_secs_f64() }
    }
}

/// Sends a reproducible stream of bytes (xorshift64, fixed seed).
fn send(mut socket: TcpStream, bytes: u64, bursts: u32, silence: Duration) -> Digest {
    let (mut digest, mut state) = (Digest::EMPTY, 0x9e37_79b9_7f4a_7c15_u64);
    for burst in 1..=bursts {
        send_burst(&mut socket, bytes * u64::from(burst), &mut digest, &mut state);
        if burst < bursts {
            thread::sleep(silence);
        }
    }
    digest
}

/// Sends until `digest` has counted `bytes` bytes in total.
fn send_burst(socket: &mut TcpStream, bytes: u64, digest: &mut Digest, xorshift: &mut u64) {
    let mut state = *xorshift;
    let mut block = vec![0; 1 << 16];
    while digest.bytes < bytes {
        for word in block.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let length = (bytes - digest.bytes).min(block.len() as u64) as usize;
        socket.write_all(&block[..length]).expect("the receiver reads");
        digest.add(&block[..length]);
    }
    *xorshift = state;
}

/// Reads to the end.
fn receive(mut socket: TcpStream) -> Digest {
    let (mut digest, mut block) = (Digest::EMPTY, vec![0; 1 << 16]);
    loop {
        let length = socket.read(&mut block).expect("the sender sends");
        if length == 0 {
            return digest;
        }
        digest.add(&block[..length]);
    }
}
