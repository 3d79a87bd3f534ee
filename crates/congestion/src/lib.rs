//! Congestion control: one C file per algorithm (`algorithms/`), written against `include/cc.h`.
//!
//! This crate is their Rust interface, for the simulator. The same C source is compiled for the kernel by `clang
//! -target bpf`: with the feature `bpf` the crate embeds those objects. It is also compiled into the guest kernel:
//! the kernel build takes [`Algorithm::source`] and [`HEADERS`]. Window arithmetic counts packets, as Linux does;
//! no floating point anywhere.
//!
//! A new algorithm is one file in `algorithms/` and one line in `src/registry.rs`; the tests over
//! random hook sequences, the registration with the kernel and the replay then cover it.
#![no_std]

mod parameter;
mod phases;
mod registry;

pub use parameter::{Config, PARAMETERS_MAX, Parameter, Parameters, Refused};
#[cfg(feature = "bpf")]
pub use phases::PHASES_BPF_OBJECT;
pub use phases::{PHASES_MAX, PHASES_SOURCE, Phases};

/// The congestion state of a connection, named as in Linux (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// Data arrived that is ECN-capable and has no congestion mark. As in Linux, only an algorithm that needs ECN
    /// receives this event and the next.
    EcnNoCe = 4,
    /// Data arrived with a congestion mark.
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
    /// Minimum RTT in microseconds, `u32::MAX` before the first sample; read.
    pub min_rtt_us: u32,
    /// First unacknowledged sequence number; read.
    pub snd_una: u32,
    /// Next sequence number to send; read.
    pub snd_nxt: u32,
    /// [`State`]; read.
    pub state: u32,
    /// Packets delivered so far, wrapping; read.
    pub delivered: u32,
    /// The time in ticks of the stack's clock (Linux's jiffies), wrapping; read.
    pub jiffies: u32,
    /// The time when data was last sent, in the same ticks; read.
    pub last_sent: u32,
    /// The largest segment passed to the device for segmentation (GSO), in bytes; read.
    pub gso_max: u32,
    /// Delivered packets with ACKs that echoed a congestion mark, wrapping; read.
    pub delivered_ce: u32,
    /// Next sequence number expected of the peer; read, at the two events of ECN.
    pub rcv_nxt: u32,
    /// The sequence number up to which a delayed ACK acknowledges, see `ack_now`; written with it.
    pub ack_prior: u32,
    /// Packets marked lost so far, retransmissions included, wrapping; read.
    pub lost: u32,
    /// 1 if the peer acknowledges selectively; read.
    pub sack: u32,
    /// Ticks per second; read.
    pub hz: u16,
    /// 1 if segments are spread over the round trip; written, 1 asks for it and 0 ends it.
    pub paced: u16,
    /// 1 if ACKs echo a congestion mark; written at the two events of ECN.
    pub echo_ce: u16,
    /// 0; an algorithm writes 1 at the two events of ECN to acknowledge at once; a delayed ACK is sent before that.
    pub ack_now: u16,
    /// Pacing rate in bytes per second, computed even if nothing paces; written by algorithms with `cong_control`,
    /// which own it. A value written by another hook lasts until the next ACK. [`UNPACED`] does not bind.
    pub pacing_rate: u64,
    /// The time in microseconds; read.
    pub now_us: u64,
    /// The algorithm's own state, zero before `init`.
    pub private: [u64; PRIVATE_BYTES / 8],
}

/// The information of an ACK on the packets that it acknowledges: `struct cc_ack` of `cc.h`, field for field.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AckSample {
    /// Round trip of the last of them in nanoseconds, below zero if none is known.
    pub rtt_ns: i64,
    /// Packets acknowledged cumulatively.
    pub acked: u32,
    /// Packets delivered since the newest of them was sent, itself included.
    pub in_flight: u32,
}

/// The delivery rate sample of an ACK: `struct cc_rate` of `cc.h`, field for field. The sampled packet is the most
/// recently sent one among those that the ACK delivers (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RateSample {
    /// Round trip of the last packet delivered in nanoseconds, below zero if none is known.
    pub rtt_ns: i64,
    /// The time over which the `delivered` packets were delivered, in nanoseconds; 0 if the ACK gives no sample.
    pub interval_ns: u64,
    /// Packets delivered since the sampled one was sent, itself included.
    pub delivered: u32,
    /// Packets among these with ACKs that echoed a congestion mark.
    pub delivered_ce: u32,
    /// Packets delivered in all when the sampled one was sent.
    pub prior_delivered: u32,
    /// Packets that this ACK delivers, cumulatively or selectively.
    pub acked: u32,
    /// Packets that this ACK shows to be lost.
    pub lost: u32,
    /// Packets in flight before this ACK.
    pub in_flight: u32,
    /// 1 if the sampled packet was sent when the application had no more data to send.
    pub app_limited: u32,
    /// 1 if the sampled packet was retransmitted.
    pub retransmitted: u32,
}

