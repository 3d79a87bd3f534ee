//! The latest that a class may begin to send what it has without a packet of it being late.

use alloc::collections::VecDeque;

use crate::units::{Duration, Instant};

/// The least, over the packets queued, of a packet's due time less the link's time for those before it. Only
/// packets that are more pressing than all behind them are remembered, so a look at the least costs no search.
///
/// When a pressing packet at the end is dropped, those that it outdid stay forgotten: what comes before them
/// still holds them.
#[derive(Debug, Default)]
pub(super) struct Brink {
    /// The number of a packet, and its time in picoseconds less what had been sent when it came.
    pressing: VecDeque<(u64, i128)>,
    /// Numbers of the first packet queued, and of the next to come.
    first: u64,
    next: u64,
    /// The link's time for all that was sent.
    sent: i128,
}

impl Brink {
    /// A packet came, to be sent by then, behind others that take the link so long.
    pub(super) fn push(&mut self, by: Instant, before: Duration) {
        let time = i128::from(by.as_ps()) - i128::from(before.as_ps()) - self.sent;
        while self.pressing.pop_back_if(|(_, other)| *other >= time).is_some() {}
        self.next += 1;
        // Room for all that is queued, so that it grows only when the queue is longer than ever before.
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

    /// The first packet was sent, and takes the link so long.
    pub(super) fn pop(&mut self, time: Duration) {
        self.sent += i128::from(time.as_ps());
        self.first += 1;
        let first = self.first;
        while self.pressing.pop_front_if(|(number, _)| *number < first).is_some() {}
    }

    /// Forgets what presses, for the due times have changed; so many packets stay.
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
