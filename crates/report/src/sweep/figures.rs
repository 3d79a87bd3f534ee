//! The pictures of a measure: a heat map over two settings, lines over one, small multiples for more.

use scenario::Unit;

use crate::chart::{self, Area, Chart, Scale, Series, Shape};
use crate::heat::{self, Heat};
use crate::sweep::Digest;
use crate::{Section, escape};

/// More lines are hard to distinguish.
const LINES_MAX: usize = 6;
/// More maps than these are left to the table.
const MAPS_MAX: usize = 36;

/// Returns all pictures of a measure; `None` if the table of means is enough.
pub(super) fn section(sweep: &Digest<'_>, measure: usize) -> Option<Section> {
    let mut section = Section::new(&sweep.measures[measure]);
    let maps = maps(sweep, measure);
    for map in maps.iter().take(MAPS_MAX) {
        let (title, svg) = (escape(&map.title), map.to_svg());
        section.raw(&format!("<figure><h3>{title}</h3><div class=\"wide\">{svg}</div></figure>"));
    }
    if maps.len() > MAPS_MAX {
        let text = format!("{MAPS_MAX} of {} maps; the table below has all.", maps.len());
        section.paragraph(&text);
    }
    let lines = lines(sweep, measure);
    if let Some(lines) = &lines {
        section.figure(lines, caption(sweep));
    }
    (lines.is_some() || !maps.is_empty()).then_some(section)
}

fn caption(sweep: &Digest<'_>) -> &'static str {
    match sweep.seeds() {
        0 | 1 => "One run for each point.",
        _ => "Means over the seeds; the areas are their 95 % confidence intervals (Student's t).",
    }
}

/// Returns the axes by the number of their values, the largest first; of equal ones the earlier.
fn longest_first(sweep: &Digest<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sweep.axes.len()).collect();
    order.sort_by_key(|&axis| std::cmp::Reverse(sweep.axes[axis].values.len()));
    order
}

/// A heat map of the two longest axes for each combination of the others, all on one scale; none with
/// fewer than two axes.
fn maps(sweep: &Digest<'_>, measure: usize) -> Vec<Heat> {
    let order = longest_first(sweep);
    let [across, up, others @ ..] = order.as_slice() else { return Vec::new() };
    let unit = sweep.units[measure];
    let mut heads: Vec<Vec<usize>> = sweep.combinations();
    heads.retain(|places| places[*across] == 0 && places[*up] == 0);
    let mut maps: Vec<Heat> = heads
        .iter()
        .map(|places| map(sweep, measure, (*across, *up), others, places, unit))
        .collect();
    let cells = || maps.iter().flat_map(|map| map.cells.iter().flatten().flatten().map(|c| c.mean));
    if cells().next().is_none() {
        return Vec::new();
    }
    let range = (cells().fold(f64::MAX, f64::min), cells().fold(f64::MIN, f64::max));
    let scale = heat::scale_of(cells());
    maps.iter_mut().for_each(|map| (map.range, map.scale) = (range, scale));
    maps
}

fn map(
    sweep: &Digest<'_>,
    measure: usize,
    (across, up): (usize, usize),
    others: &[usize],
    places: &[usize],
    unit: Unit,
) -> Heat {
    let cell = |column: usize, row: usize| {
        let mut places = places.to_vec();
        (places[across], places[up]) = (column, row);
        let sample = sweep.sample(&places, measure);
        let half = sample.interval().ends.map(|(low, high)| (high - low) / 2.0 / unit.factor());
        let (mean, runs) = (sample.mean / unit.factor(), sample.count);
        (runs > 0).then_some(heat::Cell { mean, half, runs })
    };
    let (x, y) = (&sweep.axes[across], &sweep.axes[up]);
    let rows = 0..y.values.len();
    let cells = rows.map(|row| (0..x.values.len()).map(|column| cell(column, row)).collect());
    let label = unit.label(&sweep.measures[measure]);
    let mut title = label.clone();
    let mut others: Vec<usize> = others.to_vec();
    others.sort_unstable();
    for axis in others {
        let value = sweep.axes[axis].label(places[axis]);
        title += &format!(", {} = {value}", sweep.axes[axis].path);
    }
    Heat {
        title,
        label,
        x: x.path.clone(),
        columns: x.labels(),
        y: y.path.clone(),
        rows: y.labels(),
        cells: cells.collect(),
        range: (0.0, 0.0),
        scale: Scale::Linear,
    }
}

