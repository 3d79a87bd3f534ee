//! Laws of everything that can be set in a discipline or a meter, drawn from the declarations alone.

use proptest::prelude::*;

use crate::values::{beside, value, values};
use base::setting::{Setting, Settings, Value, in_range};
use base::{Bytes, FlowId, Instant, Rate};
use traffic::classify::{Filter, Rule};
use traffic::condition::{self, Conditioner, Element};
use traffic::meter;
use traffic::qdisc::{Error, Parameters, Qdisc, REGISTRY};
use traffic::{Discipline, Port};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A port of 1 Gbit/s.
fn port() -> Port {
    let rate = Rate::from_bits_per_second(1_000_000_000).expect("a rate");
    Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 1 }
}

type Given = Vec<(&'static str, Value)>;

/// What is given of a discipline, and of each of its classes.
fn given(name: &'static str) -> BoxedStrategy<(&'static str, Given, Vec<Given>)> {
    let parameters = Parameters::blank(name).expect("the registry names disciplines");
    let settings = parameters.as_settings();
    let classes = match settings.classes() {
        Some(classes) => {
            prop::collection::vec(values(classes.fresh().settings()), 0..NAMES.len()).boxed()
        }
        None => Just(Vec::new()).boxed(),
    };
    (Just(name), values(settings.settings()), classes).boxed()
}

/// Memory for all packets and flows is taken at once: more than a test has need of is not asked for.
fn is_modest((name, value): &(&'static str, Value)) -> bool {
    !["packets", "flows"].contains(name) || value.number().is_some_and(|number| number < 100_000)
}

fn set(settings: &mut dyn Settings, given: &Given) {
    for (name, value) in given.iter().filter(|given| is_modest(given)) {
        assert!(settings.set(name, value.clone()), "`{name}` takes {value:?}");
    }
}

fn parameters(name: &str, own: &Given, classes: &[Given]) -> Parameters {
    let mut parameters = Parameters::blank(name).expect("the registry names disciplines");
    set(parameters.as_settings_mut(), own);
    if let Some(tree) = parameters.as_settings_mut().classes_mut() {
        for (flow, (name, given)) in (0..).zip(NAMES.iter().zip(classes)) {
            set(tree.add(name, None), given);
            let filter = Filter { flow: Some(FlowId(flow)), ..Filter::default() };
            tree.filters_mut().push(Rule { filter, priority: 0, class: (*name).into() });
        }
    }
    parameters
}

/// Every setting of a discipline and of its classes.
fn all(parameters: &Parameters) -> Vec<Setting> {
    let mut all = parameters.settings();
    all.extend(parameters.classes().iter().flat_map(|c| c.fresh().settings()));
    all
}

/// An error refers to existing settings and classes, and names them as data.
fn is_about_something(parameters: &Parameters, error: &Error) {
    let subject = error.subject();
    let known: Vec<_> = all(parameters).iter().map(|setting| setting.name).collect();
    let is_known = |name: &&str| *name == "parent" || known.contains(name);
    assert!(subject.settings.iter().all(is_known), "{subject:?}: {error}");
    let single = ["all"];
    let is_class = |class| NAMES.contains(&class) || single.contains(&class);
    assert!(subject.class.is_none_or(is_class), "{subject:?}: {error}");
    assert!(!error.to_string().is_empty());
}

fn any_discipline() -> impl Strategy<Value = (&'static str, Given, Vec<Given>)> {
    let names: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
    prop::sample::select(names).prop_flat_map(given)
}

fn any_meter() -> impl Strategy<Value = (&'static str, Given, Given)> {
    let names: Vec<_> = meter::Parameters::REGISTRY.iter().map(|entry| entry.name).collect();
    prop::sample::select(names).prop_flat_map(|name| {
        let blank = blank_meter(name);
        (Just(name), values(blank.settings()), values(Element::default().settings()))
    })
}

fn blank_meter(name: &str) -> meter::Parameters {
    meter::Parameters::blank(name).expect("the registry names meters")
}

/// A conditioner with one element that has this meter.
fn conditioner(meter: meter::Parameters) -> condition::Parameters {
    let element = Element { name: "a".into(), meter: Some(meter), ..Element::default() };
    condition::Parameters { elements: vec![element], ..Default::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// A value within its range comes back as it was set.
    #[test]
    fn a_setting_holds_what_it_is_given((name, own, classes) in any_discipline()) {
        let parameters = parameters(name, &own, &classes);
        let check = |settings: &dyn Settings, given: &Given| {
            for (name, value) in given.iter().filter(|given| is_modest(given)) {
                assert_eq!(settings.get(name).as_ref(), Some(value), "`{name}`");
            }
        };
        check(parameters.as_settings(), &own);
        if let Some(tree) = parameters.classes() {
            for (index, given) in classes.iter().enumerate() {
                check(tree.class(index).2, given);
            }
        }
        in_range(parameters.as_settings()).expect("drawn within");
    }

    /// What is drawn within the ranges is attached, or refused for how it fits together; a running discipline takes it
    /// or refuses it likewise.
    #[test]
    fn drawn_settings_attach_or_are_refused_with_a_subject((name, own, classes) in any_discipline()) {
        let parameters = parameters(name, &own, &classes);
        match Qdisc::attach(&parameters, port()) {
            Ok(mut qdisc) => prop_assert_eq!(qdisc.change(&parameters, Instant::ZERO.into()), Ok(())),
            Err(error) => is_about_something(&parameters, &error),
        }
    }

    /// A meter holds what it is given, and so does its element; it is attached, and changed to the same, or refused at
    /// one of its settings.
    #[test]
    fn drawn_meters_attach_or_are_refused_at_a_setting((name, of_meter, of_element) in any_meter()) {
        let mut meter = blank_meter(name);
        set(meter.as_settings_mut(), &of_meter);
        in_range(meter.as_settings()).expect("drawn within");
        let mut parameters = conditioner(meter);
        set(&mut parameters.elements[0], &of_element);
        let element = &parameters.elements[0];
        for (name, value) in of_meter {
            prop_assert_eq!(meter.get(name), Some(value));
        }
        for (name, value) in of_element {
            prop_assert_eq!(element.get(name), Some(value));
        }
        match Conditioner::attach(&parameters, 1, Instant::ZERO) {
            Ok(mut conditioner) => {
                prop_assert_eq!(conditioner.change(&parameters, Instant::ZERO), Ok(()));
            }
            Err(error) => {
                let subject = error.subject();
                prop_assert_eq!(subject.class, Some("a"));
                let known: Vec<_> = meter.settings().iter().map(|s| s.name).collect();
                prop_assert!(subject.settings.iter().any(|name| known.contains(name)), "{}", error);
            }
        }
    }
}

#[test]
fn what_is_out_of_a_meters_range_is_refused_at_its_setting() {
    let mut refused = Vec::new();
    for entry in meter::Parameters::REGISTRY {
        for setting in blank_meter(entry.name).settings() {
            for value in beside(setting) {
                let mut wrong = blank_meter(entry.name);
                assert!(wrong.set(setting.name, value));
                let error = Conditioner::attach(&conditioner(wrong), 1, Instant::ZERO);
                let error = error.expect_err(setting.name);
                assert_eq!(error.subject().settings, [setting.name]);
                refused.push((entry.name, setting.name));
            }
        }
    }
    let expected = [
        ("token_bucket", "burst"),
        ("two_rate", "peak_burst"),
        ("two_rate", "committed_burst"),
        ("window", "window"),
    ];
    assert_eq!(refused, expected);
}

/// A value just outside its range is refused, and the error names the setting and its class as data.
#[test]
fn what_is_out_of_range_is_refused_at_its_setting() {
    let mut refused = 0;
    for entry in REGISTRY {
        let blank = parameters(entry.name, &Vec::new(), &[Vec::new(), Vec::new()]);
        for setting in blank.settings() {
            for value in beside(setting) {
                let mut wrong = blank.clone();
                // What its type cannot hold is not even set.
                if !wrong.set(setting.name, value.clone()) {
                    continue;
                }
                let error = in_range(wrong.as_settings()).expect_err(setting.name);
                assert_eq!((error.setting, error.class.as_deref()), (setting.name, None));
                assert!(Qdisc::attach(&wrong, port()).is_err(), "{}: {value:?}", entry.name);
                refused += 1;
            }
        }
        let of_class = blank.classes().map(|classes| classes.fresh().settings());
        for setting in of_class.into_iter().flatten() {
            for value in beside(setting) {
                let mut wrong = parameters(entry.name, &Vec::new(), &[]);
                let tree = wrong.as_settings_mut().classes_mut().expect("classes");
                tree.add("first", None);
                if !tree.add("second", None).set(setting.name, value.clone()) {
                    continue;
                }
                let error = in_range(wrong.as_settings()).expect_err(setting.name);
                assert_eq!(error.class.as_deref(), Some("second"));
                assert_eq!(error.subject().settings, [setting.name]);
                assert!(Qdisc::attach(&wrong, port()).is_err(), "{}: {value:?}", entry.name);
                refused += 1;
            }
        }
    }
    assert!(refused > 40, "{refused}");
}

/// The defaults are within the ranges, and so is a value drawn for each setting alone.
#[test]
fn a_default_is_within_its_range() {
    for entry in REGISTRY {
        let plain = Parameters::by_name(entry.name).expect("the registry names disciplines");
        in_range(plain.as_settings()).expect(entry.name);
        if let Some(classes) = plain.classes() {
            in_range(&*classes.fresh()).expect(entry.name);
        }
        for setting in all(&plain) {
            let mut runner = proptest::test_runner::TestRunner::deterministic();
            let drawn = value(setting).new_tree(&mut runner).expect("a value").current();
            setting.check(&drawn).expect(setting.name);
        }
    }
}