/// The headers, by name, that [`Algorithm::source`] and [`PHASES_SOURCE`] include in a kernel build.
pub const HEADERS: [(&str, &str); 11] = [
    ("bbr3.h", include_str!("../include/bbr3.h")),
    ("cc.h", include_str!("../include/cc.h")),
    ("cc_builtin.h", include_str!("../include/cc_builtin.h")),
    ("cc_log.h", include_str!("../include/cc_log.h")),
    ("cc_log_proc.h", include_str!("../include/cc_log_proc.h")),
    ("cc_tcp_sock.h", include_str!("../include/cc_tcp_sock.h")),
    ("highspeed_table.h", include_str!(concat!(env!("OUT_DIR"), "/highspeed_table.h"))),
    ("hystart.h", include_str!("../include/hystart.h")),
    ("hystartpp.h", include_str!("../include/hystartpp.h")),
    ("phases.h", include_str!("../include/phases.h")),
    ("restart.h", include_str!("../include/restart.h")),
];

/// A pacing rate that does not bind.
pub const UNPACED: u64 = u64::MAX;

/// No threshold yet: Linux's `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

// `cc.h` asserts the same offsets.
const _: () = {
    use core::mem::{offset_of, size_of};
    assert!(offset_of!(Sock, delivered) == 52);
    assert!(offset_of!(Sock, paced) == 90);
    assert!(offset_of!(Sock, pacing_rate) == 96);
    assert!(offset_of!(Sock, now_us) == 104);
    assert!(offset_of!(Sock, private) == 112);
    assert!(size_of::<Sock>() == 112 + PRIVATE_BYTES);
    assert!(offset_of!(AckSample, acked) == 8);
    assert!(size_of::<AckSample>() == 16);
    assert!(offset_of!(RateSample, delivered) == 16);
    assert!(size_of::<RateSample>() == 48);
};

/// One congestion control algorithm.
pub struct Algorithm {
    name: &'static str,
    kernel_name: &'static str,
    summary: &'static str,
    text: &'static str,
    example: &'static str,
    ops: &'static Hooks,
    #[cfg(feature = "bpf")]
    bpf_object: &'static [u8],
}

/// The hooks of one algorithm: `struct cc_ops` of `cc_native.h`, field for field. [`Algorithm`] documents each at
/// its call.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "each is named as the method that calls it")]
pub struct Hooks {
    pub ssthresh: extern "C" fn(&mut Sock) -> u32,
    pub cong_avoid: extern "C" fn(&mut Sock, u32, u32),
    pub undo_cwnd: extern "C" fn(&mut Sock) -> u32,
    pub init: Option<extern "C" fn(&mut Sock)>,
    pub pkts_acked: Option<extern "C" fn(&mut Sock, &AckSample)>,
    pub cwnd_event: Option<extern "C" fn(&mut Sock, u32)>,
    pub set_state: Option<extern "C" fn(&mut Sock, u32)>,
    pub cong_control: Option<extern "C" fn(&mut Sock, u32, &RateSample)>,
    pub parameters: &'static Parameters,
    /// The requirements on the caller: [`NEEDS_ECN`], [`TOLD_UNUSED`], [`WINDOW_ONLY`], [`ACKS_PACED`].
    pub flags: u32,
}

/// `enum cc_flag` of `cc.h`: ECN is negotiated regardless of the stack's setting (Linux's `TCP_CONG_NEEDS_ECN`).
pub const NEEDS_ECN: u32 = 1 << 1;
/// `enum cc_flag` of `cc.h`: `cong_avoid` has an effect even if `cwnd_limited` is 0.
pub const TOLD_UNUSED: u32 = 1 << 16;
/// `cong_avoid` reads only the window, the threshold and what bounds and limits the window.
pub const WINDOW_ONLY: u32 = 1 << 17;
/// `pkts_acked` has no effect if [`Sock::paced`] is 0.
pub const ACKS_PACED: u32 = 1 << 18;

/// The line without the space between a comment's text and its margin.
fn unspaced(line: &str) -> &str {
    line.strip_prefix(' ').unwrap_or(line)
}

/// Prints the name only: the objects for the kernel have thousands of bytes.
impl core::fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Algorithm").field(&self.name).finish()
    }
}

impl Algorithm {
    /// An algorithm outside the registry, for a test that records calls.
    pub const fn of_hooks(name: &'static str, hooks: &'static Hooks) -> Self {
        Self {
            name,
            kernel_name: name,
            summary: "",
            text: "",
            example: "",
            ops: hooks,
            #[cfg(feature = "bpf")]
            bpf_object: &[],
        }
    }

