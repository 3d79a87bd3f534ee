//! A paper's figures, drawn from its runs.

use report::Section;
use report::chart::{Axis, Chart, Mark, Series, Shape};

use super::cells::Cells;
use super::curves::{self, Points};
use super::measure::Measured;
use super::published::{self, Figure, Kind, Published, Value};
use crate::error::Error;

/// All figures. A series of an incomplete run is left out.
pub(super) fn section(
    published: &Published,
    cells: &Cells,
    measured: &Measured,
) -> Result<Section, Error> {
    let mut section = Section::new("Figures");
    for figure in &published.figure {
        let chart = chart(figure, cells, measured).map_err(|message| {
            Error::paper(&published.paper, &format!("{}: {message}", figure.figure))
        })?;
        section.figure(&chart, &figure.note);
    }
    Ok(section)
}

fn chart(figure: &Figure, cells: &Cells, measured: &Measured) -> Result<Chart, String> {
    let mut series = Vec::new();
    for (colour, curve) in figure.series.iter().enumerate() {
        let Some(points) = points(figure, curve, cells, measured)? else { continue };
        let (name, shape) = (curve.label.clone(), shape(curve));
        series.push(Series { name, shape, colour, points, ..Series::default() });
    }
    let kind = figure.series.first().map_or(Kind::Xy, |curve| curve.kind);
    let (x, y) = curves::units(kind);
    let x = Axis::new(figure.x.as_deref().unwrap_or(x));
    let mark = |mark: &published::Mark| Mark { name: mark.label.clone(), y: mark.y };
    Ok(Chart {
        title: format!("{}: {}", figure.figure, figure.title),
        description: figure.note.clone(),
        // Curves of runs are over seconds, and share a cursor.
        x: if kind == Kind::Xy { x } else { x.time(1.0) },
        y: Axis::new(figure.y.as_deref().unwrap_or(y)),
        series,
        marks: figure.marks.iter().map(mark).collect(),
    })
}

const fn shape(curve: &published::Series) -> Shape {
    match (curve.kind, curve.value) {
        (Kind::Bandwidth, _) => Shape::Step,
        (Kind::Xy, Value::Measured) => Shape::Points,
        (Kind::Xy, Value::Published) => Shape::Dashed,
        _ => Shape::Line,
    }
}

fn points(
    figure: &Figure,
    curve: &published::Series,
    cells: &Cells,
    measured: &Measured,
) -> Result<Option<Points>, String> {
    if curve.kind == Kind::Xy {
        return of_item(curve, measured).map(Some);
    }
    let run = curve.run.as_deref().or(figure.run.as_deref());
    let run = run.ok_or_else(|| format!("`{}` names no run", curve.label))?;
    let cell = cells.find(run, curve.case.as_deref().unwrap_or(&figure.case))?;
    let probe =
        curve.probe.as_deref().ok_or_else(|| format!("`{}` names no probe", curve.label))?;
    if cell.outcome.is_none() {
        return Ok(None);
    }
    curves::of(curve.kind, probe, cell).map(Some)
}

/// The cases of an item as points.
fn of_item(curve: &published::Series, measured: &Measured) -> Result<Points, String> {
    let item = curve.item.as_deref().ok_or_else(|| format!("`{}` names no item", curve.label))?;
    let quantity = |q: &str| curve.quantity.as_deref().is_none_or(|wanted| wanted == q);
    let cases = measured.rows.iter().filter(|c| c.row.item == item && quantity(&c.row.quantity));
    let point = |case: &super::measure::MeasuredCase| {
        let y = match curve.value {
            Value::Measured => Some(case.row.measured),
            Value::Published => case.row.published,
        };
        Some((case.x?, y?))
    };
    let mut points: Points = cases.filter_map(point).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(points)
}
