//! The hooks of a congestion control, called by the real kernel and by the model for the same connection.
//!
//! A connection of the kernel runs over a drawn path, with losses, marks, pauses and application limits,
//! and reports every call of a hook. The segments that it received, and what its application wrote, then go
//! through the modelled sender at the same times; the sequence of its calls is compared with the kernel's, up to
//! the first that differs: what comes after it differs in consequence.
//!
//! `SUIMON_SEQUENCES=40` runs 40 connections of each algorithm, as `make soak` does. The seed of a connection
//! decides what it goes through; the timing by the machine's clock and scheduler differs from run to run.
//!
//! BBR is not among them: it lets segments out by its pacing's timer, which fires in the model and in the kernel at
//! times of its own, so that their ACKs are not the same ones. Each of its calls is replayed by itself in the
//! congestion crate's tests.
//!
//! Needs root, BTF, clang, `ip` and /dev/net/tun; without them it says what it lacks and passes.

#[path = "../../../congestion/build/bpf.rs"]
mod bpf;
mod compare;
#[path = "../../../congestion/build/highspeed.rs"]
#[allow(dead_code, reason = "its build uses all of it")]
mod highspeed;
mod known;
mod live;
mod model;
#[path = "../../../congestion/tests/kernel/object.rs"]
#[allow(dead_code, reason = "the congestion crate's tests use all of it")]
mod object;
#[path = "../../../congestion/tests/kernel/record.rs"]
mod record;
mod trial;
mod tun;
mod wire;

use std::path::Path;
use std::{fmt, fs};

use congestion::Algorithm;
use transport::config::{Buffer, Ecn};
use transport::{Config, Profile};

use known::Difference;
use model::Call;
use record::Record;
use trial::Trial;
use tun::Tun;

const CRATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../congestion");
const GENERATED: &str = env!("CARGO_TARGET_TMPDIR");

/// The crate embeds none here.
fn embedded(_algorithm: &Algorithm) -> Option<&'static [u8]> {
    None
}

/// The algorithms whose windows do not depend on microseconds of an RTT, as `illinois` does.
const ALGORITHMS: [&str; 8] =
    ["bic", "cubic", "cubic-rfc9438", "dctcp", "highspeed", "newreno", "scalable", "vegas"];

/// The configuration of the kernel, as far as a namespace's defaults define it.
fn linux6(trial: &Trial) -> Config {
    let mut config = Profile::by_name("linux-6").expect("a profile").config();
    config.buffers.send = Buffer::Fixed(16 << 20);
    config.buffers.receive = Buffer::Fixed(16 << 20);
    config.emission.tso = false;
    config.emission.nagle = false;
    config.emission.small_queues = false;
    config.segment.ecn = if trial.ecn { Ecn::Request } else { Ecn::Accept };
    config
}

/// Whether this machine cannot run the test.
fn lacks() -> bool {
    const NAME: &str = "the comparison of hook sequences with the kernel's";
    if testbed::lacks(NAME, &["clang", "ip"]) {
        return true;
    }
    for file in ["/sys/kernel/btf/vmlinux", "/dev/net/tun"] {
        if !Path::new(file).exists() {
            testbed::skip(NAME, &format!("it needs {file}"));
            return true;
        }
    }
    false
}

/// The outcome of one connection.
enum Outcome {
    Equal,
    /// The row of `known::KNOWN` that explains the first difference.
    Explained(usize),
    /// The log lost records, so there is nothing to compare.
    Incomplete,
    /// The first difference, as text.
    Unexplained(String),
}

/// The outcomes of the connections.
#[derive(Default)]
struct Tally {
    connections: usize,
    calls: usize,
    equal: usize,
    explained: [usize; known::KNOWN.len()],
    incomplete: usize,
    /// Connections that differed without a reason, and did not when they were run again.
    once: usize,
    unexplained: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connections, calls, equal, .. } = self;
        write!(
            f,
            "{connections} connections, {calls} calls of hooks: {equal} sequences equal the kernel's"
        )?;
        for (count, what) in [
            (self.incomplete, "have a log that lost records"),
            (self.once, "differed otherwise once and not again"),
        ] {
            if count > 0 {
                write!(f, "; {count} {what}")?;
            }
        }
        for (known, count) in known::KNOWN.iter().zip(self.explained).filter(|(_, n)| *n != 0) {
            write!(f, "; {count} differ by {}: {}", known.name, known.reason)?;
        }
        Ok(())
    }
}

