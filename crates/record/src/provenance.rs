//! The origin of a table, written into it: a Parquet file that was copied somewhere else still names its run and
//! describes its columns.

use parquet::file::metadata::KeyValue;

use crate::rows::{Column, TableRow};

/// The run that a file belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The run's id: equal for runs of the same driver and plan, seed included.
    pub run: String,
    /// The driver: `simulate`, `lab`.
    pub driver: String,
    /// The seed.
    pub seed: u64,
}

impl Provenance {
    /// Creates the provenance of a run of `scenario`, with every default written out.
    pub fn new(driver: &str, seed: u64, scenario: &str) -> Self {
        // FNV-1a: it distinguishes runs and keeps no secret.
        let bytes = driver.bytes().chain([b'\n']).chain(scenario.bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { run: format!("{hash:016x}"), driver: driver.to_owned(), seed }
    }

    /// Returns it as Parquet's metadata.
    fn metadata(&self) -> Vec<KeyValue> {
        let Self { run, driver, seed } = self;
        vec![
            entry("suimon.run".into(), run.clone()),
            entry("suimon.driver".into(), driver.clone()),
            entry("suimon.seed".into(), seed.to_string()),
        ]
    }
}

/// Returns the metadata of a table of rows: its origin, if that is known, and each column's unit and meaning.
pub(crate) fn of_table<R: TableRow>(provenance: Option<&Provenance>) -> Vec<KeyValue> {
    let mut all = provenance.map_or_else(Vec::new, Provenance::metadata);
    for Column { name, about, .. } in R::COLUMNS {
        all.extend(unit_of(name).map(|unit| of_unit(name, unit)));
        all.push(entry(format!("{ABOUT}{name}"), about.trim().to_owned()));
    }
    all
}

/// Begins the key of a column's unit.
pub(crate) const UNIT: &str = "suimon.unit.";
/// Begins the key of what a column means.
pub(crate) const ABOUT: &str = "suimon.about.";

/// Returns the entry for a column's unit.
pub(crate) fn of_unit(column: &str, unit: &str) -> KeyValue {
    entry(format!("{UNIT}{column}"), unit.to_owned())
}

fn entry(key: String, value: String) -> KeyValue {
    KeyValue { key, value: Some(value) }
}

/// Returns the unit in a column's name, if it has one.
pub(crate) fn unit_of(column: &str) -> Option<&'static str> {
    let units = [
        ("bytes_per_s", "B/s"),
        ("bytes", "B"),
        ("seconds", "s"),
        ("hertz", "Hz"),
        ("packets", "packets"),
        ("frames", "frames"),
        ("ns", "ns"),
        ("us", "us"),
    ];
    let last = |name: &str| {
        column.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
    };
    units.iter().find(|(name, _)| last(name)).map(|&(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_columns_name_determines_its_unit() {
        assert_eq!(unit_of("time_ns"), Some("ns"));
        assert_eq!(unit_of("delivery_bytes_per_s"), Some("B/s"));
        assert_eq!(unit_of("bytes"), Some("B"));
        assert_eq!(unit_of("ca_state"), None);
        assert_eq!(unit_of("port"), None);
    }

    #[test]
    fn a_run_is_known_by_driver_and_plan() {
        let run = |driver, scenario| Provenance::new(driver, 7, scenario).run;
        assert_eq!(run("lab", "seed = 7"), run("lab", "seed = 7"));
        assert_ne!(run("lab", "seed = 7"), run("simulate", "seed = 7"));
        assert_ne!(run("lab", "seed = 7"), run("lab", "seed = 8"));
    }
}
