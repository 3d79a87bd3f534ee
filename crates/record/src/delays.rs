//! The delays of every port, and their rows.

use base::histogram::Histogram;
use base::{Instant, Packet};
pub use measured::totals::Delays;
use network::observer::PortId;
use scenario::Plan;

use crate::rows::{DelayRow, Name};

/// Returns the rows of the delays of `port`.
pub(crate) fn of_port(delays: &Delays, port: Name, [sojourn, spacing]: [Name; 2]) -> Vec<DelayRow> {
    let sojourns = rows(&delays.sojourn, port, sojourn);
    sojourns.chain(rows(&delays.spacing, port, spacing)).collect()
}

/// Returns a histogram as rows for the table of `port`.
pub(crate) fn rows(
    counted: &Histogram,
    port: Name,
    what: Name,
) -> impl Iterator<Item = DelayRow> + '_ {
    let ranges = counted.ranges();
    ranges.map(move |(from_ns, to_ns, packets)| DelayRow { port, what, from_ns, to_ns, packets })
}

/// The delays of every port, by its number.
#[derive(Clone, Debug, Default)]
pub struct AllDelays(Vec<Delays>);

impl AllDelays {
    /// Creates one for each port of `plan`, if the plan wants delays.
    pub fn new(plan: &Plan) -> Self {
        let ports = if plan.probes.delays { 2 * plan.links.len() } else { 0 };
        let classes = |port| !plan.classes(port / 2, port % 2).is_empty();
        let of = |port| Delays::new(classes(port));
        Self((0..ports).map(of).collect())
    }

    /// Counts a packet that began to leave `port` at `start`.
    #[inline]
    pub fn note(&mut self, port: PortId, packet: &Packet, start: Instant) {
        if let Some(delays) = self.0.get_mut(port.0 as usize) {
            delays.note(packet, start);
        }
    }

    /// Counts a packet of no class that was queued at `queued` and began to leave `port` at `start`.
    #[inline]
    pub fn note_classless(&mut self, port: PortId, queued: Instant, start: Instant) {
        if let Some(delays) = self.0.get_mut(port.0 as usize) {
            delays.note_classless(queued, start);
        }
    }

    /// Assigns the packets of `port` with this class number so far to the class of that name.
    pub fn renumbered(&mut self, port: PortId, class: usize, name: &str) {
        if let Some(delays) = self.0.get_mut(port.0 as usize) {
            delays.renumber(class, name);
        }
    }

    /// Returns the delays of `port`, if they are counted.
    pub fn of(&self, port: PortId) -> Option<&Delays> {
        self.0.get(port.0 as usize)
    }
}
