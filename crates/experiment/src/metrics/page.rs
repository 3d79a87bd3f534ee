//! Prometheus's text format, version 0.0.4. Names follow OpenMetrics too: base units, and counters that end in `_total`.

use std::fmt::Write as _;

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It only grows.
    Counter,
    /// A value of now.
    Gauge,
    /// Counts of values up to bounds.
    Histogram,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric without its samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    /// Its name, with its unit.
    pub(super) name: &'static str,
    /// Its type.
    pub(super) kind: Kind,
    /// Its meaning, without a full stop.
    pub(super) help: &'static str,
}

/// The values of a histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Histogram {
    /// Upper bounds, and the number of values up to each.
    pub(super) buckets: Vec<(f64, u64)>,
    /// The number of values.
    pub(super) count: u64,
    /// Their sum.
    pub(super) sum: f64,
}

/// Upper bounds from `first` on, each with its double and quadruple before the next decade: 1, 2.5, 5, 10, ...
pub(super) fn bounds(first_exponent: i32, last_exponent: i32) -> impl Iterator<Item = f64> {
    // Parsed, so that a bound is printed as it is written here.
    let of = |(exponent, digits)| format!("{digits}e{exponent}").parse().unwrap_or(f64::INFINITY);
    let decades = first_exponent..=last_exponent;
    decades.flat_map(|exponent| ["1", "2.5", "5"].map(|digits| (exponent, digits))).map(of)
}

/// Labels as text: `device="eth0",kind="tbf"`.
pub(super) fn labels(labels: &[(&str, &str)]) -> String {
    let escaped =
        |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let all: Vec<_> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    all.join(",")
}

/// A page of metrics.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    /// Adds a metric with its samples, each with its labels; nothing if it has none.
    pub(super) fn add(
        &mut self,
        family: &Family,
        samples: impl IntoIterator<Item = (String, f64)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            self.head(family);
        }
        samples.for_each(|(labels, value)| self.sample(family.name, "", &labels, value));
    }

    /// Adds a histogram, as [`Self::add`] does.
    pub(super) fn add_histograms(
        &mut self,
        family: &Family,
        samples: impl IntoIterator<Item = (String, Histogram)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            self.head(family);
        }
        for (labels, Histogram { buckets, count, sum }) in samples {
            let comma = if labels.is_empty() { "" } else { "," };
            let bounded = |bound: &dyn std::fmt::Display| format!("{labels}{comma}le=\"{bound}\"");
            for (bound, up_to) in buckets {
                self.sample(family.name, "_bucket", &bounded(&bound), up_to as f64);
            }
            self.sample(family.name, "_bucket", &bounded(&"+Inf"), count as f64);
            self.sample(family.name, "_sum", &labels, sum);
            self.sample(family.name, "_count", &labels, count as f64);
        }
    }

    /// Adds a line for people.
    pub(super) fn comment(&mut self, text: &str) {
        let _ = writeln!(self.0, "# {}", text.replace('\n', " "));
    }

    fn head(&mut self, Family { name, kind, help }: &Family) {
        let _ = writeln!(self.0, "# HELP {name} {help}.\n# TYPE {name} {}", kind.name());
    }

    fn sample(&mut self, name: &str, suffix: &str, labels: &str, value: f64) {
        let _ = match labels {
            "" => writeln!(self.0, "{name}{suffix} {value}"),
            _ => writeln!(self.0, "{name}{suffix}{{{labels}}} {value}"),
        };
    }

    /// Its text.
    pub(super) fn text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_in_the_text_format() {
        let family = |name, kind| Family { name, kind, help: "Tests" };
        let mut page = Page::default();
        page.add(&family("a_total", Kind::Counter), [(labels(&[("x", "\"\\\n")]), 3.0)]);
        page.add(&family("b", Kind::Gauge), []);
        page.add(&family("c_seconds", Kind::Gauge), [(String::new(), 0.25)]);
        let values = Histogram { buckets: vec![(0.001, 1), (0.25, 2)], count: 3, sum: 7.5 };
        page.add_histograms(&family("d_seconds", Kind::Histogram), [("x=\"1\"".into(), values)]);
        let wanted = [
            "# HELP a_total Tests.",
            "# TYPE a_total counter",
            r#"a_total{x="\"\\\n"} 3"#,
            "# HELP c_seconds Tests.",
            "# TYPE c_seconds gauge",
            "c_seconds 0.25",
            "# HELP d_seconds Tests.",
            "# TYPE d_seconds histogram",
            r#"d_seconds_bucket{x="1",le="0.001"} 1"#,
            r#"d_seconds_bucket{x="1",le="0.25"} 2"#,
            r#"d_seconds_bucket{x="1",le="+Inf"} 3"#,
            r#"d_seconds_sum{x="1"} 7.5"#,
            r#"d_seconds_count{x="1"} 3"#,
        ];
        assert_eq!(page.text().lines().collect::<Vec<_>>(), wanted);
        let all: Vec<_> = bounds(-5, -4).map(|bound| bound.to_string()).collect();
        assert_eq!(all.join(" "), "0.00001 0.000025 0.00005 0.0001 0.00025 0.0005");
    }
}
