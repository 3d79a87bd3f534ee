//! The algorithms in the running kernel: they register and carry data, and every hook call of a
//! real connection under loss, replayed through the native build, gives the same bits.
//!
//! Needs root, BTF, clang, `ip` and `tc`; without them each test says what it lacks and passes.

#[path = "../../build/bpf.rs"]
mod bpf;
mod flow;
mod machine;
mod namespace;
mod object;
mod record;
mod replay;

use std::time::Duration;

use congestion::{Algorithm, Config};
use flow::Transfer;
use namespace::Pair;
use object::Flavour;

/// The crate's folder, and the folder of what its build generates.
const CRATE: &str = env!("CARGO_MANIFEST_DIR");
const GENERATED: &str = env!("OUT_DIR");

/// The object that the crate embeds, if it does.
#[cfg(feature = "bpf")]
fn embedded(algorithm: &Algorithm) -> Option<&'static [u8]> {
    Some(algorithm.bpf_object())
}

/// The object that the crate embeds, if it does.
#[cfg(not(feature = "bpf"))]
fn embedded(_algorithm: &Algorithm) -> Option<&'static [u8]> {
    None
}

/// The bytes that the registration test moves with each algorithm.
const BULK_BYTES: u64 = 100_000_000;
/// The bytes that the replay test moves with each algorithm: some 20 000 packets.
const REPLAY_BYTES: u64 = 30_000_000;
/// The bytes per burst in the replay of paced restarts, and the silence after it: longer than Linux' minimum
/// RTO.
const BURST_BYTES: u64 = 2_000_000;
const SILENCE: Duration = Duration::from_millis(400);

#[test]
fn every_algorithm_registers_and_moves_100_mb() {
    if machine::lacks("the registration test") {
        return;
    }
    let pair = Pair::new();
    for algorithm in Algorithm::all() {
        let mut object = object::load(algorithm, Flavour::Plain);
        let registered = object.register();
        let moved = Transfer::open(&pair, registered.name()).run(BULK_BYTES);
        assert_eq!(moved.sent, moved.received, "{}: the receiver's bytes", algorithm.name());
        assert_eq!(moved.received.bytes, BULK_BYTES, "{}", algorithm.name());
        testbed::say(&format!("{}: 100 MB in {:.2} s", registered.name(), moved.seconds));
    }
}

#[test]
fn every_hook_call_replays_to_the_same_bits() {
    if machine::lacks("the replay test") {
        return;
    }
    for algorithm in Algorithm::all() {
        let pair = Pair::new();
        pair.limit_rate();
        let _loss = pair.drop_some();
        let mut object = object::load(algorithm, Flavour::Logging);
        let registered = object.register();
        let transfer = Transfer::open(&pair, registered.name());
        let (moved, log) = std::thread::scope(|scope| {
            let stall = scope.spawn(|| pair.stall_at(Duration::from_millis(700)));
            let moving = scope.spawn(|| transfer.run(REPLAY_BYTES));
            let log = registered.collect(|| moving.is_finished() && stall.is_finished());
            (moving.join().expect("the transfer"), log)
        });
        assert_eq!(moved.sent, moved.received, "{}: the receiver's bytes", algorithm.name());
        let tally = replay::compare(&algorithm.into(), &log);
        testbed::say(&format!("{}: {tally}", algorithm.name()));
        assert!(tally.compared > 0, "{}: no hook call was logged", algorithm.name());
        assert!(tally.losses() > 0, "{}: no loss was seen", algorithm.name());
    }
}

/// For algorithms that need ECN, on a path that marks packets: both ends see the marks, and their ACKs echo
/// them.
#[test]
fn marks_are_reported_echoed_and_replayed() {
    if machine::lacks("the replay of marks") {
        return;
    }
    for algorithm in Algorithm::all().iter().filter(|algorithm| algorithm.needs_ecn()) {
        let pair = Pair::new();
        pair.limit_rate();
        let entrance = pair.mark_some();
        let mut object = object::load(algorithm, Flavour::Logging);
        let registered = object.register();
        let transfer = Transfer::open_chosen(&pair, registered.name());
        let (moved, log) = std::thread::scope(|scope| {
            let moving = scope.spawn(|| transfer.run(REPLAY_BYTES));
            let log = registered.collect(|| moving.is_finished());
            (moving.join().expect("the transfer"), log)
        });
        assert_eq!(moved.sent, moved.received, "{}: the receiver's bytes", algorithm.name());
        let tally = replay::compare(&algorithm.into(), &log);
        let (echoed, marks, at_once) = (tally.delivered_ce, tally.marks, tally.acks_at_once);
        let marked = entrance.first_number();
        testbed::say(&format!(
            "{}: {tally}; {marked} packets marked, {marks} marks told, {at_once} ACKs at once, \
             {echoed} packets with an echo",
            algorithm.name()
        ));
        // TCP reports one mark for consecutive marked packets that arrive while the program reads: they are
        // merged in the socket's backlog, 9 at most.
        let told = marked / 9..=marked;
        assert!(told.contains(&(marks as u32)) && at_once > 0, "{}", algorithm.name());
        // Each mark once, except for the packets that share an ACK with it where the path reorders none.
        assert!(echoed.abs_diff(marked) < marked / 10, "{}", algorithm.name());
    }
}

/// The algorithms that have restarts, with this choice made.
fn restarting(restart: u32) -> impl Iterator<Item = Config> {
    Algorithm::all().iter().filter_map(move |algorithm| {
        let mut config = Config::from(algorithm);
        config.set("restart", restart).is_ok().then_some(config)
    })
}

/// Bursts with silence between, over loss and a stall that lets the timer fire, native against BPF.
fn bursts_replayed(config: &Config) -> replay::Tally {
    let pair = Pair::new();
    pair.limit_rate();
    let _loss = pair.drop_some();
    let mut object = object::load_with(config, Flavour::Logging);
    let registered = object.register();
    let transfer = Transfer::open_chosen(&pair, registered.name());
    let (moved, log) = std::thread::scope(|scope| {
        let stall = scope.spawn(|| pair.stall_at(Duration::from_millis(1_600)));
        let moving = scope.spawn(|| transfer.run_in_bursts(BURST_BYTES, 8, SILENCE));
        let log = registered.collect(|| moving.is_finished() && stall.is_finished());
        (moving.join().expect("the transfer"), log)
    });
    assert_eq!(moved.sent, moved.received, "{}: the receiver's bytes", config.algorithm().name());
    replay::compare(config, &log)
}

#[test]
fn windows_kept_by_rfc_7661_replay_to_the_same_bits() {
    if machine::lacks("the replay of windows that are kept") {
        return;
    }
    for config in restarting(4) {
        let (tally, name) = (bursts_replayed(&config), config.algorithm().name());
        testbed::say(&format!("{name}: {tally}"));
        assert_eq!(tally.paced, 0, "{name}");
    }
}

/// The kernel's own state says that pacing begins and ends.
#[test]
fn paced_restarts_replay_to_the_same_bits() {
    if machine::lacks("the replay of paced restarts") {
        return;
    }
    for mut config in restarting(3) {
        config.set("restart_rate", 50).expect("beside `restart`");
        let (tally, algorithm) = (bursts_replayed(&config), config.algorithm());
        let (paced, unpaced) = (tally.paced, tally.unpaced);
        testbed::say(&format!("{}: {tally}; paced {paced} times", algorithm.name()));
        assert!(paced >= 4, "{}: silences of {SILENCE:?}, paced {paced} times", algorithm.name());
        assert!(paced - unpaced <= 1, "{}: paced {paced}, ended {unpaced}", algorithm.name());
    }
}
