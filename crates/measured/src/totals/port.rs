//! The totals of a port.

use base::Bytes;
use base::histogram::Histogram;
use network::flow_control;
use network::link::Counters;
use traffic::condition::Count;
use traffic::{Measured, Relaxed, Statistics};

use super::{Delays, Drops, Notifications};

/// The totals of one port: one direction of a link with the queue that feeds it.
#[derive(Clone, Debug, Default)]
pub struct PortTotals {
    /// The counters of its discipline, or of an emulator's buffer.
    pub statistics: Statistics,
    /// The counters of each of the discipline's classes, by name.
    pub classes: Vec<(String, Statistics)>,
    /// How long the packets of each class waited, in the order of `classes`; empty where that was not counted.
    pub sojourns: Vec<Histogram>,
    /// How often each class's guarantees were relaxed, in the order of `classes`; empty where none ever are.
    pub relaxed: Vec<Relaxed>,
    /// The rates that classes have measured, by name.
    pub measured: Vec<(String, Measured)>,
    /// Packets dropped there or on the wire behind it.
    pub drops: Drops,
    /// How its disciplines failed, so that a plain FIFO took their place.
    pub faults: Vec<String>,
    /// How long its packets waited and how far apart they left, if that was counted.
    pub delays: Option<Delays>,
    /// The counts of each element of the conditioner of the other direction, by name: green, yellow, red.
    pub elements: Vec<(String, [Count; 3])>,
    /// The counters of the impairments of the wire behind it; `None` where it has none.
    pub impairments: Option<Counters>,
    /// The pauses that it received and sent; `None` where neither end pauses the other.
    pub flow_control: Option<flow_control::Counters>,
    /// Congestion notifications; `None` where none of its queues sends any and no host's interface receives any.
    pub notifications: Option<Notifications>,
    /// The most bytes that arrived after one of a switch's priorities was paused, and the headroom for them; `None`
    /// where the port is not one of such a switch.
    pub headroom: Option<[Bytes; 2]>,
}

impl PortTotals {
    /// Whether nothing happened there: no packet, gap or control frame was sent, queued or dropped, and no discipline
    /// failed.
    pub fn is_idle(&self) -> bool {
        let no_frames =
            self.flow_control.is_none_or(|counted| counted == flow_control::Counters::default())
                && self.notifications.is_none_or(|counted| counted == Notifications::default())
                && self.impairments.is_none_or(|counted| counted == Counters::default());
        self.statistics == Statistics::default()
            && self.drops == Drops::default()
            && self.faults.is_empty()
            && no_frames
    }

    /// The totals since `earlier`. Subtracts a class or an element from the later one with its name; one that did not
    /// exist before counted nothing.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        fn of<'e, T, U>(names: &[(String, T)], list: &'e [U], name: &str) -> Option<&'e U> {
            list.get(names.iter().position(|(known, _)| known == name)?)
        }
        let names = || self.classes.iter().map(|(name, _)| name.as_str());
        let known = &earlier.classes;
        let classes = self.classes.iter().map(|(name, later)| {
            let before = of(known, known, name).map(|(_, before)| *before).unwrap_or_default();
            (name.clone(), later.since(&before))
        });
        let sojourns = names().zip(&self.sojourns).map(|(name, later)| {
            of(known, &earlier.sojourns, name).map_or_else(|| later.clone(), |e| later.since(e))
        });
        let relaxed = names().zip(&self.relaxed).map(|(name, later)| {
            of(known, &earlier.relaxed, name).map_or(*later, |earlier| later.since(earlier))
        });
        let elements = self.elements.iter().map(|(name, later)| {
            let before = of(&earlier.elements, &earlier.elements, name);
            let before = before.map(|(_, before)| *before).unwrap_or_default();
            (name.clone(), [0, 1, 2].map(|colour| since(later[colour], before[colour])))
        });
        let delays = self.delays.as_ref().map(|later| match &earlier.delays {
            Some(earlier) => later.since(earlier),
            None => later.clone(),
        });
        let impairments = self.impairments.map(|later| match &earlier.impairments {
            Some(earlier) => later.since(earlier),
            None => later,
        });
        Self {
            statistics: self.statistics.since(&earlier.statistics),
            classes: classes.collect(),
            sojourns: sojourns.collect(),
            relaxed: relaxed.collect(),
            measured: self.measured.clone(),
            drops: self.drops.since(&earlier.drops),
            faults: self.faults.clone(),
            delays,
            elements: elements.collect(),
            impairments,
            flow_control: self.flow_control.map(|later| match &earlier.flow_control {
                Some(earlier) => later.since(earlier),
                None => later,
            }),
            notifications: self
                .notifications
                .map(|later| earlier.notifications.map_or(later, |earlier| later.since(earlier))),
            headroom: self.headroom,
        }
    }
}

fn since(later: Count, earlier: Count) -> Count {
    Count {
        packets: later.packets.saturating_sub(earlier.packets),
        bytes: later.bytes.saturating_sub(earlier.bytes),
    }
}
