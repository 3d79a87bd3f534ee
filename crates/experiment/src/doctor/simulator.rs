//! Whether the simulator works here: a run in memory, and a file in the folder of run folders.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use lab::machine::{Finding, State};
use record::meter::clock;
use scenario::Document;
use simulate::Steering;

use crate::error::Error;

/// A flow of 100 ms.
const SCENARIO: &str = r#"
title = "One flow"
duration = "100 ms"

[host.a]
[host.b]

[link.wire]
between = ["a", "b"]
rate = "100 Mbit/s"

[flow.bulk]
from = "a"
to = "b"
"#;

/// What a simulated run needs.
pub fn findings() -> Vec<Finding> {
    vec![simulator(), folder()]
}

fn simulator() -> Finding {
    let began = clock();
    let (state, why, command) = match bytes() {
        Ok(bytes) if bytes > 0 => {
            let took = began.elapsed().as_secs_f64() * 1e3;
            (State::Ok, format!("a flow of 100 ms, simulated in {took:.0} ms"), "")
        }
        Ok(_) => (State::Missing, "a simulated flow transferred nothing".into(), REINSTALL),
        Err(failure) => (State::Missing, failure.to_string(), REINSTALL),
    };
    Finding { what: "a simulated run", state, why, command: command.into() }
}

/// Only the program itself can be at fault.
const REINSTALL: &str = "cargo install --locked --path crates/cli";

/// The bytes that the flow received.
fn bytes() -> Result<u64, Error> {
    let plan = Document::parse("doctor", SCENARIO)?.plan()?;
    let steering = Steering { interrupted: &AtomicBool::new(false), progress: &|_| {} };
    let totals = simulate::run(&plan, &mut (), steering)?;
    let summary = record::Summary::new(&plan, &totals);
    Ok(summary.flow.0.iter().map(|(_, flow)| flow.bytes).sum())
}

/// Whether the current folder is writable.
fn folder() -> Finding {
    let written = tempfile::tempfile_in(".").and_then(|mut file| file.write_all(b"run"));
    let (state, why, command) = match written {
        Ok(()) => (State::Ok, "this folder is writable: runs go to ./runs".into(), ""),
        Err(error) => {
            let why = format!("this folder is not writable: {error}");
            (State::Missing, why, "suimon run FILE --out ~/runs/NAME")
        }
    };
    Finding { what: "run folders", state, why, command: command.into() }
}
