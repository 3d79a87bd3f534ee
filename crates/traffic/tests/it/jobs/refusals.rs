//! What `jobs` refuses, and the change that the error suggests.

use base::{Bytes, Duration};
use traffic::Discipline;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::jobs::{Class, Jobs, Parameters};

use crate::wire::{port, rate};

const MEGABIT: u64 = 1_000_000;

fn class(name: &str) -> Class {
    Class { name: name.into(), ..Class::default() }
}

fn of(classes: Vec<Class>) -> Parameters {
    Parameters { classes, ..Parameters::default() }
}

fn refusal(parameters: &Parameters) -> String {
    let error = Jobs::attach(parameters, port(100 * MEGABIT, 1_500));
    error.map(|_| ()).expect_err("parameters that make no sense").to_string()
}

#[test]
fn each_mistake_is_reported_with_its_remedy() {
    let two = || vec![class("a"), class("b")];
    let delay = |number| Class { relative_delay: Some(number), ..class("a") };
    let loss = |name: &str, number| Class { relative_loss: Some(number), ..class(name) };
    let nowhere = Rule { filter: Filter::default(), priority: 0, class: "c".into() };
    let told = [
        refusal(&of(vec![])),
        refusal(&of(vec![class("a"), class("a")])),
        refusal(&Parameters { filters: vec![nowhere], ..of(two()) }),
        refusal(&Parameters { default_class: Some("c".into()), ..of(two()) }),
        refusal(&Parameters { packets: 0, ..of(two()) }),
        refusal(&Parameters { bytes: Some(Bytes(1_517)), ..of(two()) }),
        refusal(&of((0..17).map(|n| class(&n.to_string())).collect())),
        refusal(&of(vec![class("a"), Class { parent: Some("a".into()), ..class("b") }])),
        refusal(&of(vec![Class { delay: Some(Duration::ZERO), ..class("a") }])),
        refusal(&of(vec![Class { rate: Some(rate(101 * MEGABIT)), ..class("a") }])),
        refusal(&of(vec![delay(0), class("b")])),
        refusal(&of(vec![delay(1), class("b")])),
        refusal(&of(vec![loss("a", 1), loss("b", 1_001)])),
        refusal(&of(vec![loss("a", 1), class("b")])),
        refusal(&Parameters { separate: true, ..of(vec![loss("a", 1), loss("b", 2)]) }),
    ];
    let told = told.join("\n") + "\n";
    assert_eq!(told, include_str!("refusals.txt"), "\n{told}");
}

/// More than the link has, together: there is no admission control.
#[test]
fn promises_beyond_the_link_are_taken() {
    let all = |name| Class { rate: Some(rate(100 * MEGABIT)), ..class(name) };
    assert!(Jobs::attach(&of(vec![all("a"), all("b")]), port(100 * MEGABIT, 1_500)).is_ok());
}
