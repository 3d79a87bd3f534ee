//! The pauses of ports as time series, where a switch of the plan sends pause frames.

use base::Instant;
use network::PortId;
use network::flow_control::Counters;

use crate::rows::{Name, PauseRow};
use crate::table::Series;

/// The table while it is built. A port has no row before its first pause.
#[derive(Debug)]
pub(crate) struct Pauses {
    pub(crate) series: Series<PauseRow>,
    /// Whether a port has rows, by port.
    begun: Vec<bool>,
    /// When the latest samples were taken, and those before.
    moment: Option<Instant>,
    before: Option<Instant>,
}

impl Pauses {
    /// Creates the table without a sample.
    pub(crate) const fn new(series: Series<PauseRow>) -> Self {
        Self { series, begun: Vec::new(), moment: None, before: None }
    }

    /// Adds the counters of the port of that name. Its first row is of the sample before, so that a curve of changes
    /// from sample to sample begins where the pauses do.
    pub(crate) fn sample(&mut self, port: PortId, name: Name, now: Instant, counted: &Counters) {
        if self.moment != Some(now) {
            (self.before, self.moment) = (self.moment, Some(now));
        }
        let index = port.0 as usize;
        if self.begun.len() <= index {
            self.begun.resize(index + 1, false);
        }
        if !self.begun[index] {
            if counted.pauses_sent == 0 && counted.pauses_received == 0 {
                return;
            }
            self.begun[index] = true;
            if let Some(before) = self.before {
                self.series.push(PauseRow::new(name, before, &Counters::default()));
            }
        }
        self.series.push(PauseRow::new(name, now, counted));
    }
}
