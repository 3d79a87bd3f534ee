//! Curves that swing faster than pixels can show: an area from the minimum to the maximum, and a line through the means.
//!
//! A line through such a curve would paint a solid block, with nothing to see of where the curve is most of the time.
//! Elsewhere, the line goes through all points, so that a spike by itself stays a line. `report.js` does the same.

use std::fmt::Write;

use super::Plot;

/// A curve turns where it has come back by more than this, in pixels.
const SWING: f64 = 4.0;
/// A curve is dense where it turns more often than this in [`WINDOW`] pixels: then its line covers most of them.
const TURNS: f64 = 8.0;
const WINDOW: f64 = 16.0;
/// The width of a step of the area and of the line of means, in pixels.
const STEP: f64 = 6.0;
/// A dense part that is narrower than this, in pixels, is a line.
const NARROW: f64 = 4.0 * STEP;

/// A curve as paths of SVG.
pub(super) struct Drawn {
    /// Through the points or the means.
    pub(super) line: String,
    /// The ranges where the curve is dense; empty for none.
    pub(super) ranges: String,
}

/// Consecutive points of a curve that are drawn alike, in pixels.
struct Part {
    dense: bool,
    /// Whether the line is interrupted before.
    broken: bool,
    points: Vec<(f64, f64)>,
}

/// Draws a curve through `points`. Means are those of `means`, where there are some: then the points are the extremes of
/// more.
pub(super) fn draw(plot: &Plot, points: &[(f64, f64)], means: &[(f64, f64)]) -> Drawn {
    let means = means.iter().map(|&point| plot.at(point)).filter(|mean| mean.1.is_finite());
    let means: Vec<(f64, f64)> = means.collect();
    let mut drawn = Drawn { line: String::new(), ranges: String::new() };
    let mut pen = 'M';
    for part in parts(plot, points) {
        if part.broken {
            pen = 'M';
        }
        let steps = if part.dense { steps(&part.points, &means) } else { Vec::new() };
        let middles: Vec<_> = steps.iter().map(|step| (step.middle, step.mean)).collect();
        for (x, y) in if part.dense { &middles } else { &part.points } {
            let _ = write!(drawn.line, "{pen}{x:.1} {y:.1}");
            pen = 'L';
        }
        let highs = steps.iter().map(|step| (step.middle, step.high));
        let lows = steps.iter().rev().map(|step| (step.middle, step.low));
        for (place, (x, y)) in highs.chain(lows).enumerate() {
            let _ = write!(drawn.ranges, "{}{x:.1} {y:.1}", if place == 0 { 'M' } else { 'L' });
        }
        drawn.ranges += if part.dense { "z" } else { "" };
    }
    drawn
}

/// Divides a curve where it begins or ceases to be dense. Points that cannot be drawn interrupt it.
fn parts(plot: &Plot, points: &[(f64, f64)]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for whole in points.split(|&point| !finite(plot.at(point))).filter(|whole| !whole.is_empty()) {
        let points: Vec<(f64, f64)> = whole.iter().map(|&point| plot.at(point)).collect();
        let first = parts.len();
        for (&(x, y), dense) in points.iter().zip(dense(&points)) {
            match parts[first..].last_mut().filter(|part| part.dense == dense) {
                Some(part) => part.points.push((x, y)),
                None => {
                    parts.push(Part { dense, broken: parts.len() == first, points: vec![(x, y)] })
                }
            }
        }
    }
    parts
}

/// Returns whether each point is in a dense part.
fn dense(points: &[(f64, f64)]) -> Vec<bool> {
    let turns = turns(points);
    let [first, last] = [points.first(), points.last()].map(|point| point.map_or(0.0, |p| p.0));
    let is_dense = |&(x, _): &(f64, f64)| {
        let [from, to] = [x - WINDOW / 2.0, x + WINDOW / 2.0];
        let [low, high] = [from, to].map(|x| turns.partition_point(|turn| *turn < x));
        // At either end of the curve, there are points on one side only.
        (high - low) as f64 > TURNS * (to.min(last) - from.max(first)) / WINDOW
    };
    let mut dense: Vec<bool> = points.iter().map(is_dense).collect();
    let mut from = 0;
    while from < dense.len() {
        let other = dense[from..].iter().position(|other| *other != dense[from]);
        let to = other.map_or(dense.len(), |other| from + other);
        if dense[from] && points[to - 1].0 - points[from].0 < NARROW {
            dense[from..to].fill(false);
        }
        from = to;
    }
    dense
}

