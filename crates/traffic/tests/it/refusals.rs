//! What `psp` and `fifo` refuse, and the change that the error suggests.

use crate::wire::{port, rate};
use base::Bytes;
use traffic::Discipline;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::psp::{Class, PacingRate, Parameters, Psp};
use traffic::qdisc::{fifo, fifo::Fifo};

const MEGABIT: u64 = 1_000_000;

/// Classes as name, parent, Mbit/s; filters as the classes they lead to.
fn refusal(classes: &[(&str, &str, u64)], filters: &[&str]) -> String {
    let class = |&(name, parent, megabits): &(&str, &str, u64)| Class {
        name: name.into(),
        parent: (!parent.is_empty()).then(|| parent.into()),
        rate: rate(megabits * MEGABIT).into(),
        queue: fifo::Parameters::default(),
    };
    let rule = |&class: &&str| Rule { filter: Filter::default(), priority: 0, class: class.into() };
    let parameters = Parameters {
        classes: classes.iter().map(class).collect(),
        filters: filters.iter().map(rule).collect(),
        ..Parameters::default()
    };
    let error = Psp::attach(&parameters, port(1000 * MEGABIT, 1500));
    error.map(|_| ()).expect_err("parameters that make no sense").to_string()
}

#[test]
fn each_mistake_is_reported_with_its_remedy() {
    let told = [
        refusal(&[], &[]),
        refusal(&[("a", "", 10), ("a", "", 20)], &[]),
        refusal(&[("a", "b", 10), ("c", "", 10)], &[]),
        refusal(&[("a", "b", 10)], &[]),
        refusal(&[("a", "b", 10), ("b", "a", 10)], &[]),
        refusal(&[("a", "a", 10)], &[]),
        refusal(&[("a", "", 1001)], &[]),
        refusal(&[("a", "", 700), ("b", "", 301)], &[]),
        refusal(&[("p", "", 100), ("a", "p", 60), ("b", "p", 50)], &[]),
        refusal(&[("p", "", 100), ("a", "p", 101)], &[]),
        refusal(&[("a", "", 10), ("b", "", 10)], &["a", "c"]),
        refusal(&[("p", "", 100), ("a", "p", 60), ("b", "p", 40)], &["p"]),
    ];
    assert_eq!(told.join("\n") + "\n", include_str!("refusals.txt"));
}

#[test]
fn only_a_class_with_packets_of_its_own_measures() {
    let class = |name: &str, parent: Option<&str>, rate| Class {
        name: name.into(),
        parent: parent.map(Into::into),
        rate,
        queue: fifo::Parameters::default(),
    };
    let (given, measured) = (rate(600 * MEGABIT).into(), PacingRate::Measured);
    let attach = |outer, inner| {
        let classes = vec![class("p", None, outer), class("a", Some("p"), inner)];
        Psp::attach(&Parameters { classes, ..Parameters::default() }, port(1000 * MEGABIT, 1500))
    };
    assert!(attach(given, measured).is_ok());
    let refused = attach(measured, given).expect_err("whose packets would it measure?");
    assert_eq!(
        refused.to_string(),
        "the class `p` has children, and only a class without children can measure its rate: give it a rate, or \
         let its children measure theirs"
    );
}

/// A tree that fits to the last bit is accepted.
#[test]
fn a_tree_may_promise_all_that_the_link_has() {
    let class = |name: &str, parent: Option<&str>, megabits| Class {
        name: name.into(),
        parent: parent.map(Into::into),
        rate: rate(megabits * MEGABIT).into(),
        queue: fifo::Parameters::default(),
    };
    let parameters = Parameters {
        classes: vec![
            class("a", Some("p"), 60),
            class("p", None, 100),
            class("b", Some("p"), 40),
            class("rest", None, 900),
        ],
        ..Parameters::single(rate(MEGABIT))
    };
    let refused = Psp::attach(&parameters, port(1000 * MEGABIT, 1500)).map(|_| ());
    // The rule of `single` leads to a class `all`, which is not here.
    assert_eq!(
        refused.expect_err("a filter to nowhere").to_string(),
        "filter 1 leads to the class `all`, which does not exist: name one of `a`, `p`, `b`, `rest`"
    );
    let parameters = Parameters { filters: Vec::new(), ..parameters };
    assert!(Psp::attach(&parameters, port(1000 * MEGABIT, 1500)).is_ok());
}

/// A leaf's queue is checked as the discipline `fifo` is.
#[test]
fn a_queue_without_room_is_refused() {
    let attach = |bytes, packets| {
        let limits = fifo::Parameters { bytes: Some(Bytes(bytes)), packets: Some(packets) };
        let mut parameters = Parameters::single(rate(MEGABIT));
        parameters.classes[0].queue = limits;
        let port = port(1000 * MEGABIT, 1500);
        let of_psp = Psp::attach(&parameters, port).map(|_| ()).map_err(|e| e.to_string());
        let of_fifo = Fifo::attach(&limits, port).map(|_| ()).map_err(|e| e.to_string());
        (of_fifo, of_psp)
    };
    let zero = "a queue of zero drops every packet: give it room for at least one (1518 bytes)";
    let refused =
        |text: &str| (Err(text.to_string()), Err::<(), _>(format!("the queue of `all`: {text}")));
    assert_eq!(attach(0, 10), refused(zero));
    assert_eq!(attach(10_000, 0), refused("`packets` cannot be 0: give at least 1"));
    assert_eq!(
        attach(1517, 10),
        refused(
            "a queue of 1517 bytes drops every packet of full length: give it room for at least \
             one (1518 bytes)"
        )
    );
    assert_eq!(attach(1518, 1), (Ok(()), Ok(())));
}
