//! Past rates, for a small plot of them.

use std::collections::{BTreeMap, VecDeque};

use crate::statistics::Statistics;

/// Number of snapshots remembered.
pub const LOOKS: usize = 64;

/// The rates of ports and classes at the latest snapshots.
#[derive(Debug, Default)]
pub struct History(BTreeMap<(String, String), VecDeque<f64>>);

impl History {
    /// Remembers another snapshot.
    pub fn push(&mut self, now: &Statistics) {
        for (name, port) in &now.port.0 {
            self.note(name, "", port.counts.rate);
            for (class, counted) in &port.class.0 {
                self.note(name, class, counted.counts.rate);
            }
        }
    }

    fn note(&mut self, port: &str, class: &str, rate: Option<f64>) {
        let rates = self.0.entry((port.to_owned(), class.to_owned())).or_default();
        rates.push_back(rate.unwrap_or(0.0));
        if rates.len() > LOOKS {
            rates.pop_front();
        }
    }

    /// The latest rates of a class, or of a port if `class` is empty, as bars relative to their maximum.
    pub fn picture(&self, port: &str, class: &str, width: usize) -> String {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let Some(rates) = self.0.get(&(port.to_owned(), class.to_owned())) else {
            return String::new();
        };
        let highest = rates.iter().copied().fold(0.0, f64::max);
        let bar = |&rate: &f64| {
            // A rate of zero is a space.
            let place = if highest > 0.0 { (rate / highest * 8.0).ceil() as usize } else { 0 };
            place.checked_sub(1).map_or(' ', |place| BARS[place.min(7)])
        };
        rates.iter().skip(rates.len().saturating_sub(width)).map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use record::summary::Named;

    use super::*;
    use crate::statistics::{Counts, Port};

    #[test]
    fn the_latest_rates_are_drawn() {
        let mut history = History::default();
        for rate in 0..=100 {
            let counts = Counts { rate: Some(f64::from(rate)), ..Counts::default() };
            let port = Port { counts, ..Port::default() };
            history.push(&Statistics {
                port: Named(vec![("r:out".into(), port)]),
                ..Statistics::default()
            });
        }
        assert_eq!(history.picture("r:out", "", 4), "████");
        let all = history.picture("r:out", "", 1000);
        assert_eq!((all.chars().count(), all.chars().next()), (LOOKS, Some('▃')));
        assert_eq!(history.picture("r:in", "", 4), "");
    }
}
