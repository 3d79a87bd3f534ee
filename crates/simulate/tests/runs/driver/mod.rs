//! Runs a scenario's text and holds tables against their golden files.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use network::Observer;
use record::{Summary, Totals};
use scenario::{Document, Plan};
use simulate::{Steering, run};

/// The plan of `text`; an error fails the test.
pub(crate) fn plan(text: &str) -> Plan {
    let document = Document::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    document.plan().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The totals of a run of `plan`.
pub(crate) fn totals(plan: &Plan) -> Totals {
    totals_observed(plan, &mut ())
}

/// The totals of a run of `plan`, with its events passed to `observer`.
pub(crate) fn totals_observed(plan: &Plan, observer: &mut impl Observer) -> Totals {
    let interrupted = AtomicBool::new(false);
    let steering = Steering { interrupted: &interrupted, progress: &|_| {} };
    run(plan, observer, steering).expect("a plan from text was checked")
}

/// The summary of a run of `plan`.
pub(crate) fn summary(plan: &Plan) -> Summary {
    Summary::new(plan, &totals(plan))
}

/// The output of tshark, with `arguments`, for the capture in a run folder.
pub(crate) fn tshark(folder: &Path, arguments: &[&str]) -> String {
    let file = folder.join(record::capture::FILE);
    let output = Command::new("tshark").arg("-n").arg("-r").arg(file).args(arguments).output();
    let output = output.expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Compares `table` with `tests/golden/NAME.txt`; `UPDATE_GOLDEN=1` writes it again, for a reader to judge.
pub(crate) fn assert_golden(name: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, table).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        golden == table,
        "{name} changed; if that is meant, run again with UPDATE_GOLDEN=1\n{table}"
    );
}
