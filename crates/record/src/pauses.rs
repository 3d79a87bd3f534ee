//! The pauses of ports as time series, where a switch of the plan sends pause frames.

use base::Instant;
use network::PortId;
use network::flow_control::Counters;

use crate::first_rows::{FirstRows, Rows};
use crate::rows::{Name, PauseRow};
use crate::table::Series;

/// The table while it is built. A port has no row before its first pause.
#[derive(Debug)]
pub(crate) struct Pauses {
    pub(crate) series: Series<PauseRow>,
    first: FirstRows,
}

impl Pauses {
    /// Creates the table without a sample.
    pub(crate) fn new(series: Series<PauseRow>) -> Self {
        Self { series, first: FirstRows::default() }
    }

    /// Adds the counters of the port of that name.
    pub(crate) fn sample(&mut self, port: PortId, name: Name, now: Instant, counted: &Counters) {
        let is_idle = || counted.pauses_sent == 0 && counted.pauses_received == 0;
        match self.first.of(port, now, is_idle) {
            Rows::None => return,
            Rows::First(Some(before)) => {
                self.series.push(PauseRow::new(name, before, &Counters::default()));
            }
            Rows::First(None) | Rows::One => {}
        }
        self.series.push(PauseRow::new(name, now, counted));
    }
}
