//! Laws of everything that can be set in an impairment, drawn from the declarations alone.

#[path = "../../traffic/tests/drawn/values.rs"]
mod values;

use network::impairment::{Impairment, Parameters, REGISTRY, Transit};
use proptest::prelude::*;
use traffic::setting::{Value, in_range};
use traffic::{Duration, Instant, Random};
use values::{beside, values};

fn blank(name: &str) -> Parameters {
    Parameters::blank(name).expect("the registry names impairments")
}

fn drawn() -> impl Strategy<Value = (&'static str, Vec<(&'static str, Value)>)> {
    let names: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
    let given = |name| (Just(name), values(blank(name).settings().settings()));
    prop::sample::select(names).prop_flat_map(given)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// What is drawn within the ranges comes back as set, and works, or is refused at one of its settings.
    #[test]
    fn drawn_settings_work_or_are_refused_at_one((name, given) in drawn()) {
        let mut parameters = blank(name);
        for (setting, value) in &given {
            prop_assert!(parameters.settings_mut().set(setting, value.clone()), "{setting}");
            prop_assert_eq!(&parameters.settings().get(setting), &Some(value.clone()));
        }
        in_range(parameters.settings()).expect("drawn within");
        if let Err(invalid) = parameters.check() {
            let settings = parameters.settings().settings();
            prop_assert!(settings.iter().any(|setting| setting.name == invalid.setting));
            return Ok(());
        }
        let mut impairment = Impairment::new(parameters, Random::from_seed(1));
        for ms in 0..20 {
            impairment.apply(&mut Transit::new(Instant::ZERO + Duration::from_ms(ms)));
        }
    }
}

#[test]
fn what_is_out_of_range_is_refused_at_its_setting() {
    let mut refused = Vec::new();
    for entry in REGISTRY {
        for setting in blank(entry.name).settings().settings() {
            for value in beside(setting) {
                let mut parameters = blank(entry.name);
                assert!(parameters.settings_mut().set(setting.name, value));
                let error = in_range(parameters.settings()).expect_err(setting.name);
                assert_eq!(error.setting, setting.name);
                refused.push((entry.name, setting.name));
            }
        }
    }
    assert_eq!(refused, [("gemodel", "to_good"), ("down", "lasts"), ("reorder", "by")]);
}