const fn finite((x, y): (f64, f64)) -> bool {
    x.is_finite() && y.is_finite()
}

/// Returns where the curve turns back by more than [`SWING`].
fn turns(points: &[(f64, f64)]) -> Vec<f64> {
    let mut turns = Vec::new();
    let Some(&first) = points.first() else { return turns };
    // The farthest point since the last turn, and whether it is upwards.
    let (mut farthest, mut up) = (first, true);
    for &(x, y) in points {
        if (y < farthest.1) == up && y != farthest.1 {
            farthest = (x, y);
        } else if (y - farthest.1).abs() > SWING {
            turns.push(farthest.0);
            (farthest, up) = ((x, y), !up);
        }
    }
    turns
}

/// A few pixels of a dense part.
struct Step {
    middle: f64,
    low: f64,
    high: f64,
    mean: f64,
}

fn steps(points: &[(f64, f64)], means: &[(f64, f64)]) -> Vec<Step> {
    let number = |x: f64| (x / STEP).floor();
    let alike = points.chunk_by(|a, b| number(a.0) == number(b.0));
    let step = |points: &[(f64, f64)]| {
        let from = number(points[0].0) * STEP;
        let [first, end] = [from, from + STEP].map(|x| means.partition_point(|mean| mean.0 < x));
        let those = if first < end { &means[first..end] } else { points };
        let ys = || points.iter().map(|point| point.1);
        Step {
            middle: from + STEP / 2.0,
            // Pixels count downwards.
            low: ys().fold(f64::MIN, f64::max),
            high: ys().fold(f64::MAX, f64::min),
            mean: those.iter().map(|point| point.1).sum::<f64>() / those.len() as f64,
        }
    };
    alike.map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Chart, Decimator, Series, Thinned};

    /// The chart of samples between 0 and 1, thinned as those of a report.
    fn svg(sample: impl Fn(u32) -> f64) -> String {
        const SAMPLES: u32 = 200_000;
        let mut decimator = Decimator::new((0.0, f64::from(SAMPLES)), super::super::COLUMNS);
        (0..SAMPLES).for_each(|n| decimator.push(f64::from(n), sample(n)));
        let Thinned { points, means } = decimator.finish_with_means();
        Chart { series: vec![Series { points, means, ..Series::default() }], ..Chart::default() }
            .to_svg()
    }

    /// The curve's coordinates.
    fn line(svg: &str) -> Vec<(f64, f64)> {
        let (before, _) = svg.split_once("\" fill=\"none\" stroke=\"var(--c0").expect("a curve");
        let path = before.rsplit_once("d=\"").expect("a path").1;
        let points = path.split(['M', 'L']).filter(|point| !point.is_empty());
        let number = |text: &str| text.parse::<f64>().expect("a number");
        points
            .map(|point| point.split_once(' ').expect("two"))
            .map(|(x, y)| (number(x), number(y)))
            .collect()
    }

    #[test]
    fn noise_is_an_area_with_its_mean() {
        // Nine of ten samples are 0.1, one is 1.
        let svg = svg(|n| if n * 7_919 % 10 == 0 { 1.0 } else { 0.1 });
        assert!(svg.contains("fill-opacity=\"0.25\""), "no area");
        let line = line(&svg);
        assert!(line.len() < 130, "{} points: a block, {:?}", line.len(), &line[line.len() - 50..]);
        // 230 pixels from 1 down to 0: the mean is 0.19.
        assert!(line.iter().all(|(_, y)| (y - 230.0 * 0.81).abs() < 3.0), "{line:?}");
    }

    #[test]
    fn a_spike_and_a_saw_are_lines() {
        let spike = svg(|n| if n == 77_777 { 1.0 } else { 0.1 });
        assert!(!spike.contains("fill-opacity") && line(&spike).iter().any(|(_, y)| *y < 1.0));
        let saw = svg(|n| f64::from(n % 5_000) / 5_000.0);
        assert!(!saw.contains("fill-opacity"), "40 teeth can be seen");
    }
}
