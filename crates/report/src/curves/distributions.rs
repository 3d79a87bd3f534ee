//! The distributions of delays and of the times between packets at ports.

use std::collections::BTreeMap;

use scenario::Units;

use super::{Figure, TOGETHER, series, some_of};
use crate::chart::{Axis, Chart, Shape};
use crate::{Cell, Grid};
use record::error::Error;
use record::quantity::{Kind, count};
use record::rows::DelayRow;
use record::summary::Summary;
use record::table::Table;

/// The number of decades that are drawn below the maximum.
const DECADES: i32 = 6;

/// A port's histogram: the end of each range, nanoseconds, and how many packets are in it.
#[derive(Debug, Default)]
pub(super) struct Distribution {
    pub(super) port: String,
    ranges: Vec<(u64, u64)>,
    packets: u64,
    /// The longest, exact to the nanosecond if known; else the end of the last range.
    exact: Option<u64>,
}

/// Draws a chart of each kind, not yet painted, with a table of the usual numbers.
pub(crate) fn figures(
    summary: &Summary,
    table: &Table<DelayRow>,
    units: Units,
) -> Result<Vec<(Figure, Grid)>, Error> {
    let [mut sojourn, mut spacing] = read(table)?;
    for port in summary.ports() {
        let longest = port.direction.sojourn_max_seconds.map(|s| (s * 1e9).round() as u64);
        let counted = sojourn.iter_mut().find(|counted| counted.port == port.name);
        counted.into_iter().for_each(|counted| counted.exact = longest);
        for (class, summary) in &port.direction.class.0 {
            let name = format!("{} {class}", port.name);
            let longest = summary.sojourn_max_seconds.map(|s| (s * 1e9).round() as u64);
            let counted = sojourn.iter_mut().find(|counted| counted.port == name);
            counted.into_iter().for_each(|counted| counted.exact = longest);
        }
    }
    sojourn.sort_by_key(|port| std::cmp::Reverse(port.quantile(99, 100)));
    spacing.sort_by_key(|port| std::cmp::Reverse(port.packets));
    let sojourn = What {
        title: "Queueing delay",
        description: "Cumulative distribution of the queueing delay of each port's and each class's packets.",
        x: "wait",
        caption: "From the moment when a packet enters the port's queue until its first bit leaves.",
    }
    .figure(&sojourn, units);
    let spacing = What {
        title: "Time between packets",
        description: "Cumulative distribution of the time between successive packets of each port.",
        x: "from one packet to the next",
        caption: "From the first bit of one packet to that of the next, at the same port.",
    }
    .figure(&spacing, units);
    Ok([sojourn, spacing].into_iter().flatten().collect())
}

/// Reads the sojourns and spacings of every port.
pub(super) fn read(table: &Table<DelayRow>) -> Result<[Vec<Distribution>; 2], Error> {
    let mut found: [BTreeMap<_, Distribution>; 2] = Default::default();
    table.each(|row, names| {
        let kind = usize::from(names.text(row.what) != "sojourn");
        let port = found[kind].entry(row.port).or_default();
        if port.ranges.is_empty() {
            names.text(row.port).clone_into(&mut port.port);
        }
        port.ranges.push((row.to_ns, row.packets));
        port.packets += row.packets;
    })?;
    Ok(found.map(|ports| ports.into_values().collect()))
}

impl Distribution {
    /// Returns the value that `share` of `of` packets do not exceed, to 0.8 %, nanoseconds.
    fn quantile(&self, share: u64, of: u64) -> u64 {
        let wanted = u128::from(self.packets) * u128::from(share);
        let mut seen = 0;
        let reached = self.ranges.iter().find(|(_, packets)| {
            seen += u128::from(*packets) * u128::from(of);
            seen >= wanted
        });
        reached.map_or(self.longest(), |(to, _)| (*to).min(self.longest()))
    }

    pub(super) fn longest(&self) -> u64 {
        self.exact.unwrap_or_else(|| self.ranges.last().map_or(0, |(to, _)| *to))
    }

    /// Returns the percentage of packets that were no longer, over seconds, from `least` on.
    pub(super) fn cumulated(&self, least: f64) -> Vec<(f64, f64)> {
        let mut seen = 0;
        let mut points = Vec::with_capacity(self.ranges.len() + 1);
        for &(to, packets) in &self.ranges {
            let x = nanoseconds(to).max(least);
            if points.is_empty() {
                points.push((x, 0.0));
            }
            seen += packets;
            points.push((x, 100.0 * seen as f64 / self.packets as f64));
        }
        points
    }
}

pub(super) fn nanoseconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Returns the least value that is drawn if `longest_ns` is the longest, seconds.
pub(super) fn least_drawn(longest_ns: u64) -> f64 {
    (nanoseconds(longest_ns) / 10_f64.powi(DECADES)).max(1e-9)
}

/// The contents of a chart of distributions.
struct What {
    title: &'static str,
    description: &'static str,
    x: &'static str,
    caption: &'static str,
}

impl What {
    /// The chart of the first ports, if there is anything to draw.
    fn figure(&self, ports: &[Distribution], units: Units) -> Option<(Figure, Grid)> {
        let drawn = &ports[..ports.len().min(TOGETHER)];
        let longest =
            drawn.iter().map(Distribution::longest).max().filter(|longest| *longest > 0)?;
        let least = least_drawn(longest);
        let unit = units.time.fit([nanoseconds(longest)]);
        let curves = drawn.iter().map(|port| {
            let points = port.cumulated(least).into_iter().map(|(x, y)| (x / unit.factor(), y));
            series(&port.port, Shape::Step, points.collect())
        });
        let chart = Chart {
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            x: Axis::new(unit.label(self.x)).log(),
            y: Axis::new("packets (%)").range(0.0, 100.0),
            series: curves.collect(),
            marks: Vec::new(),
        };
        let caption = format!(
            "CDF over packets. {} Smaller values are drawn at {}. {}",
            self.caption,
            units.time.text(least),
            some_of(drawn.len(), ports.len(), "delays.parquet").replace("sample", "range")
        );
        Some((Figure { chart, caption }, table(drawn, units)))
    }
}

/// Quantiles of each port.
fn table(ports: &[Distribution], units: Units) -> Grid {
    let head = ["Port", "Packets", "p50", "p99", "Max"];
    let mut grid = Grid::new(&head).in_units(units);
    for port in ports {
        let [half, most] = [port.quantile(1, 2), port.quantile(99, 100)];
        let times =
            [half, most, port.longest()].map(|ns| Cell::quantity(Kind::Time, nanoseconds(ns)));
        let mut row = vec![Cell::text_of(&port.port), Cell::number(count(port.packets))];
        row.extend(times);
        grid.row(row);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_quantiles_are_of_the_packets() {
        let ranges = vec![(0, 50), (1_000, 49), (2_000_000, 1)];
        let port = Distribution { port: "a:b".into(), ranges, packets: 100, exact: None };
        assert_eq!(
            [port.quantile(1, 2), port.quantile(99, 100), port.longest()],
            [0, 1_000, 2_000_000]
        );
        let points = port.cumulated(1e-9);
        assert_eq!(points, [(1e-9, 0.0), (1e-9, 50.0), (1e-6, 99.0), (2e-3, 100.0)]);
    }
}
