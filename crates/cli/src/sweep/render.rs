//! A sweep as text.

use experiment::sweep::{MEASURE, Point};
use record::quantity::Kind;
use scenario::Units;

use crate::table::{Cell, Table};

/// One line for each run: its totals with the longest delays of any flow and queue, or the measures that the command
/// line chose.
pub(super) fn table(points: &[Point], measures: &[String]) -> String {
    if measures != [MEASURE] {
        return of_measures(points, measures);
    }
    let totals = ["run", ">goodput", ">fairness", ">drops", ">retransmissions", ">timeouts"];
    let delays = Delay::ALL.into_iter();
    let delays: Vec<_> =
        delays.filter(|delay| points.iter().any(|p| delay.longest(p).is_some())).collect();
    let headings = delays.iter().map(|delay| delay.heading());
    let head: Vec<&str> = totals.into_iter().chain(headings).chain(["verdict"]).collect();
    let units = points.first().map_or_else(Units::default, |first| first.job.plan.units);
    let mut table = Table::new(&head).in_units(units);
    points.iter().for_each(|point| table.row(row(point, &delays)));
    table.render()
}

/// A delay of a run, the longest of several.
#[derive(Clone, Copy, Debug)]
enum Delay {
    /// The smoothed RTT of any flow at the end.
    RoundTrip,
    /// The p99 of the sojourn time in any queue, if it was measured.
    Queue,
}

impl Delay {
    const ALL: [Self; 2] = [Self::RoundTrip, Self::Queue];

    const fn heading(self) -> &'static str {
        match self {
            Self::RoundTrip => ">RTT at end",
            Self::Queue => ">queue p99",
        }
    }

    fn longest(self, point: &Point) -> Option<f64> {
        let is_it = |path: &str| match self {
            Self::RoundTrip => path.starts_with("flow.") && path.ends_with(".srtt_seconds"),
            Self::Queue => path.starts_with("link.") && path.ends_with(".sojourn_p99_seconds"),
        };
        let found = point.quantities.iter().filter(|(path, value)| *value > 0.0 && is_it(path));
        found.map(|(_, value)| *value).reduce(f64::max)
    }
}

fn of_measures(points: &[Point], measures: &[String]) -> String {
    let measured = measures.iter().map(|path| format!(">{path}"));
    let head: Vec<String> =
        ["run".to_owned()].into_iter().chain(measured).chain(["verdict".to_owned()]).collect();
    let units = points.first().map_or_else(Units::default, |first| first.job.plan.units);
    let mut table = Table::new(&head).in_units(units);
    for point in points {
        let label = point.run.label.as_str().into();
        if point.stored.is_none() {
            table.row([label, "not run".into()]);
            continue;
        }
        let values = measures.iter().map(|path| {
            // `goodput` is short for `run.goodput`.
            let value = point.measured(path).or_else(|| point.measured(&format!("run.{path}")));
            let kind = if Kind::of(path) == Kind::Number {
                Kind::of(&format!("run.{path}"))
            } else {
                Kind::of(path)
            };
            Cell::measured(kind, value)
        });
        table.row([label].into_iter().chain(values).chain([verdict(point)]));
    }
    table.render()
}

fn verdict(point: &Point) -> Cell {
    match (point.complete(), point.held()) {
        (false, _) => "interrupted".into(),
        (true, None) => "".into(),
        (true, Some(ok)) => Cell::verdict(ok),
    }
}

fn row(point: &Point, delays: &[Delay]) -> Vec<Cell> {
    let label = point.run.label.as_str().into();
    if point.stored.is_none() {
        return vec![label, "not run".into()];
    }
    let total = |name: &str| point.measured(&format!("run.{name}")).unwrap_or_default();
    let totals = [
        label,
        Cell::quantity(Kind::Rate, total("goodput")),
        format!("{:.4}", total("fairness")).into(),
        total("drops").to_string().into(),
        total("retransmissions").to_string().into(),
        total("timeouts").to_string().into(),
    ];
    let delays = delays.iter().map(|delay| Cell::measured(Kind::Time, delay.longest(point)));
    totals.into_iter().chain(delays).chain([verdict(point)]).collect()
}
