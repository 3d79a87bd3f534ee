//! The algorithms as they are built into the guest kernel: every hook call of connections under loss, replayed through
//! the native build as the congestion crate's tests replay those of the BPF build, gives the same bits.

use std::fs;

use congestion::{Algorithm, Config};
use tempfile::TempDir;

use crate::record::HOOKS;
use crate::replay::{self, Tally};
use crate::scenario::{KERNEL, ground, path, results};

/// Packets are lost at random, and in an outage that ends with a retransmission timeout. Some are delayed for
/// longer than the round trip, so that the reductions that they cause are undone.
const LOSSY: &str = "rate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nloss = \"0.5 %\"\n\
                     reorder = { share = \"0.1 %\", by = \"60 ms\" }\n\
                     down = { at = \"2 s\", lasts = \"600 ms\" }";
/// No packet is lost; packets that wait for longer than the time of five 1538-byte frames are marked.
const MARKING: &str = "rate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
                       at.r.queue.codel = { mark_above = \"3 ms\", target = \"50 ms\", ecn = true }";
/// Fast enough to fill the log.
const FAST: &str = "rate = \"200 Mbit/s\"\ndelay = \"1 ms\"";
/// The value of `CC_LOG_RECORDS` in `cc_log_proc.h`.
const LOG_RECORDS: usize = 32_768;

/// The algorithm and its settings, as in a scenario.
fn written(config: &Config) -> String {
    let name = config.algorithm().name();
    let changed = config.parameters().filter(|(it, value)| *value != it.default());
    let values: Vec<_> = changed.map(|(it, value)| format!("{} = {value}", it.name())).collect();
    format!("{{ {name} = {{ {} }} }}", values.join(", "))
}

/// Runs two flows of that congestion control from one host to another, one without end and one that pauses, and replays
/// what the guest kernel, which has both hosts, logged of its hooks.
fn replayed(ground: &TempDir, config: &Config, bottleneck: &str) -> Tally {
    let algorithm = config.algorithm();
    let flow = format!("stop = \"4 s\"\ncongestion = {}\n", written(config));
    let pausing = "from = \"a\"\nto = \"b\"\ntrain = { message = \"20 kB\", every = \"500 ms\" }\n";
    let text = path(5, KERNEL, bottleneck, &flow) + &format!("[flow.g]\n{pausing}{flow}");
    // The log is open before the run starts, and read once the flows have stopped.
    let script = format!("exec < /proc/{}_log; sleep 4.5; cat", algorithm.kernel_name());
    let reader = format!("[host.a]\nas = \"root\"\nprogram = \"sh -c '{script}'\"\n");
    let (_, out) = results(ground, algorithm.name(), &text.replace("[host.a]\n", &reader));
    let log = fs::read(out.join("programs/a.1.log")).expect("what it read");
    let tally = replay::compare(config, &log);
    testbed::say(&format!("{} in the guest kernel: {tally}", algorithm.name()));
    tally
}

/// Whether the algorithm has that one of [`HOOKS`]; with `cong_control` it has no `cong_avoid`.
fn has(algorithm: &Algorithm, hook: &str) -> bool {
    let hooks = algorithm.hooks();
    match hook {
        "ssthresh" | "undo_cwnd" => true,
        "cong_avoid" => hooks.cong_control.is_none(),
        "init" => hooks.init.is_some(),
        "pkts_acked" => hooks.pkts_acked.is_some(),
        "cwnd_event" => hooks.cwnd_event.is_some(),
        "set_state" => hooks.set_state.is_some(),
        "cong_control" => hooks.cong_control.is_some(),
        other => panic!("{other} is none of {HOOKS:?}"),
    }
}

#[test]
fn every_hook_call_in_the_guest_kernel_replays_to_the_same_bits() {
    let Some(ground) = ground("the replay of the guest kernel's hook calls") else { return };
    for algorithm in Algorithm::all() {
        let tally = replayed(&ground, &algorithm.into(), LOSSY);
        assert_eq!(tally.lost, 0, "{}: not every call was logged", algorithm.name());
        assert!(tally.losses() > 0, "{}: no loss was seen", algorithm.name());
        for (hook, calls) in HOOKS.iter().zip(tally.calls) {
            assert_eq!(calls > 0, has(algorithm, hook), "{}: {calls} {hook}", algorithm.name());
        }
    }
}

/// For algorithms that need ECN: both ends see the marks, and their ACKs echo them.
#[test]
fn marks_are_reported_echoed_and_replayed() {
    let Some(ground) = ground("the replay of marks in the guest kernel") else { return };
    for algorithm in Algorithm::all().iter().filter(|algorithm| algorithm.needs_ecn()) {
        let tally = replayed(&ground, &algorithm.into(), MARKING);
        let (echoed, marks, at_once) = (tally.delivered_ce, tally.marks, tally.acks_at_once);
        testbed::say(&format!(
            "{}: {marks} marks, {at_once} ACKs at once, {echoed} packets with an echo",
            algorithm.name()
        ));
        assert!(marks > 0 && at_once > 0 && echoed > 0, "{}: no mark was told", algorithm.name());
    }
}

/// Pauses, and the outage's timeout: the guest kernel's own state says that pacing begins and ends.
#[test]
fn paced_restarts_in_the_guest_kernel_replay_to_the_same_bits() {
    const NAME: &str = "the replay of paced restarts in the guest kernel";
    let Some(ground) = ground(NAME) else { return };
    for name in ["bic", "cubic", "cubic-rfc9438", "newreno"] {
        let mut config = Config::from(Algorithm::by_name(name).expect("an algorithm"));
        config.set("restart", 3).expect("it has restarts");
        config.set("restart_rate", 10).expect("it has restarts");
        let tally = replayed(&ground, &config, LOSSY);
        let (paced, unpaced) = (tally.paced, tally.unpaced);
        testbed::say(&format!("{name}: paced {paced} times"));
        assert!(paced >= 4, "{name}: paced {paced} times");
        assert!(paced - unpaced <= 2, "{name}: paced {paced} times, and {unpaced} ended");
    }
}

#[test]
fn a_full_log_counts_the_calls_that_it_lacks() {
    let Some(ground) = ground("a full log of the guest kernel's hook calls") else { return };
    let cubic = Algorithm::by_name("cubic").expect("an algorithm");
    let tally = replayed(&ground, &cubic.into(), FAST);
    assert_eq!(tally.compared, LOG_RECORDS, "records");
    assert!(tally.lost > 0, "no call was too many");
}
