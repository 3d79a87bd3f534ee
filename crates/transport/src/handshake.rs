//! Opening a connection: SYN, SYN-ACK, the options on them, and their own timer.

use base::Instant;
use base::packet::{Tcp, flags};

use crate::config::{Config, Ecn, TIMESTAMPS_BYTES};
use crate::receiver::Accepted;
use crate::sender::Agreed;
use crate::wheel;

/// The MSS of a peer that sends no MSS option (RFC 9293, section 3.7.1).
const MSS_DEFAULT: u16 = 536;
/// The flags of a SYN that asks for ECN; a SYN-ACK that agrees has ECE alone (RFC 3168, section
/// 6.1.1).
const ECN_SETUP: u8 = flags::ECE | flags::CWR;
/// "No window scale option".
pub(crate) const NO_SCALE: u8 = 255;

/// The handshake's timer and what was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshake {
    /// A SYN or SYN-ACK is to be sent.
    pub(crate) due: bool,
    /// When it was last sent, and how often.
    pub(crate) sent: Instant,
    pub(crate) times: u32,
    /// How often its timer expired. A SYN-ACK is also retransmitted for each repeated SYN, which is not a timeout
    /// (Linux's `num_timeout` and `num_retrans`).
    timeouts: u32,
    /// When it is retransmitted.
    pub(crate) deadline: Option<Instant>,
}

impl Handshake {
    /// Notes that it was sent. It is retransmitted after the initial timeout, doubled each time (RFC 6298, section
    /// 5.7). A SYN (no `answer`) is first sent `syn_linear` times at equal intervals.
    pub(crate) fn sent(&mut self, config: &Config, answer: bool, now: Instant) {
        self.due = false;
        self.sent = now;
        let doubled = self.timeouts.saturating_sub(linear(config, answer)).min(20);
        let wait = config.rto.initial.times(1 << doubled);
        let at = now + wait.min(config.rto.max);
        self.deadline =
            Some(if config.rto.wheel { wheel::expiry(now, at, &config.rto) } else { at });
        self.times += 1;
    }

    /// Whether its time is up.
    pub(crate) fn wake(&mut self, now: Instant) {
        if self.deadline.is_some_and(|at| at <= now) {
            self.due = true;
            self.timeouts += 1;
            self.deadline = None;
        }
    }

    /// Whether a SYN, or the `answer` to one, is no longer retransmitted.
    pub(crate) const fn gives_up(&self, config: &Config, answer: bool) -> bool {
        let rto = &config.rto;
        let retries = if answer { rto.synack_retries_max } else { rto.syn_retries_max };
        self.timeouts > retries.saturating_add(linear(config, answer))
    }

    /// A round trip, if it is clear which SYN was answered (Karn's rule).
    pub(crate) fn round_trip(&self) -> Option<Instant> {
        (self.times == 1).then_some(self.sent)
    }
}

/// Returns whether this end asks for ECN: as its stack is configured, or because its algorithm requires ECN (Linux's
/// `tcp_ecn_send_syn`).
fn asks_for_ecn(config: &Config) -> bool {
    config.segment.ecn == Ecn::Request || config.congestion.algorithm().needs_ecn()
}

/// Returns the SYN as it is answered: without its request for ECN if this end does not agree to that. A SYN that is
/// ECN-capable itself (`capable`) comes from an algorithm that needs ECN; Linux agrees only if its own algorithm
/// needs it too (`tcp_ecn_create_request`).
pub(crate) fn granted(config: &Config, syn: &Tcp, capable: bool) -> Tcp {
    let set = config.segment.ecn != Ecn::Off && !capable;
    let refused = if set || config.congestion.algorithm().needs_ecn() { 0 } else { ECN_SETUP };
    Tcp { flags: syn.flags & !refused, ..*syn }
}

/// The window scale that lets `window` bytes be advertised (RFC 7323, section 2.3).
pub(crate) fn scale_for(window: u64, limit: u8) -> u8 {
    (0..limit).find(|&shift| window >> shift <= 65_535).unwrap_or(limit)
}

