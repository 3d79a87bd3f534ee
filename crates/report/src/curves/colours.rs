//! One colour for each flow, class or port in all charts of a page.

use std::collections::{BTreeMap, BTreeSet};

use crate::chart::{Chart, PALETTE};

/// The colours assigned so far.
#[derive(Debug, Default)]
pub(crate) struct Colours {
    of: BTreeMap<String, usize>,
    next: usize,
}

impl Colours {
    /// Gives each series its colour. A series of an earlier chart keeps its colour. `port class` gets the colour of
    /// the flow with the class's name, and `port dropped` that of the port. A series that would share its colour with
    /// another one in the chart gets a different one.
    pub(crate) fn paint(&mut self, chart: &mut Chart) {
        let mut taken = BTreeSet::new();
        let mut kept = |name: &str| self.of.get(name).copied().filter(|own| taken.insert(*own));
        let kept: Vec<_> = chart.series.iter().map(|series| kept(&series.name)).collect();
        for (series, kept) in chart.series.iter_mut().zip(kept) {
            let name = &series.name;
            series.colour = kept
                .or_else(|| self.related(name).filter(|colour| taken.insert(*colour)))
                .unwrap_or_else(|| self.free(&mut taken));
            self.of.entry(name.clone()).or_insert(series.colour);
        }
    }

    fn related(&self, name: &str) -> Option<usize> {
        let ((first, _), (_, last)) = (name.split_once(' ')?, name.rsplit_once(' ')?);
        self.of.get(first).or_else(|| self.of.get(last)).copied()
    }

    /// Returns the next colour that the chart does not have yet; with another pattern once it has them all.
    fn free(&mut self, taken: &mut BTreeSet<usize>) -> usize {
        let colours = PALETTE.len();
        let round = |n: usize| (self.next + n) % colours + n / colours * colours;
        let colour = (0..).map(round).find(|colour| taken.insert(*colour)).unwrap_or(self.next);
        self.next = (colour + 1) % colours;
        colour
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Series};

    /// The colours of the series of these names.
    fn painted(colours: &mut Colours, names: &[&str]) -> Vec<usize> {
        let series = |name: &&str| Series { name: (*name).to_owned(), ..Series::default() };
        let mut chart = Chart {
            title: String::new(),
            description: String::new(),
            x: Axis::new(""),
            y: Axis::new(""),
            series: names.iter().map(series).collect(),
            marks: Vec::new(),
        };
        colours.paint(&mut chart);
        chart.series.iter().map(|series| series.colour).collect()
    }

    #[test]
    fn a_thing_keeps_its_colour_and_no_chart_has_one_twice() {
        let mut colours = Colours::default();
        assert_eq!(painted(&mut colours, &["gold", "bulk", "all 2 flows"]), [0, 1, 2]);
        assert_eq!(painted(&mut colours, &["r:out rest", "r:out gold"]), [3, 0]);
        assert_eq!(painted(&mut colours, &["r:out gold", "r:out rest"]), [0, 3], "another order");
        assert_eq!(painted(&mut colours, &["r:in", "r:out", "s:in", "s:out"]), [4, 5, 0, 1]);
        assert_eq!(painted(&mut colours, &["gold", "s:in"]), [0, 2], "each had the first");
        assert_eq!(painted(&mut colours, &["r:in dropped", "r:in marked"]), [4, 3]);
        assert_eq!(painted(&mut colours, &["gold ssthresh", "gold"]), [4, 0]);
        let many: Vec<String> = (0..14).map(|flow| format!("f.{flow}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let first = painted(&mut colours, &many);
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), many.len());
        assert_eq!(painted(&mut colours, &many), first);
    }
}
