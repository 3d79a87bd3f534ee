//! The sender's scoreboard: which segments are out, and the fate of each.
//!
//! A power-of-two ring of segment records in sequence order, counters for the packets in flight
//! (RFC 6675's pipe, kept rather than recounted), and three bitmaps that answer "which is the next
//! segment to look at". Every mark is made at most a few times in a segment's life and every search
//! starts where the last one ended, so an ACK costs O(1) amortised, whatever is in flight.

mod bitmap;
mod progress;
mod repair;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use base::Instant;

use bitmap::Bitmap;
pub(crate) use progress::{Progress, Recent};

/// Selectively acknowledged.
pub(crate) const SACKED: u8 = 1;
/// Taken for lost, and not selectively acknowledged since.
pub(crate) const LOST: u8 = 2;
/// A retransmission of it is out and not yet taken for lost.
pub(crate) const RETRANSMITTED: u8 = 4;
/// Retransmitted at some time.
pub(crate) const EVER_RETRANSMITTED: u8 = 8;
/// Its last sequence number is the FIN's.
pub(crate) const FIN: u8 = 16;
/// The segment carries PSH.
pub(crate) const PUSHED: u8 = 32;

/// The flags of a segment's fate. None is set while it was sent only once and nothing more is known of it.
const FATE: u8 = SACKED | LOST | RETRANSMITTED | EVER_RETRANSMITTED;

/// A segment that was sent: half a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    /// The position after its last byte.
    pub(crate) end: u64,
    /// When it was last sent.
    pub(crate) sent: Instant,
    /// The number of segments delivered when this one was last sent.
    pub(crate) delivered: u32,
    /// The flags above.
    pub(crate) flags: u8,
}

/// A retransmission, in the order of transmission.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    index: u32,
    sent: Instant,
    /// The place of the next new segment when it was sent.
    next_new: u32,
}

/// The scoreboard. Places count segments from the connection's start and wrap at 2^32. What an ACK
/// in order touches comes first and together.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Scoreboard {
    ring: Vec<Segment>,
    mask: u32,
    /// The first segment not acknowledged cumulatively, and the place of the next new one.
    head: u32,
    tail: u32,
    /// The place after the highest segment sacked; `head` if there is none.
    top: u32,
    /// Position of the first byte of the segment at `head`.
    start: u64,
    /// Some bit may be set.
    marked: bool,
    /// Segments of each fate.
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Times that a segment was taken for lost so far, wrapping.
    losses: u32,
    sacked_map: Bitmap,
    /// Sacked, lost or ever retransmitted: detection by sequence order is done with them.
    settled: Bitmap,
    /// Lost and not retransmitted since.
    pending: Bitmap,
    retransmissions: VecDeque<Retransmission>,
    /// Where the search for the next segment to retransmit starts.
    pending_hint: u32,
    /// Below this, detection by sequence order has nothing left to do.
    settled_hint: u32,
    /// A place and its segment's first position, from the last search.
    anchor: (u32, u64),
    /// Steps taken, for the test that shows their number to be O(1).
    #[cfg(test)]
    pub(crate) steps: u64,
}

const SLOTS_MIN: u32 = 64;

impl Scoreboard {
    /// Nothing out; the first segment will begin at `start`.
    pub(crate) fn new(start: u64) -> Self {
        Self {
            ring: vec![Segment::default(); SLOTS_MIN as usize],
            mask: SLOTS_MIN - 1,
            head: 0,
            tail: 0,
            start,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            losses: 0,
            top: 0,
            sacked_map: Bitmap::new(SLOTS_MIN),
            settled: Bitmap::new(SLOTS_MIN),
            pending: Bitmap::new(SLOTS_MIN),
            retransmissions: VecDeque::new(),
            marked: false,
            pending_hint: 0,
            settled_hint: 0,
            anchor: (0, start),
            #[cfg(test)]
            steps: 0,
        }
    }

    #[inline]
    fn step(&mut self) {
        #[cfg(test)]
        {
            self.steps += 1;
        }
    }

    /// Segments out: sent and not acknowledged cumulatively.
    #[inline]
    pub(crate) const fn out(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }
    /// Segments out that are selectively acknowledged.
    #[inline]
    pub(crate) const fn sacked(&self) -> u32 {
        self.sacked
    }
    /// Segments out that are taken for lost.
    #[inline]
    pub(crate) const fn lost(&self) -> u32 {
        self.lost
    }

