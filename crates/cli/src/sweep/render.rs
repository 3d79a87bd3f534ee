//! A sweep as text and as JSON.

use results::quantity::Kind;
use scenario::Units;
use serde_json::{Value, json};

use crate::sweep::point::Point;
use crate::table::{Cell, Table};

/// All runs as JSON. Without their cost, so that it has the same bytes whatever the workers; that is
/// in each run's manifest.
pub(super) fn document(points: &[Point<'_>]) -> Value {
    let entries = points.iter().map(|point| {
        let pairs = point.run.parameters.iter().map(|(path, value)| (path.clone(), json!(value)));
        let parameters: serde_json::Map<String, Value> = pairs.collect();
        json!({
            "folder": point.folder(),
            "parameters": parameters,
            "summary": point.stored.as_ref().map(|stored| &stored.summary),
            "expectations": point.stored.as_ref().map(|_| &point.verdicts),
        })
    });
    let entries: Vec<Value> = entries.collect();
    json!({ "complete": points.iter().all(Point::complete), "runs": entries })
}

/// A line for each run.
pub(super) fn table(points: &[Point<'_>]) -> String {
    let head = ["run", ">goodput", ">fairness", ">drops", ">retransmits", ">timeouts", "verdict"];
    let units = points.first().map_or_else(Units::default, |first| first.job.plan.units);
    let mut table = Table::new(&head).in_units(units);
    points.iter().for_each(|point| table.row(row(point)));
    table.render()
}

fn row(point: &Point<'_>) -> Vec<Cell> {
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
