//! The sending half of a connection: what may be sent, what was, and what its ACKs mean.

mod ack;
mod burst;
pub(crate) mod emit;
mod idle;
mod limited;
mod loss;
mod metrics;
mod options;
mod parts;
mod prr;
mod rack;
mod rate;
mod recovery;
pub(crate) mod rtt;
mod sack;
mod timers;
mod undo;
mod write;

use alloc::boxed::Box;

use base::{Duration, Instant};
use congestion::{Algorithm, Event, INFINITE_SSTHRESH, PRIVATE_BYTES, Sock, State};

use crate::clock::TimestampClock;
use crate::config::{Config, Reduction};
use crate::scoreboard::Scoreboard;
use crate::seq::{ORIGIN, SequenceSpace};
use burst::Burst;

pub use metrics::PathMetrics;
use parts::{PeerWindow, Policy, Probe, Repair, Usage};
use prr::Prr;
use rack::Rack;
use rate::Rates;
use rtt::Rtt;
use timers::Timer;
use undo::Undo;
use write::WriteQueue;

/// The counters of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderStatistics {
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_retransmitted: u64,
    pub(crate) data_segments: u64,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_recoveries: u64,
    pub(crate) undos: u64,
    pub(crate) spurious_timeouts: u64,
    pub(crate) dsacks: u64,
    /// Segments that they reported.
    pub(crate) duplicated: u64,
    pub(crate) duplicate_acks: u64,
    pub(crate) tlp_probes: u64,
    pub(crate) zero_window_probes: u64,
    pub(crate) local_drops: u64,
    pub(crate) ecn_echoes: u64,
    pub(crate) window_reductions: u64,
    pub(crate) walked: u64,
    /// The latest delivery sample, from when its segment was sent, with the segments delivered by then, up to now,
    /// with the segments delivered now.
    pub(crate) sample_from: (Instant, u32),
    pub(crate) sample_to: (Instant, u32),
}

/// The result of the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// Payload bytes of a full segment.
    pub(crate) mss: u32,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    pub(crate) ecn: bool,
    /// Shift of the windows that the peer advertises.
    pub(crate) window_shift: u8,
}

/// The sender. The fields that every ACK and segment uses come first and together: with hundreds of connections each
/// of its cache lines has to be fetched again.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// First position not acknowledged; next position to send.
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    /// The position after the last byte that the application handed over.
    pub(crate) supplied: u64,
    /// The position after the last byte in the send buffer, and the buffer's size in bytes of payload where it has no
    /// `writes`.
    written: u64,
    buffer: u64,
    peer: PeerWindow,
    pub(crate) space: SequenceSpace,
    pub(crate) agreed: Agreed,
    /// Nothing goes out before the next ACK, timer or write: everything that may be sent was sent, or the interface's
    /// queue was full.
    resting: bool,
    /// Nothing more goes out, as with `resting`, but the end of sending is still to be handled (`stop_as_foreseen`).
    stopping: bool,
    /// The value of [`Self::is_fast_path`] at the last event that could change it.
    fast_path: bool,
    /// The application will hand over no more.
    closing: bool,
    /// The FIN went out, at the end of the segment before `nxt`.
    pub(crate) fin_sent: bool,
    /// The next data segment carries CWR (RFC 3168, section 6.1.2).
    cwr_pending: bool,
    /// The program waits for room in a send buffer that has `writes`.
    waits: bool,
    policy: Policy,
    usage: Usage,
    last_sent: Instant,
    delivered_total: u64,
    delivered: u32,
    /// Timeouts of the head in a row.
    pub(crate) retries: u32,
    timer: Timer,
    burst: Burst,
    /// The write queue of a send buffer that counts memory.
    writes: Option<Box<WriteQueue>>,
    pub(crate) board: Scoreboard,
    pub(crate) clock: TimestampClock,
    pub(crate) rtt: Rtt,
    rack: Rack,
    /// Samples of the delivery rate, if the algorithm controls by them.
    rates: Option<Box<Rates>>,
    /// The congestion control's view; its `cwnd` and `ssthresh` are the connection's.
    pub(crate) sock: Sock,
    pub(crate) stats: SenderStatistics,
    prr: Prr,
    pub(crate) state: State,
    repair: Repair,
    undo: Undo,
    probe: Probe,
    validated: idle::Validated,
    limited: limited::Limited,
    /// The SACK blocks of the last ACK that had any.
    blocks_before: [(u64, u64); base::packet::SACK_BLOCKS_MAX],
    /// When the algorithm's view was last brought up to date.
    refreshed: Instant,
    /// End of the last small segment sent (Minshall's variant of Nagle's rule).
    small_end: u64,
    pub(crate) config: Config,
    /// No fast path is taken.
    #[cfg(test)]
    pub(crate) general: bool,
}

