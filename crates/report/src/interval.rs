//! Small dots with the line of their interval, one in each row of a table, all on one scale.

use std::fmt::Write;

use crate::confidence::Interval;

const WIDTH: f64 = 180.0;
const HEIGHT: f64 = 16.0;
/// The margin that keeps a dot at either end whole.
const MARGIN: f64 = 4.0;

/// The scale that the dots of a table share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    low: f64,
    high: f64,
    /// Values beyond that are on a logarithmic scale.
    linear: f64,
}

impl Span {
    /// Creates one that holds all of `values`, with some room at either end.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let all = values.into_iter().filter(|value| value.is_finite());
        let ends = all.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
        let (low, high) = ends.unwrap_or((0.0, 1.0));
        let room = if high > low { 0.04 * (high - low) } else { 0.5 };
        Self { low: low - room, high: high + room, linear: f64::INFINITY }
    }

    /// Makes the scale logarithmic on either side beyond `linear`, where the two parts have equal slopes.
    pub(crate) const fn logarithmic_beyond(self, linear: f64) -> Self {
        Self { linear, ..self }
    }

    fn place(self, value: f64) -> f64 {
        let [value, low, high] = [value, self.low, self.high].map(|value| self.bent(value));
        MARGIN + (WIDTH - 2.0 * MARGIN) * ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    fn bent(self, value: f64) -> f64 {
        let beyond = value.abs() / self.linear;
        if beyond <= 1.0 { value } else { value.signum() * self.linear * (1.0 + beyond.ln()) }
    }

    /// A dot at the estimate, a line from end to end of its interval, and a thin line at `reference`.
    pub(crate) fn dot(self, interval: Interval, reference: Option<f64>) -> String {
        let middle = HEIGHT / 2.0;
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             aria-hidden=\"true\">"
        );
        if let Some(reference) = reference {
            let x = self.place(reference);
            let _ = write!(
                svg,
                "<path d=\"M{x:.1} 0v{HEIGHT}\" stroke=\"var(--soft, #5c5c5c)\" \
                 stroke-dasharray=\"2 2\"/>"
            );
        }
        if let Some((low, high)) = interval.ends {
            let (from, to) = (self.place(low), self.place(high));
            // The ends are marked, as an interval may have next to no width.
            let _ = write!(
                svg,
                "<path d=\"M{from:.1} {middle}H{to:.1}M{from:.1} 4v8M{to:.1} 4v8\" \
                 stroke=\"var(--c0, #0072b2)\" stroke-width=\"1.5\" fill=\"none\"/>"
            );
        }
        let x = self.place(interval.mean);
        let _ = write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{middle}\" r=\"3.2\" fill=\"var(--c0, #0072b2)\"/></svg>"
        );
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_on_one_scale() {
        let span = Span::of([0.0, 100.0]);
        assert_eq!(span.place(50.0), WIDTH / 2.0);
        let dot = span.dot(Interval { mean: 50.0, ends: Some((0.0, 100.0)) }, Some(0.0));
        assert!(dot.contains("cx=\"90.0\"") && dot.contains("stroke-dasharray"), "{dot}");
        let alone = Span::of([7.0]).dot(Interval { mean: 7.0, ends: None }, None);
        assert!(alone.contains("cx=\"90.0\"") && !alone.contains("<path"), "{alone}");
    }

    #[test]
    fn what_is_many_times_another_is_neither_cut_off_nor_presses_the_rest() {
        let span = Span::of([-5_000.0, 5_000.0]).logarithmic_beyond(10.0);
        let places = [-5_000.0, -10.0, -3.0, 0.0, 3.0, 10.0, 900.0, 5_000.0].map(|v| span.place(v));
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 3.0), "{places:?}");
        assert!(places[0] >= MARGIN && places[7] <= WIDTH - MARGIN, "{places:?}");
    }
}
