//! Bandwidth in bins: exact bytes, also where the bins' edges cut frames.

use base::{Duration, FlowId, Instant};
use scenario::plan::{Bandwidth, Window};

use crate::rows::{BandwidthRow, Name};

/// What is transmitted on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    Packet,
    Gap,
}

/// The bins of one probe. Frames come in the order of their transmission.
#[derive(Debug)]
pub(crate) struct Bins {
    width: Duration,
    window: Window,
    /// Whether a flow's packets count, by its number; empty if all do.
    flows: Vec<bool>,
    /// Where the open bin ends.
    edge: Instant,
    open: BandwidthRow,
}

impl Bins {
    pub(crate) fn new(probe: &Bandwidth, name: Name, port: Name) -> Self {
        let width = probe.bin.max(Duration::from_ps(1));
        let from = probe.window.from;
        let mut flows = Vec::new();
        for &flow in probe.flows.iter().flatten() {
            flows.resize(flows.len().max(flow + 1), false);
            flows[flow] = true;
        }
        let open = empty(name, port, from);
        Self { width, window: probe.window, flows, edge: from + width, open }
    }

    /// Returns whether a packet of `flow` counts, or, with none, a gap frame.
    #[inline]
    pub(crate) fn includes(&self, flow: Option<FlowId>) -> bool {
        let listed = |flow: FlowId| self.flows.get(flow.0 as usize).copied().unwrap_or(false);
        self.flows.is_empty() || flow.is_some_and(listed)
    }

    /// Adds a frame of `length` bytes that is on the wire from `start` to `end`. A frame that crosses the edge of a
    /// bin or of the window counts on each side in proportion to time; the parts sum to `length`.
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

    /// Closes bins until the open one contains `now`.
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
    // Below `length`, as `now` is before `end`.
    (share / u128::from(end.since(start).as_ps())) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAME: Name = Name(0);

    fn bins(width_ps: u64, from: u64, until: u64) -> Bins {
        let window = Window { from: Instant::from_ps(from), until: Instant::from_ps(until) };
        let port = network::PortId(0);
        let bin = Duration::from_ps(width_ps);
        Bins::new(&Bandwidth { name: "b".into(), port, bin, window, flows: None }, NAME, NAME)
    }

    #[test]
    fn a_frame_across_an_edge_is_divided() {
        let mut rows = Vec::new();
        let mut bins = bins(10_000, 0, u64::MAX);
        let span = (Instant::from_ps(5_000), Instant::from_ps(35_000));
        bins.add(Load::Packet, 100, span, &mut |row| rows.push(row));
        bins.finish(Instant::from_ps(50_000), &mut |row| rows.push(row));
        let bytes: Vec<_> = rows.iter().map(|row| row.bytes).collect();
        assert_eq!(bytes, [16, 34, 33, 17, 0]);
        let packets: Vec<_> = rows.iter().map(|row| row.packets).collect();
        assert_eq!(packets, [1, 0, 0, 0, 0]);
        let times: Vec<_> = rows.iter().map(|row| row.time_ns).collect();
        assert_eq!(times, [0, 10, 20, 30, 40]);
    }

    proptest! {
        /// Frames within the window: the bins hold every byte, each kind apart.
        #[test]
        fn bins_add_up_to_what_was_sent(
            frames in prop::collection::vec((0_u64..9_000, 0_u64..80_000, 0_u64..50_000, any::<bool>()), 0..200),
            width in 1_000_u64..100_000,
        ) {
            let mut rows = Vec::new();
            let mut bins = bins(width, 0, u64::MAX);
            let (mut packets, mut gaps, mut count) = (0, 0, 0);
            let mut now = 0;
            for (length, duration, silence, gap) in frames {
                let span = (Instant::from_ps(now), Instant::from_ps(now + duration));
                let load = if gap { Load::Gap } else { Load::Packet };
                bins.add(load, length, span, &mut |row| rows.push(row));
                *if gap { &mut gaps } else { &mut packets } += length;
                count += u64::from(!gap);
                now += duration + silence;
            }
            bins.finish(Instant::from_ps(now + 1), &mut |row| rows.push(row));
            prop_assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), packets);
            prop_assert_eq!(rows.iter().map(|row| row.gap_bytes).sum::<u64>(), gaps);
            prop_assert_eq!(rows.iter().map(|row| row.packets).sum::<u64>(), count);
            prop_assert_eq!(rows.len() as u64, (now + 1).div_ceil(width), "no bin is left out");
        }

        /// A link that is never idle: a window holds what its time carries, to a byte an edge.
        #[test]
        fn a_window_cuts_frames_in_proportion(
            from in 0_u64..500_000,
            span in 1_u64..500_000,
            width in 1_000_u64..100_000,
        ) {
            let mut rows = Vec::new();
            let mut bins = bins(width, from, from + span);
            for n in 0..1_000 {
                let start = Instant::from_ps(n * 1_000);
                bins.add(Load::Packet, 1_000, (start, start + Duration::from_ps(1_000)), &mut |row| rows.push(row));
            }
            bins.finish(Instant::from_ps(1_000_000), &mut |row| rows.push(row));
            // One byte a picosecond.
            prop_assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), span);
            prop_assert!(rows[..rows.len() - 1].iter().all(|row| row.bytes == width));
        }
    }
}