    /// The hooks themselves.
    pub const fn hooks(&self) -> &'static Hooks {
        self.ops
    }

    /// The algorithm of that name, if there is one.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|a| a.name == name)
    }

    /// Every algorithm, in alphabetical order.
    pub fn all() -> &'static [Self] {
        &registry::ALGORITHMS
    }

    /// Its name, as in scenarios.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The name it has in the kernel (for `TCP_CONGESTION`), and that of the struct_ops map in its
    /// BPF object; at most the 15 characters that Linux allows.
    pub fn kernel_name(&self) -> &'static str {
        self.kernel_name
    }

    /// Returns the C file as a BPF object: an ELF file for libbpf. Its struct_ops map [`Self::kernel_name`] registers
    /// the algorithm, through a link, for as long as the link lives.
    #[cfg(feature = "bpf")]
    pub fn bpf_object(&self) -> &'static [u8] {
        self.bpf_object
    }

    /// The C file itself.
    pub fn source(&self) -> &'static str {
        self.text
    }

    /// One line on what it is and where it is specified.
    pub fn summary(&self) -> &'static str {
        self.summary
    }

    /// Its parameters.
    pub fn parameters(&self) -> &'static [Parameter] {
        self.ops.parameters.list()
    }

    /// The initial comment of its C file, line by line: its rules, their sources, and its deviations from them.
    pub fn about(&self) -> impl Iterator<Item = &'static str> + use<> {
        let comment = self.text.split("\n/*\n").nth(1).unwrap_or_default();
        let comment = comment.split("\n */").next().unwrap_or_default();
        comment.lines().map(|line| line.strip_prefix(" *").unwrap_or(line)).map(unspaced)
    }

    /// An example scenario.
    pub const fn example(&self) -> &'static str {
        self.example
    }

    /// A connection was established: set up the private state, every parameter at its default.
    pub fn init(&self, sock: &mut Sock) {
        self.init_with(&self.ops.parameters.defaults(), sock);
    }

    fn init_with(&self, values: &[u32; PARAMETERS_MAX], sock: &mut Sock) {
        parameter::preset(values, sock);
        if let Some(init) = self.ops.init {
            init(sock);
        }
    }

    /// The threshold to fall to, on entering CWR, Recovery or Loss.
    pub fn ssthresh(&self, sock: &mut Sock) -> u32 {
        (self.ops.ssthresh)(sock)
    }

    /// Whether the algorithm requires ECN: its connections negotiate it regardless of the stack's setting, and it
    /// receives the events for marks on arriving data ([`Event::EcnIsCe`]).
    #[inline]
    pub const fn needs_ecn(&self) -> bool {
        self.ops.flags & NEEDS_ECN != 0
    }

    /// Whether [`Self::cong_avoid`] has an effect even if `cwnd_limited` is 0; if not, a transport need not call it
    /// then.
    #[inline]
    pub const fn is_called_unused(&self) -> bool {
        self.ops.flags & TOLD_UNUSED != 0
    }

    /// Whether [`Self::cong_avoid`] reads only the window and the threshold, so that a transport need not refresh
    /// the other fields.
    #[inline]
    pub const fn reads_window_only(&self) -> bool {
        self.ops.flags & WINDOW_ONLY != 0
    }

    /// Whether the algorithm sets the window and the pacing rate at every ACK, also in recovery
    /// ([`Self::cong_control`]). Then [`Self::cong_avoid`] is not called, and besides the algorithm only a timeout
    /// and an undo set the window.
    #[inline]
    pub const fn controls(&self) -> bool {
        self.ops.cong_control.is_some()
    }

    /// Handles an ACK that arrived with data in flight, in any state, with its losses known; called after
    /// [`Self::pkts_acked`].
    pub fn cong_control(&self, sock: &mut Sock, ack: u32, rate: &RateSample) {
        if let Some(cong_control) = self.ops.cong_control {
            cong_control(sock, ack, rate);
        }
    }

    /// An ACK arrived outside recovery: `acked` packets grow the window, unless `cwnd_limited` is 0.
    pub fn cong_avoid(&self, sock: &mut Sock, ack: u32, acked: u32) {
        (self.ops.cong_avoid)(sock, ack, acked);
    }

    /// Whether [`Self::pkts_acked`] has an effect for the given [`Sock::paced`]; if not, a transport need not
    /// prepare for it.
    #[inline]
    pub const fn observes_acks(&self, paced: u16) -> bool {
        self.ops.pkts_acked.is_some() && (paced != 0 || self.ops.flags & ACKS_PACED == 0)
    }

    /// Handles an ACK, in any state; called before [`Self::cong_avoid`].
    pub fn pkts_acked(&self, sock: &mut Sock, ack: &AckSample) {
        if let Some(pkts_acked) = self.ops.pkts_acked {
            pkts_acked(sock, ack);
        }
    }

    /// Handles an event that concerns the window.
    pub fn cwnd_event(&self, sock: &mut Sock, event: Event) {
        if let Some(cwnd_event) = self.ops.cwnd_event {
            cwnd_event(sock, event as u32);
        }
    }

    /// The connection is about to move to `new`; `sock.state` is still the old one.
    pub fn set_state(&self, sock: &mut Sock, new: State) {
        if let Some(set_state) = self.ops.set_state {
            set_state(sock, new as u32);
        }
    }

    /// The reduction was spurious: the window to return to.
    pub fn undo_cwnd(&self, sock: &mut Sock) -> u32 {
        (self.ops.undo_cwnd)(sock)
    }
}
