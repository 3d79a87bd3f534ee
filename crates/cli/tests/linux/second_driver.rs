//! Guest kernels as the driver that the simulator is compared with: one run is enough, for each gives the same bytes.

use crate::both_drivers::outside;
use crate::scenario::{ground, run};
use crate::typed::{code, stderr};

/// Runs `scenario` on both drivers, and judges the quantities that it names.
pub(crate) fn check(test: &str, scenario: &str) {
    let Some(ground) = ground(test) else { return };
    for (folder, words) in [("simulated", &[][..]), ("run", &["--on", "linux-6.12"])] {
        let (output, _) = run(&ground, folder, scenario, words);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let outside = outside(test, ground.path());
    assert!(outside.is_empty(), "{test}: simulator and kernel differ by\n{}", outside.join("\n"));
}
