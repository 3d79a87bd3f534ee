//! A test that is skipped is never silent, and fails where every test is asked for.

use std::env;
use std::fs;
use std::process::{Command, Output};

const NO_SUCH_PROGRAM: &str = "no-such-program-anywhere";

/// What the tests below start again, in an environment of their own.
#[test]
fn inner() {
    if env::var_os("TESTBED_INNER").is_some() {
        assert!(testbed::lacks_programs("a test", &[NO_SUCH_PROGRAM]));
        testbed::disturbed("another test", "late by 3 ms");
    }
}

fn run(tests: &str) -> (Output, String) {
    let file = env::temp_dir().join(format!("skipped-{}-{tests}", std::process::id()));
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["inner", "--exact"]).env("TESTBED_INNER", "1");
    command.env("SUIMON_SKIPPED", &file).env("SUIMON_TESTS", tests);
    let output = command.output().expect("it starts");
    let listed = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(&file);
    (output, listed)
}

#[test]
fn a_skipped_test_is_named() {
    let (output, listed) = run("some");
    assert!(output.status.success());
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(
        lines,
        [
            "skipped: a test: it needs no-such-program-anywhere",
            "skipped: another test: this machine did not keep up: late by 3 ms",
        ]
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("skipped: a test: it needs no-such-program-anywhere"), "{said}");
}

#[test]
fn a_skipped_test_fails_where_all_are_asked_for() {
    let (output, listed) = run("all");
    assert!(!output.status.success());
    assert_eq!(listed, "", "it failed, and is not listed as skipped");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("a test is skipped though SUIMON_TESTS=all"), "{said}");
}
