//! Congestion control: one C file per algorithm (`algorithms/`), written against `include/cc.h`.
//!
//! This is their Rust face, for the simulator. The same C text is compiled for the kernel by
//! `clang -target bpf`. Window arithmetic counts packets, as Linux does; no floating point anywhere.
#![no_std]

/// Where a connection stands, as Linux names it (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Nothing unusual.
    #[default]
    Open = 0,
    /// Duplicate ACKs or SACKs, no loss declared yet.
    Disorder = 1,
    /// The window is being reduced for ECN or local congestion.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}

/// Events that concern the window, as Linux numbers them (`enum tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Event {
    /// First transmission with nothing in flight.
    TxStart = 0,
    /// The window restarts after idle.
    CwndRestart = 1,
    /// The reduction for ECN or local congestion is complete.
    CompleteCwr = 2,
    /// A retransmission timeout fired.
    Loss = 3,
    /// An ECN-capable packet arrived without a congestion mark.
    EcnNoCe = 4,
    /// A packet arrived with a congestion mark.
    EcnIsCe = 5,
}

/// Bytes of private state an algorithm has, as in Linux (`ICSK_CA_PRIV_SIZE`).
pub const PRIVATE_BYTES: usize = 104;

/// What an algorithm sees of a connection: `struct cc` of `cc.h`, field for field.
///
/// The transport keeps its window here; before each hook it refreshes the fields marked "read".
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Sock {
    /// Congestion window in packets; written by algorithms.
    pub cwnd: u32,
    /// Slow start threshold in packets; written by algorithms.
    pub ssthresh: u32,
    /// Packets acknowledged towards the next increase; written by algorithms.
    pub cwnd_cnt: u32,
    /// The largest window the transport allows; read.
    pub cwnd_clamp: u32,
    /// The window before the last reduction; read.
    pub prior_cwnd: u32,
    /// Maximum segment size in bytes; read.
    pub mss: u32,
    /// Packets in flight; read.
    pub in_flight: u32,
    /// 1 if the window, not the application, limits sending; read.
    pub cwnd_limited: u32,
    /// Smoothed RTT in microseconds, times 8 as in Linux; read.
    pub srtt_us8: u32,
    /// Least RTT seen in microseconds, `u32::MAX` before the first sample; read.
    pub min_rtt_us: u32,
    /// First unacknowledged sequence number; read.
    pub snd_una: u32,
    /// Next sequence number to send; read.
    pub snd_nxt: u32,
    /// [`State`]; read.
    pub state: u32,
    /// Packets delivered so far, wrapping; read.
    pub delivered: u32,
    /// Pacing rate in bytes per second; written by algorithms that own it.
    pub pacing_rate: u64,
    /// The time in microseconds; read.
    pub now_us: u64,
    /// The algorithm's own state, zero before `init`.
    pub private: [u64; PRIVATE_BYTES / 8],
}

/// No threshold yet: Linux's `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// One congestion control algorithm.
#[derive(Debug)]
pub struct Algorithm {
    name: &'static str,
    summary: &'static str,
}

impl Algorithm {
    /// The algorithm of that name, if there is one.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|a| a.name == name)
    }

    /// Every algorithm, in alphabetical order.
    pub fn all() -> &'static [Self] {
        &[Self { name: "newreno", summary: "RFC 5681 and 6582" }]
    }

    /// Its name, as in scenarios and as the kernel registers it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One line on what it is and where it is specified.
    pub fn summary(&self) -> &'static str {
        self.summary
    }

    /// A connection was established: set up the private state.
    pub fn init(&self, _sock: &mut Sock) {}

    /// The threshold to fall to, on entering CWR, Recovery or Loss.
    pub fn ssthresh(&self, sock: &mut Sock) -> u32 {
        (sock.cwnd / 2).max(2)
    }

    /// An ACK arrived outside recovery: `acked` packets grow the window.
    pub fn cong_avoid(&self, sock: &mut Sock, _ack: u32, acked: u32) {
        sock.cwnd += acked;
    }

    /// `acked` packets left the network, the last with a round trip of `rtt_us` (below zero: none known).
    pub fn pkts_acked(&self, _sock: &mut Sock, _acked: u32, _rtt_us: i32, _in_flight: u32) {}

    /// Something concerning the window happened.
    pub fn cwnd_event(&self, _sock: &mut Sock, _event: Event) {}

    /// The connection is about to move to `new`; `sock.state` is still the old one.
    pub fn set_state(&self, _sock: &mut Sock, _new: State) {}

    /// The reduction was spurious: the window to return to.
    pub fn undo_cwnd(&self, sock: &mut Sock) -> u32 {
        sock.cwnd.max(sock.prior_cwnd)
    }
}