    /// How often a segment, or its retransmission, was taken for lost so far, wrapping.
    pub(crate) const fn losses(&self) -> u32 {
        self.losses
    }
    /// Returns the number of segments with a retransmission outstanding.
    #[inline]
    pub(crate) const fn retransmitted(&self) -> u32 {
        self.retransmitted
    }
    /// Place of the first segment out.
    #[inline]
    pub(crate) const fn head(&self) -> u32 {
        self.head
    }
    /// Place of the next new segment.
    #[inline]
    pub(crate) const fn tail(&self) -> u32 {
        self.tail
    }
    /// Segments from the head to the highest one sacked: forward acknowledgement's `fackets_out`.
    #[inline]
    pub(crate) const fn forward(&self) -> u32 {
        self.top.wrapping_sub(self.head)
    }
    /// Whether any segment out was marked in any way.
    #[inline]
    pub(crate) const fn is_marked(&self) -> bool {
        self.marked
    }

    /// Packets in flight: RFC 6675's pipe as Linux counts it (`tcp_packets_in_flight`).
    #[inline]
    pub(crate) const fn in_flight(&self) -> u32 {
        (self.out() + self.retransmitted).wrapping_sub(self.sacked + self.lost)
    }

    /// The segment at `index`, which must be out.
    #[inline]
    pub(crate) fn segment(&self, index: u32) -> &Segment {
        &self.ring[(index & self.mask) as usize]
    }

    #[inline]
    fn segment_mut(&mut self, index: u32) -> &mut Segment {
        &mut self.ring[(index & self.mask) as usize]
    }

    /// Position of the first byte of the segment at `index`, which must be out.
    #[inline]
    pub(crate) fn start_of(&self, index: u32) -> u64 {
        if index == self.head { self.start } else { self.segment(index.wrapping_sub(1)).end }
    }

    /// Whether the place is out.
    #[inline]
    fn is_out(&self, index: u32) -> bool {
        index.wrapping_sub(self.head) < self.out()
    }

    /// A new segment was sent.
    #[inline]
    pub(crate) fn push(&mut self, segment: Segment) {
        // One slot stays free, so that the record before the head is intact.
        if self.out() == self.mask {
            self.grow();
        }
        *self.segment_mut(self.tail) = segment;
        self.tail = self.tail.wrapping_add(1);
    }

    /// The segment sent last was not sent after all. True if it was the FIN.
    pub(crate) fn pop_back(&mut self) -> bool {
        self.tail = self.tail.wrapping_sub(1);
        self.segment(self.tail).flags & FIN != 0
    }