/// How an algorithm that needs ECN wants ACKs to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    /// ACKs echo a congestion mark.
    pub(crate) ce: bool,
    /// An ACK goes out at once. Before it goes the delayed ACK, with the other echo and up to this number.
    pub(crate) prior: Option<u32>,
}

fn sock(config: &Config) -> Sock {
    Sock {
        cwnd: config.window.initial,
        ssthresh: config.window.initial_ssthresh,
        cwnd_cnt: 0,
        cwnd_clamp: config.window.clamp,
        prior_cwnd: 0,
        mss: config.payload_max(config.segment.timestamps),
        in_flight: 0,
        cwnd_limited: 0,
        srtt_us8: 0,
        min_rtt_us: u32::MAX,
        snd_una: 0,
        snd_nxt: 0,
        state: State::Open as u32,
        delivered: 0,
        jiffies: 0,
        last_sent: 0,
        gso_max: config.emission.tso_max,
        delivered_ce: 0,
        rcv_nxt: 0,
        ack_prior: 0,
        lost: 0,
        sack: 0,
        echo_ce: 0,
        ack_now: 0,
        hz: config.hz(),
        paced: u16::from(config.emission.pacing),
        pacing_rate: 0,
        now_us: 0,
        private: [0; PRIVATE_BYTES / 8],
    }
}

impl Sender {
    /// Creates a sender with `initial` as the sequence number of its SYN.
    pub(crate) fn new(config: &Config, initial: u32) -> Self {
        let start = ORIGIN + 1;
        Self {
            config: *config,
            agreed: Agreed {
                mss: config.payload_max(false),
                sack: false,
                timestamps: false,
                ecn: false,
                window_shift: 0,
            },
            space: SequenceSpace::new(initial),
            clock: TimestampClock::new(config.segment.timestamp_tick),
            sock: sock(config),
            state: State::Open,
            board: Scoreboard::new(start),
            rtt: Rtt::new(&config.rto),
            stats: SenderStatistics::default(),
            una: start,
            nxt: start,
            supplied: start,
            closing: false,
            fin_sent: false,
            written: start,
            buffer: config.buffers.send.initial(config.initial_window_bytes()),
            peer: PeerWindow::closed(start),
            repair: Repair::new(start, config.recovery.dup_threshold),
            delivered: 0,
            delivered_total: 0,
            prr: Prr::default(),
            rack: Rack::default(),
            rates: config.congestion.algorithm().controls().then(|| Box::new(Rates::new())),
            undo: Undo::default(),
            burst: Burst::new(&config.emission),
            writes: WriteQueue::new(config),
            retries: 0,
            probe: Probe::default(),
            timer: Timer::default(),
            policy: Policy::new(config),
            waits: true,
            resting: false,
            stopping: false,
            fast_path: false,
            cwr_pending: false,
            usage: Usage::new(start),
            last_sent: Instant::ZERO,
            validated: idle::Validated::default(),
            limited: limited::Limited::default(),
            blocks_before: Default::default(),
            refreshed: Instant::NEVER,
            small_end: 0,
            #[cfg(test)]
            general: false,
        }
    }

    /// The handshake is complete; the peer's first window arrived.
    pub(crate) fn establish(&mut self, agreed: Agreed, window: u64, seq: u32, now: Instant) {
        self.agreed = agreed;
        self.policy.probes_tail = self.config.recovery.tlp && agreed.sack;
        self.peer.from = seq;
        (self.sock.mss, self.sock.sack) = (agreed.mss, u32::from(agreed.sack));
        (self.peer.end, self.peer.max) = (self.una + window, window);
        (self.last_sent, self.usage.stamp) = (now, now);
        // The SYN was delivered: Linux counts it.
        self.delivered = 1;
        self.allow_sending();
        self.refresh_fast_path();
        self.begin_congestion(now);
        self.open_buffer();
    }

    /// Takes the window from the segment that completes the handshake, scaled.
    pub(crate) fn open_window(&mut self, tcp: &base::packet::Tcp) {
        let window = u64::from(tcp.window) << self.agreed.window_shift;
        self.peer.end = self.una + window;
        self.peer.max = self.peer.max.max(window);
        self.allow_sending();
    }

    /// The handshake's round trip, and what its retransmissions mean: more than one lost SYN starts
    /// from one segment (RFC 5681, section 3.1).
    pub(crate) fn sample_handshake(&mut self, sent: Option<Instant>, times: u32, now: Instant) {
        if let Some(sent) = sent {
            self.rtt.sample(sent, now, self.una, self.nxt);
        } else if times > 2 {
            self.sock.cwnd = 1;
        }
    }

