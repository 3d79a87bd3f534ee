//! When the time series of a port begins, where it has none before something happens there.

use base::Instant;
use network::PortId;

/// The ports whose time series have begun.
#[derive(Debug, Default)]
pub(crate) struct FirstRows {
    begun: Vec<bool>,
    /// When the latest samples were taken, and those before.
    moment: Option<Instant>,
    before: Option<Instant>,
}

/// The rows that a sample of a port makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// None: nothing has happened there so far.
    None,
    /// The first two, of the sample before, if there was one, and of this one: a curve of changes from sample to sample
    /// begins where the changes do.
    First(Option<Instant>),
    /// The row of the sample.
    One,
}

impl FirstRows {
    /// Returns the rows that a sample of `port` makes; `is_idle` says that nothing has happened there so far.
    pub(crate) fn of(
        &mut self,
        port: PortId,
        now: Instant,
        is_idle: impl FnOnce() -> bool,
    ) -> Rows {
        if self.moment != Some(now) {
            (self.before, self.moment) = (self.moment, Some(now));
        }
        let index = port.0 as usize;
        if self.begun.len() <= index {
            self.begun.resize(index + 1, false);
        }
        if self.begun[index] {
            return Rows::One;
        }
        if is_idle() {
            return Rows::None;
        }
        self.begun[index] = true;
        Rows::First(self.before)
    }
}
