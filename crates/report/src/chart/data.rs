//! A page's charts as data for its script: each series once, in short form, without visible loss.
//!
//! Abscissas are whole multiples of a power of ten below a hundred-millionth of the axis, written as differences.
//! Abscissas that several series share are written once. Ordinates have six digits.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::axis::{Axis, Layout, Scale};
use super::{Chart, Series, Shape};
use scenario::significant;

/// Steps that an axis is divided into, at least.
const STEPS: f64 = 1e8;
/// Significant digits of an ordinate.
const DIGITS: u32 = 6;

/// Charts in the order of the page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    /// The index of each list of abscissas, by its JSON.
    places: BTreeMap<String, usize>,
    /// These lists by place.
    abscissas: Vec<String>,
    charts: Vec<String>,
}

impl Data {
    /// Adds a chart.
    pub(crate) fn add(&mut self, chart: &Chart) {
        let [x, y] = chart.layouts();
        let series: Vec<_> = chart.series.iter().map(|series| self.series(series, &x)).collect();
        let marks = chart.marks.iter();
        let marks: Vec<_> = marks
            .map(|mark| format!("{{\"name\":{},\"y\":{}}}", text(&mark.name), number(mark.y)))
            .collect();
        self.charts.push(format!(
            "{{\"x\":{},\"y\":{},\"series\":[{}],\"marks\":[{}]}}",
            axis(&chart.x, &x),
            axis(&chart.y, &y),
            series.join(","),
            marks.join(",")
        ));
    }

    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.charts.is_empty()
    }

    /// Returns everything as JSON, safe within an HTML element.
    pub(crate) fn to_json(&self) -> String {
        let (x, charts) = (self.abscissas.join(",\n"), self.charts.join(",\n"));
        format!("{{\"x\":[{x}],\n\"charts\":[{charts}]}}")
    }

    fn series(&mut self, series: &Series, x: &Layout) -> String {
        // Values that an axis cannot show are left out of its data.
        let log = x.scale == Scale::Log;
        let points = series.points.iter().copied();
        let points = points.filter(|(x, _)| x.is_finite() && (!log || *x > 0.0));
        let place = self.place(points.clone().map(|(x, _)| x), x);
        let mut more = String::new();
        if !series.means.is_empty() {
            let place = self.place(series.means.iter().map(|(x, _)| *x), x);
            let ys = list(series.means.iter().map(|(_, y)| *y));
            let _ = write!(more, ",\"means\":{{\"x\":{place},\"y\":{ys}}}");
        }
        if !series.area.0.is_empty() {
            let area = || series.area.0.iter();
            let place = self.place(area().map(|(x, ..)| *x), x);
            let (low, high) = (list(area().map(|a| a.1)), list(area().map(|a| a.2)));
            let _ = write!(more, ",\"area\":{{\"x\":{place},\"low\":{low},\"high\":{high}}}");
        }
        format!(
            "{{\"name\":{},\"shape\":\"{}\",\"colour\":{},\"dash\":\"{}\",\"x\":{place},\"y\":{}{more}}}",
            text(&series.name),
            shape(series.shape),
            series.colour % super::PALETTE.len(),
            series.dash(),
            list(points.map(|(_, y)| y))
        )
    }

    /// Returns the index of a list of abscissas.
    fn place(&mut self, xs: impl Iterator<Item = f64>, x: &Layout) -> usize {
        let xs = if x.scale == Scale::Log { list(xs) } else { stepped(xs, x.high - x.low) };
        let next = self.abscissas.len();
        *self.places.entry(xs).or_insert_with_key(|xs| {
            self.abscissas.push(xs.clone());
            next
        })
    }
}

const fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Line => "line",
        Shape::Dashed => "dashed",
        Shape::Step => "step",
        Shape::Points => "points",
    }
}

fn axis(axis: &Axis, layout: &Layout) -> String {
    let seconds = axis.seconds.map_or_else(|| "null".to_owned(), |seconds| format!("{seconds:e}"));
    format!(
        "{{\"label\":{},\"log\":{},\"from\":{},\"to\":{},\"seconds\":{seconds}}}",
        text(&axis.label),
        layout.scale == Scale::Log,
        layout.low,
        layout.high,
    )
}

/// Numbers as a list.
fn list(numbers: impl Iterator<Item = f64>) -> String {
    format!("[{}]", numbers.map(number).collect::<Vec<_>>().join(","))
}

/// Writes numbers as differences of whole steps: `per` steps make one. Different values stay different.
fn stepped(xs: impl Iterator<Item = f64>, span: f64) -> String {
    let finest = (STEPS / span.max(f64::MIN_POSITIVE)).log10().ceil().clamp(0.0, 15.0);
    let per = 10_f64.powi(finest as i32);
    let mut out = format!("{{\"per\":{per:e},\"by\":[");
    let mut last: Option<(f64, i64)> = None;
    for x in xs {
        let mut step = (x * per).round() as i64;
        if let Some((before, taken)) = last
            && step <= taken
        {
            step = if x > before { taken + 1 } else { taken };
        }
        let by = step - last.map_or(0, |(_, taken)| taken);
        let _ = write!(out, "{}{by}", if last.is_some() { "," } else { "" });
        last = Some((x, step));
    }
    out + "]}"
}

fn number(value: f64) -> String {
    if value.is_finite() { significant(value, DIGITS) } else { "null".to_owned() }
}

/// Writes a JSON string that cannot end an HTML element.
fn text(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::Area;
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        let means = vec![(0.05, 2.5)];
        let area = Area(vec![(0.0, 0.5, 1.5)]);
        let name = "a </script> b".into();
        let series = Series { name, shape: Shape::Step, colour: 1, points, means, area };
        let x = Axis::new("time (ms)").time(1e-3);
        Chart { x, series: vec![series.clone(), series], ..Chart::default() }
    }

    fn json(data: &Data) -> Value {
        serde_json::from_str(&data.to_json()).unwrap()
    }

    #[test]
    fn shared_abscissas_occur_once_and_names_end_nothing() {
        let mut data = Data::default();
        data.add(&chart(vec![(0.0, 1.0), (0.1, f64::NAN), (0.25, 1_234_567.8)]));
        assert!(!data.to_json().contains('<'));
        let json = json(&data);
        // Those of the points, of the means and of the area, for both series.
        assert_eq!(json["x"].as_array().unwrap().len(), 3);
        let per = json["x"][0]["per"].as_f64().unwrap();
        let by = json["x"][0]["by"].as_array().unwrap();
        assert_eq!(by[1].as_f64().unwrap() / per, 0.1);
        let series = &json["charts"][0]["series"][1];
        assert_eq!(series["name"], "a </script> b");
        assert_eq!(series["y"], serde_json::json!([1, null, 1_234_568]));
        assert_eq!(series["means"]["y"], serde_json::json!([2.5]));
        assert_eq!(series["area"]["high"], serde_json::json!([1.5]));
        assert_eq!(json["charts"][0]["x"]["seconds"], 1e-3);
    }

    #[test]
    fn neighbours_closer_than_a_step_stay_apart() {
        let mut data = Data::default();
        data.add(&chart(vec![(0.0, 1.0), (50.0, 2.0), (50.0 + 1e-9, 9.0), (100.0, 1.0)]));
        let json = json(&data);
        let by = json["x"][0]["by"].as_array().unwrap();
        assert_eq!(by[2], 1);
    }
}
