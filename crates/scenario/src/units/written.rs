//! The units used in a scenario.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use toml::de::{DeTable, DeValue};

use super::{Family, Unit, Units};
use crate::measure::{Dimension, measure};

/// The tables of path elements, with rates and delays.
const LINKS: [&str; 2] = ["link", "emulator"];

/// The units of a document. The family of rates is that of most rates, and the prefix that of most links, their
/// queues and emulators; times have the unit of their delays.
pub(crate) fn units(document: &DeTable<'_>) -> Units {
    let all = Written::of(document.iter().map(|(_, value)| value.get_ref()));
    let links = LINKS.iter().filter_map(|kind| Some(document.get(*kind)?.get_ref()));
    let of_links = Written::of(links.clone());
    let each = links.filter_map(|links| links.as_table()).flat_map(|links| links.iter());
    let delays = each.filter_map(|(_, link)| link.get_ref().as_table()?.get("delay"));
    let delays = Written::of(delays.map(|delay| delay.get_ref()));
    let duration = Written::of(document.get("duration").map(|value| value.get_ref()));
    let rate = |family| of_links.unit(family).or_else(|| all.unit(family));
    let default = Units::default();
    Units {
        rate: all.family(Dimension::Rate).and_then(rate).unwrap_or(default.rate),
        size: all
            .family(Dimension::Size)
            .and_then(|family| all.unit(family))
            .unwrap_or(default.size),
        time: delays.unit(Family::Time).unwrap_or(default.time),
        duration: duration.unit(Family::Time).unwrap_or(default.duration),
    }
}

/// Amounts by unit, without duplicates, in base units: as bits, which order positive numbers correctly.
#[derive(Debug, Default)]
struct Written(BTreeMap<Unit, BTreeSet<u64>>);

impl Written {
    fn of<'d>(values: impl IntoIterator<Item = &'d DeValue<'d>>) -> Self {
        let mut written = Self::default();
        values.into_iter().for_each(|value| written.add(value));
        written
    }

    fn add(&mut self, value: &DeValue<'_>) {
        match value {
            DeValue::Array(items) => items.iter().for_each(|item| self.add(item.get_ref())),
            DeValue::Table(table) => table.iter().for_each(|(_, value)| self.add(value.get_ref())),
            DeValue::String(text) => self.add_text(text.trim()),
            _ => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        let amount = measure(text).map(|measure| measure.value).filter(|value| *value > 0.0);
        let (Some(amount), Some(unit)) = (amount, Unit::written(text)) else { return };
        // Packet sizes do not indicate the unit of other sizes.
        if unit.family.dimension() == Dimension::Size && unit.place == 0 {
            return;
        }
        self.0.entry(unit).or_default().insert(amount.to_bits());
    }

    /// The family of most amounts, each counted once. In a tie, the family of the smallest rate, which is the
    /// bottleneck's; for sizes, thousands.
    fn family(&self, dimension: Dimension) -> Option<Family> {
        let mut votes: BTreeMap<Family, BTreeSet<u64>> = BTreeMap::new();
        for (unit, amounts) in &self.0 {
            if unit.family.dimension() == dimension {
                votes.entry(unit.family).or_default().extend(amounts);
            }
        }
        let rank = |(family, amounts): &(&Family, &BTreeSet<u64>)| {
            let least = amounts.first().copied().filter(|_| dimension == Dimension::Rate);
            (amounts.len(), Reverse(least), Reverse(**family))
        };
        votes.iter().max_by_key(rank).map(|(family, _)| *family)
    }

    /// The unit of most amounts in a family, because many access links have the same rate. In a tie, the larger one
    /// for delays, which contributes most, and the smaller one otherwise, as for a bottleneck.
    fn unit(&self, family: Family) -> Option<Unit> {
        let tie = |unit: &Unit| {
            let place = unit.place as isize;
            if family == Family::Time { place } else { -place }
        };
        let units = self.0.iter().filter(|(unit, _)| unit.family == family);
        units.max_by_key(|(unit, amounts)| (amounts.len(), tie(unit))).map(|(unit, _)| *unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rate, size, time and duration.
    fn names(text: &str) -> [&'static str; 4] {
        let Units { rate, size, time, duration } =
            units(DeTable::parse(text).expect("TOML").get_ref());
        [rate, size, time, duration].map(Unit::name)
    }

    #[test]
    fn what_most_links_write_counts() {
        let text = "duration = \"500 ms\"\n\
            [link]\na = { rate = \"1 Gbit/s\", delay = \"50 us\" }\n\
            b = { rate = \"100 Mbit/s\", delay = \"2 ms\" }\nc = { rate = \"10mbit\", delay = \"0 s\" }\n\
            d = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n\
            [flow.f]\nrates = [\"64 kbit/s\", \"128 kbit/s\", \"256 kbit/s\"]\n\
            size = \"1500 B\"\nbuffer = \"64 KiB\"\nstart = \"3 s\"\nstop = \"9 s\"\n";
        assert_eq!(names(text), ["Mbit/s", "KiB", "ms", "ms"]);
    }

    #[test]
    fn many_links_of_one_rate_do_not_outvote_the_bottleneck() {
        let dumbbell = "[link]\na = { rate = \"1 Gbit/s\", delay = \"5 us\" }\n\
            b = { rate = \"1 Gbit/s\", delay = \"5 us\" }\n\
            wan = { rate = \"50 Mbit/s\", delay = \"20 ms\" }\n";
        assert_eq!(names(dumbbell), ["Mbit/s", "MB", "ms", "s"]);
        let shaped = "[link.a]\nrate = \"1 Gbit/s\"\n\
            at.r.queue.cbq.class = { web = { rate = \"200 Mbit/s\" }, rest = { rate = \"500 Mbit/s\" } }\n";
        assert_eq!(names(shaped)[0], "Mbit/s");
    }

    #[test]
    fn the_family_is_that_of_most_rates() {
        let pipe = "[emulator.wan]\nrate = \"62.5 MB/s\"\nbuffer = \"1 MB\"\n\
            [link.a]\nrate = \"1 Gbit/s\"\nqueue.fifo.bytes = \"1 MiB\"\n[link.b]\nrate = \"1 Gbit/s\"\n";
        assert_eq!(names(pipe), ["MB/s", "MB", "ms", "s"], "of one each, the bottleneck's");
        let more = "[flow.x]\nrate = \"2 Gbit/s\"\n";
        assert_eq!(names(&(pipe.to_owned() + more))[0], "Gbit/s");
    }

    #[test]
    fn a_scenario_that_writes_no_unit_has_the_usual_ones() {
        assert_eq!(names(""), ["Mbit/s", "MB", "ms", "s"]);
        assert_eq!(names("title = \"8 MiB of it\"\nx = \"1500 B\""), ["Mbit/s", "MB", "ms", "s"]);
        assert_eq!(names("[flow.f]\nrate = \"10 kbps\"")[0], "kB/s", "no link has a rate");
    }
}
