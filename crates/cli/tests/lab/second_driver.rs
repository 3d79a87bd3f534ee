//! The lab as the driver that the simulator is compared with.
//!
//! In five runs on a shared two-core machine, between one (the 10 ms path) and all five were usable. In those, each quantity was
//! within 1.4 %, except the min RTT of the 10 ms path (2.2 %).

use crate::both_drivers::outside;
use crate::default_congestion::lacks_cubic;
use crate::ground::{Ground, Run};
use crate::typed::{code, stderr};

/// A fault of a driver shows in each run. What the machine takes from a run that it was thought to have kept up with
/// (a paced host makes up for no time that it lost) does not.
const ATTEMPTS: usize = 3;

/// Runs `scenario` on both drivers, and judges the quantities that it names.
pub(crate) fn check(test: &str, scenario: &str) {
    let Some(ground) = Ground::take(test, &[]) else { return };
    if lacks_cubic(test) {
        return;
    }
    let simulated = ground.suimon(&["run", "--quiet", "--out", "simulated"], scenario).output();
    let simulated = simulated.expect("the program starts");
    assert_eq!(code(&simulated), 0, "{}", stderr(&simulated));
    // If half of the packets leave more than 20 us late (10 us on a quiet machine), programs wake up late too:
    // each answer of an exchange took a millisecond more then.
    let undisturbed = |run: &Run| {
        let lab = &run.manifest()["lab"];
        lab["spoiled"].as_array().is_none_or(Vec::is_empty)
            && lab["lateness"]["p50_ns"].as_u64().is_none_or(|p50| p50 < 20_000)
    };
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let Some(_) = ground.measure(test, scenario, &[], undisturbed) else { return };
        let outside = outside(test, &ground.path("."));
        if outside.is_empty() {
            return;
        }
        last = outside.join("\n");
    }
    panic!("{test}: simulator and lab differ in {ATTEMPTS} runs, in the last by\n{last}");
}
