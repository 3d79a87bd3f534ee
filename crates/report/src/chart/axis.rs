//! Axes: the positions of values and ticks.

/// How values are distributed along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances for equal differences.
    #[default]
    Linear,
    /// Equal distances for equal ratios; values at or below zero are left out.
    Log,
}

/// Data are flat if their minimum is above this share of their maximum.
const FLAT: f64 = 0.98;

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Its quantity, with the unit: `time (s)`.
    pub label: String,
    /// How values are distributed.
    pub scale: Scale,
    /// Its range; taken from the data if not given.
    pub range: Option<(f64, f64)>,
    /// For a time axis: the seconds in its unit. Charts over time share a cursor.
    pub seconds: Option<f64>,
}

impl Axis {
    /// A linear axis that spans its data.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// Sets a logarithmic scale.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.scale = Scale::Log;
        self
    }

    /// Sets a range.
    #[must_use]
    pub const fn range(mut self, from: f64, to: f64) -> Self {
        self.range = Some((from, to));
        self
    }

    /// Makes the axis one of time, in a unit of `seconds` seconds.
    #[must_use]
    pub const fn time(mut self, seconds: f64) -> Self {
        self.seconds = Some(seconds);
        self
    }

    /// Returns about `about` ticks of an axis with a range: their positions as shares of it, and their texts.
    pub(crate) fn ticks(&self, about: u32) -> Vec<(f64, String)> {
        let layout = self.lay_out(core::iter::empty(), about, true);
        layout.ticks.iter().map(|(tick, text)| (layout.place(*tick), text.clone())).collect()
    }

    /// Computes the layout of the axis for `data`, with about `ticks` ticks.
    pub(super) fn lay_out(
        &self,
        data: impl Iterator<Item = f64>,
        ticks: u32,
        tight: bool,
    ) -> Layout {
        let shown = data.filter(|v| v.is_finite() && (self.scale == Scale::Linear || *v > 0.0));
        let span = shown.fold(None, |span: Option<(f64, f64)>, v| {
            Some(span.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
        });
        let span = self.range.or(span).unwrap_or((0.0, 1.0));
        match self.scale {
            Scale::Linear => linear(span, ticks, tight || self.range.is_some()),
            Scale::Log => log(span),
        }
    }
}

/// An axis with its range and ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<(f64, String)>,
}

impl Layout {
    /// Returns the position of `value`: 0 at the low end, 1 at the high end.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

/// Lays out a linear axis. A tight axis ends where its data end. Another one ends on its ticks, and at zero if that
/// is near, or if the data are so flat that a narrower range would exaggerate small differences.
fn linear((mut low, mut high): (f64, f64), ticks: u32, tight: bool) -> Layout {
    if !tight && low > 0.0 && (low < high * 0.6 || low > high * FLAT) {
        low = 0.0;
    }
    if high <= low {
        // One value only: near the top of an axis from zero, or at the bottom if it is not above zero.
        (low, high) = if low > 0.0 { (0.0, low * 1.25) } else { (low, low + 1.0) };
    }
    let step = nice((high - low) / f64::from(ticks));
    if !tight {
        low = (low / step).floor() * step;
        high = (high / step - 1e-9).ceil() * step;
    }
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    let ticks = (first..=last).map(|n| n as f64 * step).map(|v| (v, label(v, step))).collect();
    Layout { scale: Scale::Linear, low, high, ticks }
}

/// Returns the smallest of 1, 2, 5 times a power of ten that is not below `step`.
fn nice(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= step * 0.999);
    factor.unwrap_or(10.0) * power
}

/// Lays out a logarithmic axis that ends on ticks: at powers of ten, and over few of these also at twice and five
/// times a power.
fn log((low, high): (f64, f64)) -> Layout {
    let (low, high) = (low.max(f64::MIN_POSITIVE), high.max(f64::MIN_POSITIVE));
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let last = last.max(first + 1);
    let factors: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let decade = |power: i32| factors.iter().map(move |factor| factor * 10_f64.powi(power));
    let all: Vec<f64> = (first..=last).flat_map(decade).collect();
    let from = all.iter().rposition(|tick| *tick <= low * 1.001).unwrap_or(0);
    let to = all.iter().position(|tick| *tick >= high * 0.999).unwrap_or(all.len() - 1);
    let shown = &all[from..=to.max(from + 1)];
    let ticks = shown.iter().map(|&tick| (tick, label(tick, tick))).collect();
    Layout { scale: Scale::Log, low: shown[0], high: shown[shown.len() - 1], ticks }
}

/// A tick's text with as many decimals as the step has.
fn label(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    if value.abs() >= 1e7 { format!("{value:e}") } else { format!("{:.decimals$}", value + 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(layout: &Layout) -> Vec<&str> {
        layout.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let layout = linear((0.0, 300.0), 6, true);
        assert_eq!(texts(&layout), ["0", "50", "100", "150", "200", "250", "300"]);
        let layout = linear((0.21, 0.29), 4, false);
        assert_eq!(texts(&layout), ["0.20", "0.22", "0.24", "0.26", "0.28", "0.30"]);
        let layout = linear((1.2337, 1.2338), 3, false);
        assert_eq!(texts(&layout), ["0.0", "0.5", "1.0", "1.5"], "flat data look flat");
        let layout = log((0.5, 70.0));
        assert_eq!(texts(&layout), ["0.5", "1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(texts(&log((3.0, 20_000.0))), ["1", "10", "100", "1000", "10000", "100000"]);
        assert_eq!(texts(&log((10.0, 10.0))), ["10", "20"], "one value has an axis too");
    }

    #[test]
    fn a_place_is_a_share_of_the_axis() {
        assert_eq!(linear((0.0, 200.0), 4, true).place(50.0), 0.25);
        assert!((log((1.0, 100.0)).place(10.0) - 0.5).abs() < 1e-12);
        assert_eq!(linear((7.0, 7.0), 4, false).place(0.0), 0.0, "one value hangs from zero");
    }
}
