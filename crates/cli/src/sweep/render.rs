//! A sweep as text.

use experiment::sweep::{MEASURE, Point};
use record::quantity::{Entity, Kind, Quantity};
use scenario::Units;

use crate::table::{Cell, Table};

/// One line for each run: its totals with the longest delays of any flow and queue, or the measures that the command
/// line chose.
pub(super) fn table(points: &[Point], measures: &[String]) -> String {
    if measures != [MEASURE] {
        return of_measures(points, measures);
    }
    let delays = DELAYS.into_iter();
    let delays: Vec<_> =
        delays.filter(|delay| points.iter().any(|p| longest(*delay, p).is_some())).collect();
    let labels = TOTALS.into_iter().chain(delays.iter().map(|(_, quantity)| *quantity));
    let labels = labels.map(|quantity| format!(">{}", quantity.label));
    let head = ["run".to_owned()].into_iter().chain(labels).chain(["verdict".to_owned()]);
    let head: Vec<String> = head.collect();
    let units = points.first().map_or_else(Units::default, |first| first.job.plan.units);
    let mut table = Table::new(&head).in_units(units);
    points.iter().for_each(|point| table.row(row(point, &delays)));
    table.render()
}

/// The quantities of a run.
const TOTALS: [&Quantity; 5] =
    Entity::Run.columns(["goodput", "fairness", "drops", "retransmissions", "timeouts"]);

/// A delay whose longest value of a run is shown: that of any entity with this start of its path.
type Delay = (&'static str, &'static Quantity);

/// The smoothed RTT of any flow at the end, and the p99 of the sojourn time in any queue, if it was measured.
const DELAYS: [Delay; 2] = [
    ("flow.", Entity::Flow.columns(["srtt"])[0]),
    ("link.", Entity::Direction.columns(["sojourn_p99"])[0]),
];

fn longest((entity, quantity): Delay, point: &Point) -> Option<f64> {
    let is_it = |path: &str| {
        path.strip_suffix(quantity.field)
            .is_some_and(|of| of.starts_with(entity) && of.ends_with('.'))
    };
    let found = point.quantities.iter().filter(|(path, value)| *value > 0.0 && is_it(path));
    found.map(|(_, value)| *value).reduce(f64::max)
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
    let total = |quantity: &Quantity| {
        let value = point.measured(&format!("run.{}", quantity.field));
        Cell::quantity(quantity.kind, value.unwrap_or_default())
    };
    let totals = [label].into_iter().chain(TOTALS.into_iter().map(total));
    let delays = delays.iter().map(|delay| Cell::measured(delay.1.kind, longest(*delay, point)));
    totals.chain(delays).chain([verdict(point)]).collect()
}
