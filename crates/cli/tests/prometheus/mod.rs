//! A strict reader of Prometheus's text format, version 0.0.4, with the rules of `promtool check metrics` and of
//! OpenMetrics for names.

use std::collections::{BTreeMap, BTreeSet};

type Labels = BTreeMap<String, String>;

/// The samples of a page.
pub(crate) struct Scrape(BTreeMap<(String, Labels), f64>);

impl Scrape {
    /// Reads a page; panics at the first line that breaks a rule.
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line ends");
        let mut samples = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let (mut family, mut kind) = (String::new(), String::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, meaning) = help.split_once(' ').expect("a meaning");
                assert!(meaning.len() > 5, "{line}");
                assert!(is_name(name) && seen.insert(name.to_owned()), "{name} comes once");
                let next = lines.next().unwrap_or_default();
                let of = next.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '));
                let (named, of) = of.unwrap_or_else(|| panic!("no type after {line}"));
                assert_eq!(named, name);
                assert!(["counter", "gauge", "histogram"].contains(&of), "{next}");
                assert_eq!(of == "counter", name.ends_with("_total"), "{next}");
                for suffix in ["_bucket", "_count", "_sum", "_info", "_ms", "_us", "_kb"] {
                    assert!(!name.ends_with(suffix), "{name}");
                }
                (family, kind) = (name.to_owned(), of.to_owned());
                continue;
            }
            let (series, value) = line.rsplit_once(' ').expect("a value");
            let (name, labels) = series_of(series);
            let own = match (kind.as_str(), name.strip_prefix(&family)) {
                ("histogram", Some("_bucket")) => labels.contains_key("le"),
                ("histogram", Some("_sum" | "_count")) | (_, Some("")) => {
                    !labels.contains_key("le") && kind != "histogram" || name != family
                }
                _ => false,
            };
            assert!(own, "{line} is not of the {kind} {family}");
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
            assert!(value.is_finite() && (kind != "counter" || value >= 0.0), "{line}");
            assert!(samples.insert((name, labels), value).is_none(), "{line} comes twice");
        }
        let scrape = Self(samples);
        scrape.check_histograms();
        scrape
    }

    /// The buckets of each histogram grow up to its count.
    fn check_histograms(&self) {
        let mut buckets: BTreeMap<(String, Labels), Vec<(f64, f64)>> = BTreeMap::new();
        for ((name, labels), value) in &self.0 {
            let Some(family) = name.strip_suffix("_bucket") else { continue };
            let mut labels = labels.clone();
            let bound = labels.remove("le").expect("a bound");
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().expect("it") };
            buckets.entry((family.to_owned(), labels)).or_default().push((bound, *value));
        }
        for ((family, labels), mut buckets) in buckets {
            buckets.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{family} {buckets:?}");
            let count = self.0.get(&(format!("{family}_count"), labels.clone()));
            assert_eq!(buckets.last().map(|(bound, _)| *bound), Some(f64::INFINITY), "{family}");
            assert_eq!(buckets.last().map(|(_, count)| count), count, "{family} {labels:?}");
            assert!(self.0.contains_key(&(format!("{family}_sum"), labels)), "{family}");
        }
    }

    /// The value of the only sample of that name with these labels, among others.
    pub(crate) fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |all: &Labels| {
            labels.iter().all(|(name, value)| all.get(*name).is_some_and(|other| other == value))
        };
        let mut found = self.0.iter().filter(|((other, all), _)| other == name && has(all));
        let value = found.next().map(|(_, value)| *value);
        assert!(found.next().is_none(), "several {name} with {labels:?}");
        value
    }
}

fn is_name(name: &str) -> bool {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with("suimon_") && name.chars().all(part) && !name.contains("__")
}

/// The name and the labels of a sample.
fn series_of(series: &str) -> (String, Labels) {
    let Some((name, rest)) = series.split_once('{') else {
        return (series.to_owned(), Labels::new());
    };
    let mut rest = rest.strip_suffix('}').unwrap_or_else(|| panic!("no end: {series}"));
    let mut labels = Labels::new();
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").expect("a label");
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next().expect("the value ends") {
                (at, '"') => break at + 1,
                (_, '\\') => match chars.next().expect("an escape") {
                    (_, 'n') => value.push('\n'),
                    (_, c @ ('\\' | '"')) => value.push(c),
                    other => panic!("{other:?} in {series}"),
                },
                (_, c) => value.push(c),
            }
        };
        assert!(!label.is_empty() && !label.starts_with("__"), "{series}");
        assert!(labels.insert(label.to_owned(), value).is_none(), "{label} twice: {series}");
        rest = &after[end..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    (name.to_owned(), labels)
}