    /// Doubles the ring; the cost is amortised over the segments that filled it.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let slots = (self.mask + 1) * 2;
        let mut ring = vec![Segment::default(); slots as usize];
        let maps = [Bitmap::new(slots), Bitmap::new(slots), Bitmap::new(slots)];
        let [mut sacked, mut settled, mut pending] = maps;
        for index in (0..self.out()).map(|n| self.head.wrapping_add(n)) {
            let segment = *self.segment(index);
            ring[(index & (slots - 1)) as usize] = segment;
            if segment.flags & FATE != 0 {
                settled.set(index);
            }
            if segment.flags & SACKED != 0 {
                sacked.set(index);
            }
            if segment.flags & (LOST | RETRANSMITTED) == LOST {
                pending.set(index);
            }
        }
        (self.ring, self.mask) = (ring, slots - 1);
        (self.sacked_map, self.settled, self.pending) = (sacked, settled, pending);
    }

    /// Everything up to `ack` is acknowledged cumulatively.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: u64, progress: &mut Progress) {
        let before = self.head;
        let mut head = before;
        while head != self.tail {
            let segment = *self.segment(head);
            if segment.end > ack {
                break;
            }
            if segment.flags & SACKED == 0 {
                progress.note(head, &segment);
            }
            if segment.flags & FATE != 0 {
                self.forget(segment.flags);
            }
            self.start = segment.end;
            head = head.wrapping_add(1);
        }
        progress.packets += head.wrapping_sub(before);
        self.head = head;
        if self.marked {
            self.unmark(before);
        } else {
            self.top = head;
        }
    }

    /// Prepares for the first mark while nothing is marked: resets the hints.
    #[inline]
    fn begin_marks(&mut self) {
        if !self.marked {
            self.marked = true;
            (self.pending_hint, self.settled_hint) = (self.head, self.head);
        }
    }

    /// Acknowledges everything up to `ack` where no segment is marked. Returns how many segments were acknowledged,
    /// when the first of them was sent, and the last of them.
    #[inline]
    pub(crate) fn acknowledge_plain(&mut self, ack: u64) -> (u32, Instant, Segment) {
        debug_assert!(!self.marked);
        let head = self.head;
        if head == self.tail {
            return (0, Instant::ZERO, Segment::default());
        }
        let segment = *self.segment(head);
        if segment.end != ack {
            return self.acknowledge_several(ack);
        }
        self.head = head.wrapping_add(1);
        (self.top, self.start) = (self.head, ack);
        (1, segment.sent, segment)
    }

    /// Does what [`Self::acknowledge_plain`] does, for any number of segments.
    #[inline(never)]
    fn acknowledge_several(&mut self, ack: u64) -> (u32, Instant, Segment) {
        let (before, mut head) = (self.head, self.head);
        let first = self.segment(head).sent;
        let mut last = Segment::default();
        while head != self.tail {
            let segment = self.segment(head);
            if segment.end > ack {
                break;
            }
            last = *segment;
            head = head.wrapping_add(1);
        }
        let acked = head.wrapping_sub(before);
        if acked != 0 {
            (self.head, self.top, self.start) = (head, head, last.end);
        }
        (acked, first, last)
    }

    /// A marked segment leaves the counters.
    fn forget(&mut self, flags: u8) {
        self.step();
        self.sacked -= u32::from(flags & SACKED != 0);
        self.lost -= u32::from(flags & LOST != 0);
        self.retransmitted -= u32::from(flags & RETRANSMITTED != 0);
    }

    /// The segments from `before` to the head left: their bits and hints go too.
    fn unmark(&mut self, before: u32) {
        let head = self.head;
        self.sacked_map.clear_range(before, head);
        self.settled.clear_range(before, head);
        self.pending.clear_range(before, head);
        let out = self.out();
        for hint in [&mut self.top, &mut self.pending_hint, &mut self.settled_hint] {
            if hint.wrapping_sub(head) > out {
                *hint = head;
            }
        }
        while let Some(front) = self.retransmissions.front() {
            if front.index.wrapping_sub(head) < out && front.next_new.wrapping_sub(head) <= out {
                break;
            }
            self.retransmissions.pop_front();
            self.step();
        }
        if self.sacked | self.lost | self.retransmitted == 0 && self.retransmissions.is_empty() {
            self.marked = self.settled.next_set(head, self.tail).is_some();
        }
    }

    /// Returns the first segment that ends beyond `position`; the tail if there is none.
    ///
    /// Most segments are `mss` long, so the place is guessed from the last one found.
    pub(crate) fn find(&mut self, position: u64, mss: u32) -> u32 {
        self.step();
        if position < self.start || self.out() == 0 {
            return self.head;
        }
        if !self.is_out(self.anchor.0) || self.anchor.1 > position {
            self.anchor = (self.head, self.start);
        }
        let guess = u32::try_from((position - self.anchor.1) / u64::from(mss.max(1)));
        let index = self.anchor.0.wrapping_add(guess.unwrap_or(u32::MAX / 2));
        if self.is_out(index) && self.holds(index, position) {
            self.anchor = (index, self.start_of(index));
            return index;
        }
        self.bisect(position)
    }

    #[inline]
    fn holds(&self, index: u32, position: u64) -> bool {
        self.segment(index).end > position && self.start_of(index) <= position
    }

    /// Does what [`Self::find`] does, without a guess, in O(log n) steps.
    fn bisect(&mut self, position: u64) -> u32 {
        let (mut low, mut high) = (0, self.out());
        while low < high {
            self.step();
            let middle = low.midpoint(high);
            if self.segment(self.head.wrapping_add(middle)).end > position {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let index = self.head.wrapping_add(low);
        if index != self.tail {
            self.anchor = (index, self.start_of(index));
        }
        index
    }

    /// The places of the segments that are wholly within `[start, end)`.
    pub(crate) fn places(&mut self, start: u64, end: u64, mss: u32) -> (u32, u32) {
        let mut from = self.find(start, mss);
        if from != self.tail && self.start_of(from) < start {
            from = from.wrapping_add(1);
        }
        (from, self.find(end, mss))
    }

    /// The segments in `[from, to)` are selectively acknowledged.
    pub(crate) fn sack(&mut self, from: u32, to: u32, progress: &mut Progress) {
        if to.wrapping_sub(from) as i32 <= 0 {
            return;
        }
        let mut at = from;
        while let Some(index) = self.sacked_map.next_clear(at, to) {
            self.sack_one(index, progress);
            at = index.wrapping_add(1);
        }
        if to.wrapping_sub(self.head) > self.forward() {
            self.top = to;
        }
    }

    fn sack_one(&mut self, index: u32, progress: &mut Progress) {
        self.step();
        self.begin_marks();
        let segment = *self.segment(index);
        progress.note(index, &segment);
        self.sacked += 1;
        self.lost -= u32::from(segment.flags & LOST != 0);
        self.retransmitted -= u32::from(segment.flags & RETRANSMITTED != 0);
        self.segment_mut(index).flags = segment.flags & !(LOST | RETRANSMITTED) | SACKED;
        self.sacked_map.set(index);
        self.settled.set(index);
        if segment.flags & LOST != 0 {
            self.pending.clear(index);
        }
    }

    /// The segment at `index` is taken for lost, or its retransmission is.
    pub(crate) fn mark_lost(&mut self, index: u32) {
        self.step();
        self.begin_marks();
        let flags = self.segment(index).flags;
        if flags & SACKED != 0 || flags & (LOST | RETRANSMITTED) == LOST {
            return;
        }
        self.lost += u32::from(flags & LOST == 0);
        self.losses = self.losses.wrapping_add(1);
        self.retransmitted -= u32::from(flags & RETRANSMITTED != 0);
        self.segment_mut(index).flags = flags & !RETRANSMITTED | LOST;
        self.settled.set(index);
        self.pending.set(index);
        if index.wrapping_sub(self.head) < self.pending_hint.wrapping_sub(self.head) {
            self.pending_hint = index;
        }
    }

    /// Returns the next segment below `to` that detection by sequence order has not settled yet.
    #[inline]
    pub(crate) fn next_unsettled(&mut self, to: u32) -> Option<u32> {
        if !self.marked {
            self.settled_hint = self.head;
        }
        if to.wrapping_sub(self.settled_hint) as i32 <= 0 {
            return None;
        }
        let found = self.settled.next_clear(self.settled_hint, to);
        self.settled_hint = found.unwrap_or(to);
        found
    }

    /// Every segment below `to` that was sent once and not sacked is taken for lost.
    pub(crate) fn mark_lost_below(&mut self, to: u32) {
        while let Some(index) = self.next_unsettled(to) {
            self.mark_lost(index);
        }
    }

    /// The place of the `n`-th highest segment sacked, from 1.
    pub(crate) fn nth_sacked(&mut self, n: u32) -> Option<u32> {
        self.step();
        if self.sacked < n {
            return None;
        }
        self.sacked_map.nth_set_below(self.head, self.top, n)
    }

    /// The first segment out, unless sacked, is taken for lost.
    pub(crate) fn mark_head_lost(&mut self) {
        if self.out() != 0 && self.segment(self.head).flags & (LOST | RETRANSMITTED) == 0 {
            self.mark_lost(self.head);
        }
    }

    /// The next segment to retransmit.
    #[inline]
    pub(crate) fn next_pending(&mut self) -> Option<u32> {
        if self.lost == self.retransmitted && self.retransmitted == 0 {
            return None;
        }
        let found = self.pending.next_set(self.pending_hint, self.tail);
        self.pending_hint = found.unwrap_or(self.tail);
        found
    }

    /// Whether the peer dropped data it had selectively acknowledged: the head is marked sacked though the cumulative
    /// ACK is before it (RFC 2018, section 8).
    #[inline]
    pub(crate) fn reneged(&self) -> bool {
        self.sacked != 0 && self.segment(self.head).flags & SACKED != 0
    }

    /// Checks the counters against a recount, which visits every segment. Debug builds do that after each ACK, but
    /// only now and then where many segments are out.
    pub(crate) fn recount(&self) -> bool {
        if self.out() > 200 && !self.head.is_multiple_of(256) {
            return true;
        }
        let mut counts = [0u32; 3];
        for index in (0..self.out()).map(|n| self.head.wrapping_add(n)) {
            let flags = self.segment(index).flags;
            for (count, flag) in counts.iter_mut().zip([SACKED, LOST, RETRANSMITTED]) {
                *count += u32::from(flags & flag != 0);
            }
        }
        counts == [self.sacked, self.lost, self.retransmitted]
    }
}
