//! Sequence numbers of a traced flow, unwrapped to 64 bits.

use base::packet::{Tcp, flags};

/// Follows 32-bit sequence numbers around the circle (RFC 9293, section 3.4), counting from a base.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unwrapped {
    /// The last number as on the wire, and as unwrapped.
    last: Option<(u32, u64)>,
}

impl Unwrapped {
    /// Makes `wire` the base: it is zero from now on.
    fn begin(&mut self, wire: u32) {
        self.last = Some((wire, 0));
    }

    /// Unwraps `wire`, which is within 2^31 of the one before; below the base it is zero.
    pub(crate) fn follow(&mut self, wire: u32) -> u64 {
        let Some((before, unwrapped)) = self.last else {
            self.begin(wire);
            return 0;
        };
        let step = wire.wrapping_sub(before).cast_signed();
        let now = unwrapped.saturating_add_signed(i64::from(step));
        // A step below the base would shift every later number; stay at the base instead.
        if unwrapped.checked_add_signed(i64::from(step)).is_some() {
            self.last = Some((wire, now));
        }
        now
    }
}

/// The state of a trace for its flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tracker {
    seq: Unwrapped,
    ack: Unwrapped,
}

impl Tracker {
    /// Sequence and acknowledgement number of a segment; the first payload byte is 0 in both.
    pub(crate) fn follow(&mut self, tcp: &Tcp) -> (u64, Option<u64>) {
        if tcp.flags & flags::SYN != 0 {
            // The SYN takes one number (RFC 9293, section 3.4); payload starts after it.
            self.seq.begin(tcp.seq.wrapping_add(1));
        }
        let payload = tcp.seq.wrapping_add(u32::from(tcp.flags & flags::SYN != 0));
        let ack = (tcp.flags & flags::ACK != 0).then(|| self.ack.follow(tcp.ack));
        (self.seq.follow(payload), ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_past_the_circle() {
        let mut unwrapped = Unwrapped::default();
        assert_eq!(unwrapped.follow(u32::MAX - 9), 0);
        assert_eq!(unwrapped.follow(10), 20);
        assert_eq!(unwrapped.follow(0), 10, "a retransmission lies before");
        let mut wire = 0_u32;
        for n in 1..=10_u64 {
            wire = wire.wrapping_add(1 << 30);
            assert_eq!(unwrapped.follow(wire), 10 + (n << 30));
        }
    }

    #[test]
    fn the_first_payload_byte_is_zero() {
        let mut tracker = Tracker::default();
        let syn = Tcp { seq: u32::MAX, flags: flags::SYN, ..Tcp::default() };
        assert_eq!(tracker.follow(&syn), (0, None));
        let first = Tcp { seq: 0, ack: 501, flags: flags::ACK, ..Tcp::default() };
        assert_eq!(tracker.follow(&first), (0, Some(0)));
        let next = Tcp { seq: 1448, ack: 601, flags: flags::ACK, ..Tcp::default() };
        assert_eq!(tracker.follow(&next), (1448, Some(100)));
    }
}
