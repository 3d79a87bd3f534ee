//! The totals of a flow.

use applications::Results;
use base::{Bytes, Instant};
use network::datagram::Delay;
use transport::PackedInfo;

/// The totals of one flow.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct FlowTotals {
    /// When its program connected, or began to send datagrams.
    pub start: Instant,
    /// When the receiver's program read the last byte of a flow that was to end, otherwise the moment its writer had
    /// to stop, or the end of the run, whichever came first.
    pub end: Instant,
    /// Whether all that was to be sent was read by the receiver's program.
    pub completed: bool,
    /// Bytes that the receiver's program had read at `end`; the sender's, of responses, if it asks; of a program
    /// the payload that the network carried, both ways.
    pub received: Bytes,
    /// Bytes that it had read halfway between `start` and `end`; `None` if that was not sampled.
    pub received_by_half: Option<Bytes>,
    /// Packets of it, of either direction, dropped anywhere on the way.
    pub drops: u64,
    /// Packets of it that arrived with a congestion mark (CE), of either direction.
    pub marks: u64,
    /// The sender's counters at the end.
    pub sender: PackedInfo,
    /// The receiver's counters at the end.
    pub receiver: PackedInfo,
    /// How long datagrams were on their way; `None` for a connection.
    pub delay: Option<Box<Delay>>,
    /// Datagrams sent after the last one that arrived, where they have sequence numbers: only these may still be
    /// under way. `None` where every drop is counted, which gives the same information.
    pub unseen: Option<u64>,
    /// What the programs at both ends counted, the one at the flow's first host first.
    pub results: [Option<Results>; 2],
    /// The packets of a program that the network carried, from the flow's first host to its second and back.
    pub program: Option<Box<[Carried; 2]>>,
    /// Whether the driver could not run it, so that nothing is known of it.
    pub left_out: bool,
    /// The start and the end of its measurement, if these differ from its start and its end.
    pub measured: Option<[Instant; 2]>,
    /// Datagrams that were lost while it was measured, if that is not what follows from the counts above.
    pub lost: Option<u64>,
}

impl FlowTotals {
    /// Datagrams that were lost: neither received nor under way.
    pub fn datagrams_lost(&self) -> u64 {
        let sent = self.sender.get().segments_sent;
        let received = self.receiver.get().segments_received;
        // A link may have made copies.
        let missing = sent.saturating_sub(received);
        let under_way = missing.saturating_sub(self.drops);
        self.lost.unwrap_or(missing - under_way.min(self.unseen.unwrap_or(u64::MAX)))
    }

    /// What the programs at its ends counted.
    pub fn results(&self) -> impl Iterator<Item = &Results> + Clone {
        self.results.iter().flatten()
    }

    /// The counts of that type, of the first program that has them.
    pub fn counts<T: 'static>(&self) -> Option<&T> {
        self.results().find_map(Results::get)
    }

    /// Returns the time over which the flow's counters count: its own time, unless only a part of the run is
    /// measured. For a flow that did not run in that part, the end comes first.
    pub fn measured(&self) -> [Instant; 2] {
        self.measured.unwrap_or([self.start, self.end])
    }

    /// Returns whether the flow has results: it ran, and not only outside the measured time.
    pub fn is_known(&self) -> bool {
        !self.left_out && self.measured.is_none_or(|[from, until]| from < until)
    }

    /// Whether it began while it was measured, so that its completion counts.
    pub fn began_measured(&self) -> bool {
        self.measured.is_none_or(|[from, _]| from == self.start)
    }

    /// Returns the totals as a whole, with the counts between two snapshots, at the first and the last instant of a
    /// window.
    #[must_use]
    pub fn within(&self, window: [Instant; 2], later: &Self, earlier: &Self) -> Self {
        let [from, until] = [self.start.max(window[0]), self.end.min(window[1])];
        let lost = Self::datagrams_lost;
        let received = |snapshot: &Self| snapshot.received.0.min(self.received.0);
        let before = received(earlier);
        let by_half = self.received_by_half.map(|half| Bytes(half.0.saturating_sub(before)));
        let delay = |later: &Delay| match &earlier.delay {
            Some(earlier) => later.since(earlier),
            None => *later,
        };
        let counts =
            |later: &PackedInfo, earlier: &PackedInfo| later.get().since(&earlier.get()).into();
        let results = |end: usize| {
            let [later, earlier] = [later, earlier].map(|flow| flow.results[end].as_ref());
            self.results[end].as_ref()?.within(later, earlier)
        };
        let program = |later: &[Carried; 2]| {
            let earlier = earlier.program.as_deref().copied().unwrap_or_default();
            Box::new([0, 1].map(|way| later[way].since(earlier[way])))
        };
        Self {
            start: self.start,
            end: self.end,
            completed: self.completed,
            received: Bytes(received(later).saturating_sub(before)),
            received_by_half: by_half,
            drops: later.drops.saturating_sub(earlier.drops),
            marks: later.marks.saturating_sub(earlier.marks),
            sender: counts(&later.sender, &earlier.sender),
            receiver: counts(&later.receiver, &earlier.receiver),
            delay: later.delay.as_deref().map(delay).map(Box::new),
            unseen: later.unseen,
            results: [0, 1].map(results),
            program: later.program.as_deref().map(program),
            left_out: self.left_out,
            measured: Some([from, until]),
            lost: later.delay.as_ref().map(|_| lost(later).saturating_sub(lost(earlier))),
        }
    }
}

/// The packets that a network carried in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Carried {
    /// Packets that entered it.
    pub sent: u64,
    /// Packets that left it at the other end.
    pub received: u64,
    /// The payload of these, behind TCP's or UDP's header, bytes.
    pub bytes: u64,
}

impl Carried {
    const fn since(self, earlier: Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(earlier.sent),
            received: self.received.saturating_sub(earlier.received),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}