/// Writes the options that this end offers; on a SYN-ACK (`peer` is the SYN as [`granted`]) only those that both ends
/// support. `again` is whether the segment was sent before.
pub(crate) fn offer(config: &Config, scale: u8, peer: Option<&Tcp>, again: bool, tcp: &mut Tcp) {
    let segment = &config.segment;
    tcp.mss = config.mss_option() as u16;
    tcp.has_timestamps = segment.timestamps && peer.is_none_or(|p| p.has_timestamps);
    tcp.sack_permitted = segment.sack && peer.is_none_or(|p| p.sack_permitted);
    let scales = segment.window_scaling && peer.is_none_or(|p| p.window_scale != NO_SCALE);
    tcp.window_scale = if scales { scale } else { NO_SCALE };
    tcp.flags |= flags::SYN;
    tcp.flags |= match peer {
        // RFC 3168, section 6.1.1.1: a path may lose SYNs because they ask.
        None if again && segment.ecn_fallback => 0,
        None if asks_for_ecn(config) => ECN_SETUP,
        Some(p) if p.flags & ECN_SETUP == ECN_SETUP => flags::ECE,
        _ => 0,
    };
}

/// Returns the payload of the largest segment to expect. When a SYN is sent, it is not known yet how much of it the
/// peer's options will take.
pub(crate) fn segment_expected(config: &Config, peer: Option<&Tcp>) -> u32 {
    config.payload_max(config.segment.timestamps && peer.is_some_and(|p| p.has_timestamps))
}

/// Returns the bytes of the options on a SYN, padded as in Linux.
pub(crate) fn option_bytes(tcp: &Tcp) -> u32 {
    let scale = if tcp.window_scale == NO_SCALE { 0 } else { 4 };
    let timestamps = if tcp.has_timestamps { TIMESTAMPS_BYTES } else { 0 };
    let sack = if tcp.sack_permitted && !tcp.has_timestamps { 4 } else { 0 };
    4 + timestamps + sack + scale
}

/// Returns the agreement of both ends, from the peer's SYN as [`granted`], or its SYN-ACK.
pub(crate) fn agree(config: &Config, scale: u8, peer: &Tcp) -> (Agreed, Accepted) {
    let segment = &config.segment;
    let timestamps = segment.timestamps && peer.has_timestamps;
    let sack = segment.sack && peer.sack_permitted;
    let scales = segment.window_scaling && peer.window_scale != NO_SCALE;
    let setup = peer.flags & ECN_SETUP;
    let ecn = if peer.flags & flags::ACK == 0 {
        setup == ECN_SETUP
    } else {
        setup == flags::ECE && asks_for_ecn(config)
    };
    let peer_mss = if peer.mss == 0 { MSS_DEFAULT } else { peer.mss };
    let taken = if timestamps { TIMESTAMPS_BYTES } else { 0 };
    let mss = u32::from(peer_mss).min(config.mss_option()).saturating_sub(taken).max(1);
    let window_shift = if scales { peer.window_scale.min(14) } else { 0 };
    let agreed = Agreed { mss, sack, timestamps, ecn, window_shift };
    let window_shift = if scales { scale } else { 0 };
    let accepted = Accepted { initial: peer.seq, mss, sack, timestamps, ecn, window_shift };
    (agreed, accepted)
}

/// Returns the number of retransmissions before the timeout begins to double. They are allowed in addition to the
/// others (Linux's `tcp_write_timeout`). SYN-ACKs double their timeout from the first.
const fn linear(config: &Config, answer: bool) -> u32 {
    if answer { 0 } else { config.rto.syn_linear }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_the_least_that_fits_and_never_above_the_limit() {
        assert_eq!(scale_for(65_535, 14), 0);
        assert_eq!(scale_for(65_536, 14), 1);
        assert_eq!(scale_for(24 << 20, 14), 9);
        assert_eq!(scale_for(u64::MAX, 14), 14);
        assert_eq!(scale_for(u64::MAX, 3), 3);
    }
}
