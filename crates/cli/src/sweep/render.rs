//! A sweep as text.

use experiment::sweep::{MEASURE, Point};
use record::quantity::Kind;
use scenario::Units;

use crate::table::{Cell, Table};

/// One line for each run: its totals, or the measures that the command line chose.
pub(super) fn table(points: &[Point], measures: &[String]) -> String {
    if measures != [MEASURE] {
        return of_measures(points, measures);
    }
    let head = ["run", ">goodput", ">fairness", ">drops", ">retransmits", ">timeouts", "verdict"];
    let units = points.first().map_or_else(Units::default, |first| first.job.plan.units);
    let mut table = Table::new(&head).in_units(units);
    points.iter().for_each(|point| table.row(row(point)));
    table.render()
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

fn row(point: &Point) -> Vec<Cell> {
    let label = point.run.label.as_str().into();
    if point.stored.is_none() {
        return vec![label, "not run".into()];
    }
    let total = |name: &str| point.measured(&format!("run.{name}")).unwrap_or_default();
    vec![
        label,
        Cell::quantity(Kind::Rate, total("goodput")),
        format!("{:.4}", total("fairness")).into(),
        total("drops").to_string().into(),
        total("retransmissions").to_string().into(),
        total("timeouts").to_string().into(),
        verdict(point),
    ]
}
