//! Areas behind a line, such as the confidence intervals of its points.

use std::fmt::Write;

use super::{Plot, Series, colour};

/// The low and the high end of an area at each `x`, rising.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Area(pub Vec<(f64, f64, f64)>);

impl Area {
    /// Both ends at each `x`.
    pub(super) fn ends(&self) -> impl Iterator<Item = f64> {
        self.0.iter().flat_map(|&(_, low, high)| [low, high])
    }
}

impl Plot {
    /// Draws the area of a series: from end to end at each `x`, with a line across where it is.
    pub(super) fn area(&self, svg: &mut String, series: &Series) {
        let area = &series.area.0;
        if area.is_empty() {
            return;
        }
        // An end that a logarithmic axis does not have is at its low end.
        let at = |x: f64, y: f64| self.at((x, y.max(self.y.low)));
        let (mut edge, mut bars) = (String::new(), String::new());
        let highs = area.iter().map(|&(x, _, high)| at(x, high));
        let lows = area.iter().rev().map(|&(x, low, _)| at(x, low));
        for (place, (x, y)) in highs.chain(lows).enumerate() {
            let _ = write!(edge, "{}{x:.1} {y:.1}", if place == 0 { 'M' } else { 'L' });
        }
        for &(x, low, high) in area {
            let ((x, from), (_, to)) = (at(x, low), at(x, high));
            let _ = write!(
                bars,
                "M{x:.1} {from:.1}V{to:.1}M{0:.1} {from:.1}h6M{0:.1} {to:.1}h6",
                x - 3.0
            );
        }
        let colour = colour(series.colour);
        let _ = write!(
            svg,
            "<path d=\"{edge}Z\" fill=\"{colour}\" fill-opacity=\"0.15\"/><path d=\"{bars}\" \
             stroke=\"{colour}\" fill=\"none\"/>"
        );
    }
}
