//! Curves that are one line to the eye, such as the queues of 64 identical ports, as one with their number.

use super::{Chart, Series};

/// Fewer curves than these are not folded: their names are as short.
const ALIKE_MIN: usize = 4;

impl Chart {
    /// Keeps the first of the series with the same points, and says in its name how many there are.
    pub(crate) fn fold(&mut self) {
        let same = |a: &Series, b: &Series| (a.shape, &a.points) == (b.shape, &b.points);
        let mut kept: Vec<Series> = Vec::new();
        let all = std::mem::take(&mut self.series);
        for series in &all {
            let alike = all.iter().filter(|other| same(other, series)).count();
            if alike < ALIKE_MIN {
                kept.push(series.clone());
            } else if !kept.iter().any(|other| same(other, series)) {
                let name = format!("{} and {} alike", series.name, alike - 1);
                kept.push(Series { name, ..series.clone() });
            }
        }
        self.series = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_curves_are_one() {
        let curve = |name: &str, y: f64| Series {
            name: name.to_owned(),
            points: vec![(0.0, 0.0), (1.0, y)],
            ..Series::default()
        };
        let mut series = Vec::from(["a.1", "a.2", "a.3", "a.4"].map(|name| curve(name, 1.0)));
        series.insert(1, curve("b.1", 2.0));
        series.push(curve("b.2", 2.0));
        let mut chart = Chart { series, ..Chart::default() };
        chart.fold();
        let names: Vec<_> = chart.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["a.1 and 3 alike", "b.1", "b.2"]);
    }
}
