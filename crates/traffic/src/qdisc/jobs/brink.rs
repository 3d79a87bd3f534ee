//! The latest time when a class may begin to send its packets without any of them being late.

use alloc::collections::VecDeque;

use crate::units::{Duration, Instant};

/// The least value, over the queued packets, of a packet's due time less the link's time for the packets
/// before it. Only packets that are more urgent than all behind them are stored, so reading the least value
/// needs no search.
///
/// When an urgent packet at the end is dropped, the packets that it superseded stay forgotten: the more
/// urgent packets before them still bound the least value.
#[derive(Debug, Default)]
pub(super) struct Brink {
    /// The number of a packet, and its time in picoseconds less `sent` at its arrival.
    pressing: VecDeque<(u64, i128)>,
    /// The numbers of the first packet queued, and of the next to arrive.
    first: u64,
    next: u64,
    /// The link's time for all that was sent.
    sent: i128,
}

impl Brink {
    /// Adds a packet that is due at `by`, behind others that take the link for the time `before`.
    pub(super) fn push(&mut self, by: Instant, before: Duration) {
        let time = i128::from(by.as_ps()) - i128::from(before.as_ps()) - self.sent;
        while self.pressing.pop_back_if(|(_, other)| *other >= time).is_some() {}
        self.next += 1;
        // Room for all queued packets, so that it grows only when the queue is longer than ever before.
        let queued = (self.next - self.first) as usize;
        self.pressing.reserve(queued - self.pressing.len());
        self.pressing.push_back((self.next - 1, time));
    }

    /// The last packet was dropped.
    pub(super) fn pop_last(&mut self) {
        self.next -= 1;
        let next = self.next;
        while self.pressing.pop_back_if(|(number, _)| *number >= next).is_some() {}
    }

    /// Removes the first packet, which was sent and takes the link for `time`.
    pub(super) fn pop(&mut self, time: Duration) {
        self.sent += i128::from(time.as_ps());
        self.first += 1;
        let first = self.first;
        while self.pressing.pop_front_if(|(number, _)| *number < first).is_some() {}
    }

    /// Forgets the pressing packets, because the due times changed; `packets` packets stay queued.
    pub(super) fn forget(&mut self, packets: u64) {
        self.pressing.clear();
        (self.first, self.next) = (0, packets);
    }

    /// The latest; never without packets.
    pub(super) fn latest(&self) -> Instant {
        let time = self.pressing.front().map(|(_, time)| time + self.sent);
        time.map_or(Instant::NEVER, |time| Instant::from_ps(time.max(0) as u64))
    }
}