/// A fault of the model shows up in every run; a disturbance by the machine seldom does so twice.
const ATTEMPTS: usize = 3;

impl Tally {
    /// Counts one connection, run again where it differs without a reason.
    fn count(
        &mut self,
        algorithm: &Algorithm,
        seed: u64,
        mut run: impl FnMut() -> (Outcome, usize),
    ) {
        self.connections += 1;
        for attempt in 0..ATTEMPTS {
            let (outcome, calls) = run();
            self.calls += calls;
            match outcome {
                Outcome::Unexplained(what) => {
                    testbed::say(&format!("{}, seed {seed}: {what}", algorithm.name()));
                    continue;
                }
                Outcome::Equal => self.equal += 1,
                Outcome::Explained(row) => self.explained[row] += 1,
                Outcome::Incomplete => self.incomplete += 1,
            }
            self.once += usize::from(attempt > 0);
            return;
        }
        self.unexplained += 1;
    }
}

/// Runs one connection of the kernel, then the model, and compares the calls of both; also how many they were.
fn compare(
    tun: &mut Tun,
    algorithm: &'static Algorithm,
    name: &str,
    seed: u64,
    log: impl Fn() -> Vec<u8>,
) -> (Outcome, usize) {
    let (trial, random) = Trial::draw(seed);
    let config = linux6(&trial);
    let mut recording = live::run(tun, name, &config, &trial, random);
    let records: Vec<Record> = record::records(&log()).collect();
    if records.first().map(|record| record.lost) != records.last().map(|record| record.lost) {
        return (Outcome::Incomplete, 0);
    }
    let kernel: Vec<Call> = records.iter().map(Call::from).collect();
    let kernel = compare::from_init(&kernel);
    recording.align(kernel);
    let model = model::replay(&config, algorithm, &recording);
    let by_clock = algorithm.name() == "cubic-rfc9438";
    let Some((at, what)) = compare::first_difference(kernel, &model.calls, by_clock) else {
        return (Outcome::Equal, kernel.len());
    };
    let (model, idles, sent) = (&model.calls, &model.idles, &model.sent);
    let by_clock = algorithm.name().starts_with("cubic");
    let difference = Difference { at, kernel, model, idles, by_clock, recording: &recording };
    let outcome = match known::KNOWN.iter().position(|known| (known.holds)(&difference)) {
        Some(row) => Outcome::Explained(row),
        None => {
            let around = compare::around(at, kernel, model);
            let sent = compare::first_sent(&recording, sent);
            Outcome::Unexplained(format!("{what}\n{around}{sent}\n{trial:?}"))
        }
    };
    (outcome, kernel.len())
}

#[test]
fn the_model_calls_hooks_as_the_kernel_does() {
    if lacks() {
        return;
    }
    fs::write(Path::new(GENERATED).join("highspeed_table.h"), highspeed::header())
        .expect("cargo's folder for tests");
    let each = std::env::var("SUIMON_SEQUENCES").map_or(2, |n| n.parse().expect("a number"));
    let mut tun = Tun::new();
    let mut tally = Tally::default();
    for name in ALGORITHMS {
        let algorithm = Algorithm::by_name(name).expect("a registered algorithm");
        let mut object = object::load(algorithm, object::Flavour::Logging);
        let registered = object.register();
        for seed in 0..each {
            tally.count(algorithm, seed, || {
                let log = || registered.collect(|| true);
                compare(&mut tun, algorithm, registered.name(), seed, log)
            });
        }
    }
    testbed::say(&tally.to_string());
    assert_eq!(tally.unexplained, 0, "differences without a reason");
    // Most are equal to the last argument, or the reasons would explain anything.
    assert!(tally.equal * 10 >= tally.connections * 8, "{tally}");
}
