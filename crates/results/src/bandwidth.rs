//! Bandwidth in bins: exact bytes, whatever the bins' edges cut.

use scenario::plan::{Bandwidth, Window};
use traffic::{Duration, Instant};

use crate::rows::{BandwidthRow, Name};

/// What takes the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    Packet,
    Gap,
}

/// The bins of one probe. Frames come in the order in which they take the wire.
#[derive(Debug)]
pub(crate) struct Bins {
    width: Duration,
    window: Window,
    /// Where the open bin ends.
    edge: Instant,
    open: BandwidthRow,
}

impl Bins {
    pub(crate) fn new(probe: &Bandwidth, name: Name, port: Name) -> Self {
        let width = probe.bin.max(Duration::from_ps(1));
        let from = probe.window.from;
        Self { width, window: probe.window, edge: from + width, open: empty(name, port, from) }
    }

    /// A frame of `length` bytes takes the wire from `start` to `end`. A frame that a bin's or the
    /// window's edge cuts counts on each side in proportion to time; the parts sum to `length`.
    #[inline]
    pub(crate) fn add(
        &mut self,
        load: Load,
        length: u64,
        (start, end): (Instant, Instant),
        close: &mut impl FnMut(BandwidthRow),
    ) {
        let Window { from, until } = self.window;
        if end < from || start >= until {
            return;
        }
        if start >= from {
            self.advance(start, close);
            self.open.packets += u64::from(load == Load::Packet);
        }
        if start >= from && end <= self.edge && end <= until {
            return self.count(load, length);
        }
        self.divide(load, length, (start, end), close);
    }

    fn divide(
        &mut self,
        load: Load,
        length: u64,
        (start, end): (Instant, Instant),
        close: &mut impl FnMut(BandwidthRow),
    ) {
        let last = end.min(self.window.until);
        let mut done = part(length, start, end, self.window.from);
        while self.edge < last {
            let by_edge = part(length, start, end, self.edge);
            self.count(load, by_edge - done);
            done = by_edge;
            self.close(close);
        }
        self.count(load, part(length, start, end, last) - done);
    }

    fn count(&mut self, load: Load, bytes: u64) {
        match load {
            Load::Packet => self.open.bytes += bytes,
            Load::Gap => self.open.gap_bytes += bytes,
        }
    }

    /// Closes bins until the one that `now` lies in is open.
    #[inline]
    fn advance(&mut self, now: Instant, close: &mut impl FnMut(BandwidthRow)) {
        while now >= self.edge && self.edge < Instant::NEVER {
            self.close(close);
        }
    }

    fn close(&mut self, close: &mut impl FnMut(BandwidthRow)) {
        close(self.open);
        self.open = empty(self.open.name, self.open.port, self.edge);
        self.edge += self.width;
    }

    /// Closes every bin that began before the window's and the run's end.
    pub(crate) fn finish(mut self, end: Instant, close: &mut impl FnMut(BandwidthRow)) {
        let end = end.min(self.window.until);
        if end > self.window.from {
            self.advance(Instant::from_ps(end.as_ps() - 1), close);
            close(self.open);
        }
    }
}

fn empty(name: Name, port: Name, from: Instant) -> BandwidthRow {
    BandwidthRow { name, port, time_ns: from.as_ns(), bytes: 0, gap_bytes: 0, packets: 0 }
}

/// The bytes of a frame that are on the wire by `now`, rounded down.
fn part(length: u64, start: Instant, end: Instant, now: Instant) -> u64 {
    if now >= end {
        return length;
    }
    let share = u128::from(length) * u128::from(now.since(start).as_ps());
    // Below `length`, as `now` lies before `end`.
    (share / u128::from(end.since(start).as_ps())) as u64
}