/// Means over the longest axis of numbers, a line for each combination of the others.
fn lines(sweep: &Digest<'_>, measure: usize) -> Option<Chart> {
    let order = longest_first(sweep);
    let axis = order.into_iter().find(|&axis| sweep.axes[axis].numbers().is_some())?;
    let (numbers, x_unit) = sweep.axes[axis].numbers()?;
    let mut heads = sweep.combinations();
    heads.retain(|places| places[axis] == 0);
    if heads.len() > LINES_MAX || numbers.len() < 2 {
        return None;
    }
    let unit = sweep.units[measure];
    let mut rising: Vec<usize> = (0..numbers.len()).collect();
    rising.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut series = Vec::new();
    for (colour, places) in heads.iter().enumerate() {
        let samples = rising.iter().map(|&place| {
            let mut places = places.clone();
            places[axis] = place;
            (numbers[place], sweep.sample(&places, measure))
        });
        let intervals = samples.filter(|(_, sample)| sample.count > 0);
        let intervals: Vec<_> = intervals.map(|(x, sample)| (x, sample.interval())).collect();
        let mean = intervals.iter().map(|(x, interval)| (*x, interval.mean / unit.factor()));
        let name = name(sweep, axis, places);
        let name = if name.is_empty() { "mean".to_owned() } else { name };
        // Where the mean has no interval, the area is as narrow as the line.
        let area = intervals.iter().map(|(x, interval)| {
            let (low, high) = interval.ends.unwrap_or((interval.mean, interval.mean));
            (*x, low / unit.factor(), high / unit.factor())
        });
        let some = intervals.iter().any(|(_, interval)| interval.ends.is_some());
        let area = if some { Area(area.collect()) } else { Area::default() };
        let points = mean.collect();
        series.push(Series { name, shape: Shape::Line, colour, points, area, ..Series::default() });
    }
    if series.iter().all(|series| series.points.is_empty()) {
        return None;
    }
    let x = chart::Axis::new(x_unit.label(&sweep.axes[axis].path));
    let y = chart::Axis::new(unit.label(&sweep.measures[measure]));
    let means = series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let y = chart::Axis { scale: heat::scale_of(means), ..y };
    Some(Chart {
        title: format!(
            "{} over {}{}",
            sweep.measures[measure],
            sweep.axes[axis].path,
            by(sweep, axis)
        ),
        description: caption(sweep).to_owned(),
        x: chart::Axis { scale: scale(&numbers), ..x },
        y,
        series,
        marks: Vec::new(),
    })
}

/// Returns the words for the title where lines have the values of one other setting as their names.
fn by(sweep: &Digest<'_>, along: usize) -> String {
    match sweep.axes {
        [first, second] => format!(", by {}", if along == 0 { &second.path } else { &first.path }),
        _ => String::new(),
    }
}

/// Returns the settings that distinguish a line from the others; empty for a single line.
fn name(sweep: &Digest<'_>, along: usize, places: &[usize]) -> String {
    if let [first, second] = sweep.axes {
        return if along == 0 { second.label(places[1]) } else { first.label(places[0]) };
    }
    let axes = sweep.axes.iter().zip(places).enumerate();
    let others = axes.filter(|(number, _)| *number != along);
    let words = others.map(|(_, (axis, &place))| format!("{} = {}", axis.path, axis.label(place)));
    words.collect::<Vec<_>>().join(", ")
}

/// Returns a logarithmic scale if the ratios of the values differ less than their distances.
fn scale(numbers: &[f64]) -> Scale {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    let spread = |steps: &mut dyn Iterator<Item = f64>| {
        let (mut low, mut high) = (f64::MAX, 0.0_f64);
        steps.for_each(|step| (low, high) = (low.min(step), high.max(step)));
        high / low
    };
    if numbers.len() < 3 || numbers[0] <= 0.0 {
        return Scale::Linear;
    }
    let ratios = spread(&mut numbers.windows(2).map(|pair| (pair[1] / pair[0]).ln()));
    let distances = spread(&mut numbers.windows(2).map(|pair| pair[1] - pair[0]));
    if ratios < distances { Scale::Log } else { Scale::Linear }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_without_a_run_that_is_done_has_no_picture() {
        let axis = |path: &str| super::super::Axis {
            path: path.into(),
            values: vec!["1".into(), "2".into(), "3".into()],
        };
        let sweep = super::super::Sweep {
            units: scenario::Units::default(),
            title: String::new(),
            command: Vec::new(),
            axes: vec![axis("a"), axis("b")],
            measures: vec!["run.goodput".into()],
            points: Vec::new(),
            linked: true,
        };
        let digest = Digest::of(&sweep);
        assert!(maps(&digest, 0).is_empty() && lines(&digest, 0).is_none());
    }

    #[test]
    fn geometric_values_get_a_logarithmic_axis() {
        assert_eq!(scale(&[1.0, 10.0, 100.0]), Scale::Log);
        assert_eq!(scale(&[10.0, 20.0, 30.0]), Scale::Linear);
        assert_eq!(scale(&[0.0, 10.0, 100.0]), Scale::Linear);
        assert_eq!(scale(&[1.0, 100.0]), Scale::Linear);
    }
}