    #[inline]
    fn algorithm(&self) -> &'static Algorithm {
        self.config.congestion.algorithm()
    }

    /// Whether the algorithm decides on window and pacing rate at every ACK.
    #[inline]
    fn controls(&self) -> bool {
        self.rates.is_some()
    }

    /// Packets in flight; duplicate ACKs count as delivered where there is no SACK.
    #[inline]
    pub(crate) const fn in_flight(&self) -> u32 {
        if matches!(self.config.recovery.reduction, Reduction::Inflate) {
            // Duplicate ACKs inflate the window instead.
            return self.board.in_flight();
        }
        self.board.in_flight().saturating_sub(self.repair.reno_sacked)
    }

    /// Brings the fields that an algorithm reads up to date, before a hook.
    #[inline]
    fn refresh(&mut self, now: Instant) {
        self.refreshed = now;
        self.sock.in_flight = self.in_flight();
        self.sock.srtt_us8 = self.rtt.srtt8();
        self.sock.min_rtt_us = self.rtt.min_us();
        self.sock.snd_una = self.space.wire(self.una);
        self.sock.snd_nxt = self.space.wire(self.nxt);
        self.sock.state = self.state as u32;
        self.sock.delivered = self.delivered;
        self.sock.lost = self.board.losses();
        self.sock.jiffies = self.jiffies(now);
        self.sock.last_sent = self.jiffies(self.last_sent);
        if !self.controls() {
            self.sock.pacing_rate = self.pacing_rate();
        }
        self.sock.now_us = now.as_us();
    }

    /// Ticks of the stack's clock.
    #[inline]
    const fn jiffies(&self, at: Instant) -> u32 {
        (at.as_us() * self.sock.hz as u64 / 1_000_000) as u32
    }

    /// Notifies the algorithm of each entry into a state, also of Loss from Loss by another timeout.
    fn set_state(&mut self, new: State, now: Instant) {
        self.refresh(now);
        self.algorithm().set_state(&mut self.sock, new);
        self.state = new;
        self.sock.state = new as u32;
    }

    #[cold]
    #[inline(never)]
    fn notify(&mut self, event: Event, now: Instant) {
        self.refresh(now);
        let rate = self.sock.pacing_rate;
        self.algorithm().cwnd_event(&mut self.sock, event);
        self.take_pacing(rate);
    }

    /// Whether the algorithm cannot do without ECN.
    pub(crate) fn needs_ecn(&self) -> bool {
        self.algorithm().needs_ecn()
    }

    /// Returns whether the algorithm is notified of marks on data that comes in.
    pub(crate) fn reports_marks(&self) -> bool {
        self.agreed.ecn && self.needs_ecn()
    }

    /// Notifies an algorithm that needs ECN of ECN-capable data and whether it was marked (Linux:
    /// `tcp_data_ecn_check`). `rcv_nxt` is what is expected next, `echoing` whether ACKs echo a mark.
    pub(crate) fn on_capable_data(
        &mut self,
        marked: bool,
        rcv_nxt: u32,
        echoing: bool,
        now: Instant,
    ) -> Echo {
        (self.sock.rcv_nxt, self.sock.echo_ce) = (rcv_nxt, u16::from(echoing));
        self.sock.ack_now = 0;
        self.notify(if marked { Event::EcnIsCe } else { Event::EcnNoCe }, now);
        let prior = (self.sock.ack_now != 0).then_some(self.sock.ack_prior);
        Echo { ce: self.sock.echo_ce != 0, prior }
    }

    fn set_cwnd(&mut self, cwnd: u32, now: Instant) {
        self.sock.cwnd = cwnd.clamp(1, self.sock.cwnd_clamp);
        self.usage.stamp = now;
    }

    /// Linux's `tcp_current_ssthresh`: what an idle or troubled connection may come back to.
    fn current_ssthresh(&self) -> u32 {
        let threshold = self.sock.ssthresh;
        match self.state {
            State::Cwr | State::Recovery => threshold,
            _ => threshold.max((self.sock.cwnd >> 1) + (self.sock.cwnd >> 2)),
        }
    }

    /// Whether the window is below the threshold.
    #[inline]
    const fn in_slow_start(&self) -> bool {
        self.sock.cwnd < self.sock.ssthresh
    }

    /// Returns whether nothing is marked, suspected, forced or under examination. Then an ACK can only mean progress,
    /// all packets out are in flight, and only new data is to be sent.
    fn is_fast_path(&self) -> bool {
        #[cfg(test)]
        if self.general {
            return false;
        }
        self.state == State::Open
            && !self.board.is_marked()
            && self.probe.high == 0
            && self.repair.reno_sacked == 0
            && self.probe.forced.is_none()
            && !self.repair.send_new_first
            // What comes next may end the connection.
            && !self.fin_sent
            // Each segment and each ACK is sampled, or each mark is reported.
            && !self.controls()
            && !self.reports_marks()
    }

    #[cfg(test)]
    pub(crate) fn predict_nothing(&mut self) {
        self.general = true;
        self.refresh_fast_path();
    }

    /// Updates `fast_path` after an unusual event was handled.
    #[inline]
    fn refresh_fast_path(&mut self) {
        self.fast_path = self.is_fast_path();
    }

    /// Returns whether a segment may go out before the next ACK, timer or write. Handles the end of sending if the
    /// last segment foresaw that.
    #[inline]
    pub(crate) fn may_send(&mut self, now: Instant) -> bool {
        if self.stopping {
            self.stop_as_foreseen(now);
        }
        !self.resting
    }

    /// Notes that something happened that may let segments go out.
    #[inline]
    fn allow_sending(&mut self) {
        (self.resting, self.stopping) = (false, false);
    }

    /// The application will hand over no more: a FIN follows the data.
    pub(crate) fn close(&mut self) {
        self.closing = true;
        self.allow_sending();
    }

    /// Every byte and the FIN were acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin_sent && self.una == self.nxt
    }

    /// Payload bytes acknowledged; the FIN does not count.
    pub(crate) fn bytes_acked(&self) -> u64 {
        self.una - ORIGIN - 1 - u64::from(self.is_finished())
    }

    /// Whether the reduction inflates the window by duplicate ACKs rather than counts them.
    #[inline]
    fn inflates(&self) -> bool {
        self.config.recovery.reduction == Reduction::Inflate
    }

    /// The last sample's delivery rate in bytes per second.
    pub(crate) fn delivery_rate(&self) -> u64 {
        let (from, to) = (self.stats.sample_from, self.stats.sample_to);
        let bytes = u128::from(to.1.wrapping_sub(from.1)) * u128::from(self.agreed.mss);
        let ps = u128::from(to.0.since(from.0).as_ps().max(1));
        u64::try_from(bytes * 1_000_000_000_000 / ps).unwrap_or(u64::MAX)
    }

    /// Window, buffer and estimates for a snapshot.
    pub(crate) fn fill(&self, info: &mut crate::Info) {
        let stats = &self.stats;
        info.reports_decisions = true;
        info.ca_state = self.state;
        (info.cwnd, info.ssthresh) = (self.sock.cwnd, self.sock.ssthresh.min(INFINITE_SSTHRESH));
        info.mss = self.agreed.mss;
        (info.srtt, info.rttvar, info.rto) = (self.rtt.srtt(), self.rtt.variance(), self.rtt.rto());
        if self.rtt.min_us() != u32::MAX {
            info.min_rtt = Duration::from_us(u64::from(self.rtt.min_us()));
        }
        info.latest_rtt = Duration::from_us(u64::from(self.rtt.latest_us()));
        info.bytes_acked = self.bytes_acked();
        (info.bytes_sent, info.bytes_retransmitted) = (stats.bytes_sent, stats.bytes_retransmitted);
        info.bytes_written = self.written - ORIGIN - 1;
        (info.data_segments_sent, info.retransmissions) =
            (stats.data_segments, stats.retransmissions);
        (info.timeouts, info.fast_recoveries) = (stats.timeouts, stats.fast_recoveries);
        (info.undos, info.spurious_timeouts) = (stats.undos, stats.spurious_timeouts);
        (info.dsacks_received, info.duplicate_acks) = (stats.dsacks, stats.duplicate_acks);
        (info.tlp_probes, info.zero_window_probes) = (stats.tlp_probes, stats.zero_window_probes);
        (info.local_drops, info.ecn_echoes) = (stats.local_drops, stats.ecn_echoes);
        info.window_reductions = stats.window_reductions;
        info.delivered = self.delivered_total;
        (info.packets_out, info.in_flight) = (self.board.out(), self.in_flight());
        (info.sacked, info.lost) =
            (self.board.sacked() + self.repair.reno_sacked, self.board.lost());
        (info.retransmitted, info.reordering) =
            (self.board.retransmitted(), self.repair.reordering);
        info.peer_window = self.peer.end.saturating_sub(self.una);
        info.send_buffer = self.buffer_size();
        (info.delivery_rate, info.pacing_rate) = (self.delivery_rate(), self.pacing_rate());
        info.walked = stats.walked;
    }
}
