//! The slow start thresholds of `scenarios/workloads/phases.toml`.

use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

pub(crate) fn scenario() -> String {
    let example = "../../scenarios/workloads/phases.toml";
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join(example);
    fs::read_to_string(example).expect("an example")
}

/// Checks the run in `folder`: each phase ended with a different threshold, and the first one's is restored.
pub(crate) fn assert_taken_up(folder: &Path) {
    let before = threshold(folder, 3_990);
    let (other, again) = (threshold(folder, 7_990), threshold(folder, 8_100));
    assert!(before != other && before == again, "{before}, {other}, {again} packets");
}

/// The threshold in the last sample that is no later than `ms`.
fn threshold(folder: &Path, ms: u64) -> u64 {
    let file = File::open(folder.join("flows.parquet")).expect("the table");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row"));
    let number = |field: &Field| match *field {
        Field::Long(number) => u64::try_from(number).ok(),
        _ => None,
    };
    let samples = rows.map(|row| {
        let of = |name: &str| {
            let field = row.get_column_iter().find(|(column, _)| *column == name);
            number(field.expect("a column").1)
        };
        (of("time_ns").expect("a time"), of("ssthresh_packets"))
    });
    let until = samples.take_while(|&(ns, _)| ns <= ms * 1_000_000 + 999_999);
    until.last().and_then(|(_, threshold)| threshold).expect("a threshold")
}
