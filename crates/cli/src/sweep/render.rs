//! A sweep as text.

use experiment::sweep::Point;
use record::quantity::Kind;
use scenario::Units;

use crate::table::{Cell, Table};

/// One line for each run.
pub(super) fn table(points: &[Point]) -> String {
    let head = ["run", ">goodput", ">fairness", ">drops", ">retransmits", ">timeouts", "verdict"];
    let units = points.first().map_or_else(Units::default, |first| first.job.plan.units);
    let mut table = Table::new(&head).in_units(units);
    points.iter().for_each(|point| table.row(row(point)));
    table.render()
}

fn row(point: &Point) -> Vec<Cell> {
    let label = point.run.label.as_str().into();
    if point.stored.is_none() {
        return vec![label, "not run".into()];
    }
    let total = |name: &str| point.measured(&format!("run.{name}")).unwrap_or_default();
    let verdict = match (point.complete(), point.held()) {
        (false, _) => "interrupted".into(),
        (true, None) => "".into(),
        (true, Some(ok)) => Cell::verdict(ok),
    };
    vec![
        label,
        Cell::quantity(Kind::Rate, total("goodput")),
        format!("{:.4}", total("fairness")).into(),
        total("drops").to_string().into(),
        total("retransmissions").to_string().into(),
        total("timeouts").to_string().into(),
        verdict,
    ]
}
