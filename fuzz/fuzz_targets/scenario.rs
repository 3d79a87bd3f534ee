//! Parses any bytes as a scenario: a plan or errors, never a panic, a hang, or a lock file with another meaning.
//!
//! `cargo +nightly fuzz run scenario -- -dict=fuzz/scenario.dict`
#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::{Document, lock, physics};

fuzz_target!(|text: &str| {
    let Ok(document) = Document::parse("any.toml", text) else { return };
    let Ok(runs) = document.runs() else { return };
    for run in runs.iter().take(2) {
        let Ok(plan) = run.plan() else { continue };
        let _ = physics(&plan);
        let locked = lock(&plan);
        let again = Document::parse("lock", &locked).and_then(|document| document.plan());
        assert_eq!(format!("{plan:?}"), format!("{:?}", again.expect("a lock file parses")));
    }
});
