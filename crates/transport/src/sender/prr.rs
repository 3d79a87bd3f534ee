//! How the window comes down in CWR and Recovery: proportionally (RFC 6937), by rate halving as
//! Linux did until 3.1, or at once with inflation (RFC 5681).

use base::Instant;

use super::Sender;
use super::ack::AckEvent;
use crate::config::Reduction;

/// The counters of proportional rate reduction since the reduction began, in packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// Delivered (RFC 6937, `prr_delivered`).
    pub(super) delivered: u32,
    /// Sent (`prr_out`).
    pub(super) out: u32,
}

impl Sender {
    /// An ACK arrived while the window comes down.
    pub(super) fn reduce_window(&mut self, event: &AckEvent, now: Instant) {
        match self.config.recovery.reduction {
            Reduction::Prr => self.reduce_proportionally(event, now),
            Reduction::RateHalving => self.halve_rate(now),
            Reduction::Inflate => self.inflate(event, now),
        }
    }

    /// RFC 6937, section 3, with the slow start reduction bound; Linux lets the bound send one more
    /// for an ACK that advances without new losses.
    fn reduce_proportionally(&mut self, event: &AckEvent, now: Instant) {
        let newly = event.delivered;
        if newly == 0 || self.sock.prior_cwnd == 0 {
            return;
        }
        self.prr.delivered += newly;
        let (pipe, threshold) = (self.in_flight(), self.sock.ssthresh);
        let mut allowed = if pipe > threshold {
            let due = u64::from(threshold) * u64::from(self.prr.delivered);
            let due = due.div_ceil(u64::from(self.sock.prior_cwnd));
            (due as u32).saturating_sub(self.prr.out)
        } else {
            let mut bound = self.prr.delivered.saturating_sub(self.prr.out).max(newly);
            if event.advanced && event.newly_lost == 0 {
                bound += 1;
            }
            bound.min(threshold - pipe)
        };
        // The retransmission that recovery begins with goes out in any case.
        allowed = allowed.max(u32::from(self.prr.out == 0));
        self.set_cwnd(pipe + allowed, now);
    }

    /// Linux 2.4's `tcp_cwnd_down`: one packet less for every second ACK, not below half of
    /// ssthresh, and never more than one packet above what is in flight.
    fn halve_rate(&mut self, now: Instant) {
        let count = self.sock.cwnd_cnt + 1;
        self.sock.cwnd_cnt = count & 1;
        let mut cwnd = self.sock.cwnd;
        if count >> 1 != 0 && cwnd > self.sock.ssthresh / 2 {
            cwnd -= count >> 1;
        }
        self.set_cwnd(cwnd.min(self.in_flight() + 1), now);
    }

    /// RFC 5681, section 3.2, step 4: each further duplicate ACK is a segment that left the
    /// network.
    fn inflate(&mut self, event: &AckEvent, now: Instant) {
        if event.duplicate {
            self.set_cwnd(self.sock.cwnd + 1, now);
        } else if event.advanced {
            // RFC 6582, section 3.2, step 5: a partial ACK deflates by what it acknowledged.
            let cwnd = self.sock.cwnd.saturating_sub(event.acked) + 1;
            self.set_cwnd(cwnd, now);
        }
    }
}
