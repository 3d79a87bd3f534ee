//! What an ACK reports of segments: those delivered, and those that the estimators need.

use base::Instant;

use super::{EVER_RETRANSMITTED, Segment};

/// A segment that was delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// When it was last sent.
    pub(crate) sent: Instant,
    /// The position after its last byte.
    pub(crate) end: u64,
    /// Segments delivered when it was sent.
    pub(crate) delivered: u32,
    /// Its place.
    pub(crate) place: u32,
    /// Whether it was retransmitted.
    pub(crate) retransmitted: bool,
}

/// The state that RACK needs of the segments delivered (RFC 8985, section 6.2, step 2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent {
    /// A retransmission sent after this cannot have been answered yet: the ACK is for an earlier
    /// transmission, and says nothing of this one.
    pub(crate) answerable: Instant,
    /// When the segment processed last was sent, which gives the round trip.
    pub(crate) last_sent: Option<Instant>,
    /// Sending time and end of the one sent last.
    pub(crate) newest: (Instant, u64),
}

impl Default for Recent {
    fn default() -> Self {
        Self { answerable: Instant::NEVER, last_sent: None, newest: (Instant::ZERO, 0) }
    }
}

impl Recent {
    #[inline]
    fn note(&mut self, segment: &Segment) {
        if segment.flags & EVER_RETRANSMITTED != 0 && segment.sent > self.answerable {
            return;
        }
        self.last_sent = Some(segment.sent);
        self.newest = self.newest.max((segment.sent, segment.end));
    }
}

/// What an acknowledgement, cumulative or selective, reports of segments not known to be delivered before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Segments acknowledged cumulatively.
    pub(crate) packets: u32,
    /// Segments delivered and not known to be before.
    pub(crate) delivered: u32,
    /// Sending time of the first and last of these that were never retransmitted.
    pub(crate) sent: Option<(Instant, Instant)>,
    /// Whether one of them was retransmitted (Karn's rule applies).
    pub(crate) retransmitted: bool,
    /// The one sent last, for the delivery rate.
    pub(crate) newest: Delivered,
    /// The state that RACK needs of them.
    pub(crate) rack: Recent,
    /// The place and end of the lowest one that was never retransmitted: if below the highest SACK,
    /// it was reordered.
    pub(crate) lowest_original: Option<(u32, u64)>,
}

impl Progress {
    #[inline]
    pub(super) fn note(&mut self, index: u32, segment: &Segment) {
        self.delivered += 1;
        let retransmitted = segment.flags & EVER_RETRANSMITTED != 0;
        if retransmitted {
            self.retransmitted = true;
        } else {
            self.sent = Some((self.sent.map_or(segment.sent, |(first, _)| first), segment.sent));
            if self.lowest_original.is_none() {
                self.lowest_original = Some((index, segment.end));
            }
        }
        if (segment.sent, segment.end) >= (self.newest.sent, self.newest.end) {
            let (sent, end, delivered) = (segment.sent, segment.end, segment.delivered);
            self.newest = Delivered { sent, end, delivered, place: index, retransmitted };
        }
        self.rack.note(segment);
    }
}
