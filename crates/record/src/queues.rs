//! The queues of ports and their classes as time series.

use base::Instant;
use network::PortId;
use traffic::Statistics;

use crate::first_rows::{FirstRows, Rows};
use crate::rows::{ClassRow, Name, QueueRow};
use crate::table::Series;

/// The tables while they are built. A port of a topology or a `count` has no row before its first packet, and none if it
/// is idle.
#[derive(Debug)]
pub(crate) struct Queues {
    pub(crate) queues: Series<QueueRow>,
    pub(crate) classes: Series<ClassRow>,
    first: FirstRows,
    /// Whether a link's ports have rows from the start, by link.
    from_start: Vec<bool>,
    /// The rows that the latest sample of a queue made; those of its classes follow it.
    latest: Rows,
}

impl Queues {
    /// Creates the tables without a sample.
    pub(crate) fn new(
        queues: Series<QueueRow>,
        classes: Series<ClassRow>,
        from_start: Vec<bool>,
    ) -> Self {
        Self { queues, classes, first: FirstRows::default(), from_start, latest: Rows::One }
    }

    /// Adds the state of the queue of the port of that name.
    pub(crate) fn sample(&mut self, port: PortId, name: Name, now: Instant, counted: &Statistics) {
        let is_from_start = self.from_start.get(port.0 as usize / 2) != Some(&false);
        self.latest = match is_from_start {
            true => Rows::One,
            false => self.first.of(port, now, || *counted == Statistics::default()),
        };
        match self.latest {
            Rows::None => return,
            Rows::First(Some(before)) => {
                self.queues.push(QueueRow::new(name, before, &Statistics::default()));
            }
            Rows::First(None) | Rows::One => {}
        }
        self.queues.push(QueueRow::new(name, now, counted));
    }

    /// Adds the state of a class of the port that was sampled last.
    pub(crate) fn class(&mut self, port: Name, class: Name, now: Instant, counted: &Statistics) {
        match self.latest {
            Rows::None => return,
            Rows::First(Some(before)) => {
                self.classes.push(ClassRow::new(port, class, before, &Statistics::default()));
            }
            Rows::First(None) | Rows::One => {}
        }
        self.classes.push(ClassRow::new(port, class, now, counted));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::rows::Names;

    #[test]
    fn a_port_of_a_count_has_rows_from_its_first_packet_on() {
        let mut queues = Queues::new(Series::in_memory(), Series::in_memory(), vec![true, false]);
        let (idle, used) =
            (Statistics::default(), Statistics { sent_packets: 1, ..Statistics::default() });
        let (class, names) = (Name(9), Arc::new(Names::default()));
        for (us, of_third) in [(0, &idle), (1, &idle), (2, &used), (3, &used)] {
            let now = Instant::from_ps(1_000_000 * us);
            // The first link's port, and both of the second.
            for (port, counted) in [(0, &idle), (2, of_third), (3, &idle)] {
                queues.sample(PortId(port), Name(port), now, counted);
                queues.class(Name(port), class, now, counted);
            }
        }
        let rows = |port: u32, from: u64| (from..4).map(move |us| (Name(port), 1_000 * us));
        let wanted: Vec<_> = rows(0, 0).chain(rows(2, 1)).collect();
        let (of_queues, _) = queues.queues.finish(&names).unwrap().rows().unwrap();
        let mut found: Vec<_> = of_queues.iter().map(|row| (row.port, row.time_ns)).collect();
        found.sort_unstable();
        assert_eq!(found, wanted);
        assert_eq!(of_queues.iter().map(|row| row.sent_packets).sum::<u64>(), 2);
        let (of_classes, _) = queues.classes.finish(&names).unwrap().rows().unwrap();
        let mut found: Vec<_> = of_classes.iter().map(|row| (row.port, row.time_ns)).collect();
        found.sort_unstable();
        assert_eq!(found, wanted);
    }
}
