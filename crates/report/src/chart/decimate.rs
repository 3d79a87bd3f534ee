//! Fewer points for an identical picture: the first, minimum, maximum and last of each pixel column.
//!
//! A line through these paints the same pixels as one through all points (Jugel, Jerzak, Hackenbroich and Markl, "M4:
//! a visualization-oriented time series data aggregation", VLDB 2014). No peak and no gap is lost, and a series of
//! any length takes memory for its columns only.

/// Thins a series with `x` values that never fall.
#[derive(Clone, Debug)]
pub struct Decimator {
    from: f64,
    columns_per_unit: f64,
    points: Vec<(f64, f64)>,
    means: Vec<(f64, f64)>,
    /// Whether a point was left out.
    thinned: bool,
    column: Option<Column>,
}

/// What is left of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thinned {
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// The mean of all points of each column, at the middle of the column; empty if all points are left.
    pub means: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    number: i64,
    count: u32,
    sum: f64,
    first: (f64, f64),
    least: (f64, f64),
    greatest: (f64, f64),
    last: (f64, f64),
}

impl Decimator {
    /// Creates one for a chart that shows `from` to `to` on `columns` pixels.
    pub fn new((from, to): (f64, f64), columns: u32) -> Self {
        let span = if to > from { to - from } else { 1.0 };
        let columns_per_unit = f64::from(columns) / span;
        Self {
            from,
            columns_per_unit,
            points: Vec::new(),
            means: Vec::new(),
            thinned: false,
            column: None,
        }
    }

    /// Adds a point. A `y` that is NaN breaks the line.
    pub fn push(&mut self, x: f64, y: f64) {
        if y.is_nan() {
            self.close();
            if self.points.last().is_some_and(|last| !last.1.is_nan()) {
                self.points.push((x, y));
            }
            return;
        }
        // A cast of a float saturates.
        let number = ((x - self.from) * self.columns_per_unit).floor() as i64;
        match &mut self.column {
            Some(column) if column.number == number => column.add((x, y)),
            _ => {
                self.close();
                let point = (x, y);
                self.column = Some(Column {
                    number,
                    count: 1,
                    sum: y,
                    first: point,
                    least: point,
                    greatest: point,
                    last: point,
                });
            }
        }
    }

    /// Returns the remaining points.
    pub fn finish(self) -> Vec<(f64, f64)> {
        self.finish_with_means().points
    }

    /// Returns the remaining points and, if some are left out, the means of all.
    pub fn finish_with_means(mut self) -> Thinned {
        self.close();
        let means = if self.thinned { self.means } else { Vec::new() };
        Thinned { points: self.points, means }
    }

    fn close(&mut self) {
        let Some(column) = self.column.take() else { return };
        let middle = self.from + (column.number as f64 + 0.5) / self.columns_per_unit;
        self.means.push((middle, column.sum / f64::from(column.count)));
        self.thinned |= column.count > 4;
        let mut kept = [column.first, column.least, column.greatest, column.last];
        kept[1..3].sort_by(|a, b| a.0.total_cmp(&b.0));
        for point in kept {
            if self.points.last() != Some(&point) {
                self.points.push(point);
            }
        }
    }
}

impl Column {
    fn add(&mut self, point: (f64, f64)) {
        if point.1 < self.least.1 {
            self.least = point;
        }
        if point.1 > self.greatest.1 {
            self.greatest = point;
        }
        self.last = point;
        self.count += 1;
        self.sum += point.1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_column_keeps_its_extremes(
            ys in prop::collection::vec(-1e9..1e9_f64, 1..3_000),
            columns in 1_u32..200,
        ) {
            let width = ys.len() as f64;
            let mut decimator = Decimator::new((0.0, width), columns);
            for (x, &y) in ys.iter().enumerate() {
                decimator.push(x as f64, y);
            }
            let kept = decimator.finish();
            prop_assert!(kept.len() <= 4 * columns as usize);
            prop_assert!(kept.is_sorted_by(|a, b| a.0 <= b.0));
            prop_assert_eq!(kept.first().unwrap().1, ys[0]);
            prop_assert_eq!(kept.last().unwrap().1, *ys.last().unwrap());
            let column = |x: f64| (x * (f64::from(columns) / width)).floor() as usize;
            for wanted in 0..columns as usize {
                let all = || ys.iter().enumerate().filter(|(x, _)| column(*x as f64) == wanted);
                let seen = || kept.iter().filter(|(x, _)| column(*x) == wanted).map(|(_, y)| *y);
                prop_assert_eq!(all().map(|(_, y)| *y).reduce(f64::max), seen().reduce(f64::max));
                prop_assert_eq!(all().map(|(_, y)| *y).reduce(f64::min), seen().reduce(f64::min));
            }
        }
    }

    #[test]
    fn the_mean_of_a_column_is_that_of_all_its_points() {
        let mut decimator = Decimator::new((0.0, 20.0), 2);
        // Nine times 0 and one 10 in the first column: the mean of the points that are left would be 2.5 or more.
        (0..20).for_each(|x| decimator.push(f64::from(x), if x == 3 { 10.0 } else { 0.0 }));
        let Thinned { points, means } = decimator.finish_with_means();
        assert!(points.len() < 20);
        assert_eq!(means, [(5.0, 1.0), (15.0, 0.0)]);
        let mut few = Decimator::new((0.0, 20.0), 10);
        (0..20).for_each(|x| few.push(f64::from(x), 1.0));
        assert!(few.finish_with_means().means.is_empty(), "all points are left");
    }

    #[test]
    fn nothing_breaks_the_line_once() {
        let mut decimator = Decimator::new((0.0, 10.0), 10);
        for (x, y) in [(0.0, 1.0), (1.0, f64::NAN), (2.0, f64::NAN), (3.0, 2.0)] {
            decimator.push(x, y);
        }
        let kept = decimator.finish();
        assert_eq!(kept.len(), 3);
        assert!(kept[1].1.is_nan());
    }
}
