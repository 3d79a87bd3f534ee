//! The delays of every port, and their rows.

use base::Instant;
use base::histogram::Histogram;
use base::prefetch::prefetch;
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
///
/// The histograms of some hundred ports are larger than the nearest caches. Packets are therefore counted in batches: the
/// processor then waits for the memory of several at a time.
#[derive(Clone, Debug, Default)]
pub struct AllDelays {
    ports: Vec<Delays>,
    /// Packets that are not counted yet, in order; at most [`BATCH`].
    noted: Vec<Noted>,
}

/// A packet that began to leave.
#[derive(Clone, Copy, Debug)]
struct Noted {
    queued: Instant,
    start: Instant,
    port: PortId,
    class: u16,
}

impl Noted {
    #[inline]
    fn of<'a>(&self, ports: &'a [Delays]) -> Option<&'a Delays> {
        ports.get(self.port.0 as usize)
    }
}

/// The packets of a batch: 6 kB, which stay in the nearest cache.
const BATCH: usize = 256;
/// How many packets ahead the counts of a port are asked for; its histograms twice as many.
const AHEAD: usize = 8;

impl AllDelays {
    /// Creates one for each port of `plan`, if the plan wants delays.
    pub fn new(plan: &Plan) -> Self {
        let ports = if plan.probes.delays { 2 * plan.links.len() } else { 0 };
        let classes = |port| !plan.classes(port / 2, port % 2).is_empty();
        let of = |port| Delays::new(classes(port));
        Self { ports: (0..ports).map(of).collect(), noted: Vec::new() }
    }

    /// Counts a packet with this class number that was queued at `queued` and began to leave `port` at `start`.
    #[inline]
    pub fn note(&mut self, port: PortId, class: u16, queued: Instant, start: Instant) {
        if self.ports.is_empty() {
            return;
        }
        self.noted.push(Noted { queued, start, port, class });
        if self.noted.len() >= BATCH {
            self.count_noted();
        }
    }

    #[inline(never)]
    fn count_noted(&mut self) {
        let Self { ports, noted } = self;
        for (place, &Noted { queued, start, port, class }) in noted.iter().enumerate() {
            if let Some(delays) = noted.get(place + 2 * AHEAD).and_then(|noted| noted.of(ports)) {
                prefetch(delays, 2);
            }
            if let Some(next) = noted.get(place + AHEAD)
                && let Some(delays) = next.of(ports)
            {
                delays.prefetch(next.queued, next.start);
            }
            if let Some(delays) = ports.get_mut(port.0 as usize) {
                delays.note(class, queued, start);
            }
        }
        noted.clear();
    }

    /// Assigns the packets of `port` with this class number so far to the class of that name.
    pub fn renumbered(&mut self, port: PortId, class: usize, name: &str) {
        self.count_noted();
        if let Some(delays) = self.ports.get_mut(port.0 as usize) {
            delays.renumber(class, name);
        }
    }

    /// Returns the delays of all ports, if they are counted; else none.
    pub fn counted(&mut self) -> &[Delays] {
        self.count_noted();
        &self.ports
    }
}
