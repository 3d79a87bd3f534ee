//! What `cbq` and `tbr` refuse, and the change that the error suggests.

use crate::wire::{port, rate};
use base::{Bytes, Instant, Share};
use traffic::Discipline;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::cbq::{Cbq, Class, Parameters};
use traffic::qdisc::{self, fifo, psp, tbr, tbr::Tbr};

const MEGABIT: u64 = 1_000_000;

fn class(name: &str, parent: &str, megabits: u64) -> Class {
    Class {
        name: name.into(),
        parent: (!parent.is_empty()).then(|| parent.into()),
        rate: Some(rate(megabits * MEGABIT)),
        ..Class::default()
    }
}

fn refusal(classes: Vec<Class>, default: &str, filters: &[&str]) -> String {
    let rule = |&class: &&str| Rule { filter: Filter::default(), priority: 0, class: class.into() };
    let filters = filters.iter().map(rule).collect();
    let parameters = Parameters { classes, filters, default: default.into(), ..Default::default() };
    let error = Cbq::attach(&parameters, port(1000 * MEGABIT, 1500));
    error.map(|_| ()).expect_err("parameters that make no sense").to_string()
}

/// One class `a` of 10 Mbit/s, with something changed.
fn of_one(change: impl FnOnce(&mut Class)) -> String {
    let mut class = class("a", "", 10);
    change(&mut class);
    refusal(vec![class], "a", &[])
}

fn of_tbr(parameters: tbr::Parameters) -> String {
    let error = Tbr::attach(&parameters, port(1000 * MEGABIT, 1500));
    error.map(|_| ()).expect_err("parameters that make no sense").to_string()
}

fn small_queue() -> qdisc::Parameters {
    qdisc::Parameters::Fifo(fifo::Parameters { bytes: Some(Bytes(1_000)), packets: Some(1) })
}

#[test]
fn each_mistake_is_reported_with_its_remedy() {
    let pair = || vec![class("p", "", 100), class("a", "p", 60), class("b", "p", 40)];
    let paced = || qdisc::Parameters::Psp(psp::Parameters::single(rate(MEGABIT)));
    let regulated = || qdisc::Parameters::Tbr(tbr::Parameters::default());
    let told = [
        refusal(vec![], "", &[]),
        refusal(vec![class("a", "b", 10), class("c", "", 10)], "a", &[]),
        refusal(pair(), "", &[]),
        refusal(pair(), "c", &[]),
        refusal(pair(), "p", &[]),
        refusal(pair(), "a", &["a", "c"]),
        refusal(vec![class("a", "", 1001)], "a", &[]),
        refusal(vec![class("a", "", 700), class("b", "", 200), class("c", "", 101)], "a", &[]),
        refusal(vec![class("p", "", 100), class("a", "p", 60), class("b", "p", 50)], "a", &[]),
        refusal(vec![class("p", "", 100), class("a", "p", 101)], "a", &[]),
        of_one(|class| class.rate = None),
        of_one(|class| (class.rate, class.share) = (None, Some(Share(0)))),
        of_one(|class| class.share = Some(Share(1 << 31))),
        of_one(|class| class.priority = 8),
        of_one(|class| class.maxburst = Some(0)),
        of_one(|class| class.minburst = Some(0)),
        of_one(|class| class.minburst = Some(17)),
        of_one(|class| class.packet_size = Some(Bytes(0))),
        of_one(|class| class.packet_size = Some(Bytes(1519))),
        of_one(|class| class.queue = small_queue()),
        of_one(|class| class.queue = paced()),
        of_one(|class| class.queue = regulated()),
        of_tbr(tbr::Parameters { rate: Some(rate(1001 * MEGABIT)), ..Default::default() }),
        of_tbr(tbr::Parameters { bucket: Some(Bytes(0)), ..Default::default() }),
        of_tbr(tbr::Parameters { queue: Box::new(paced()), ..Default::default() }),
        of_tbr(tbr::Parameters { queue: Box::new(small_queue()), ..Default::default() }),
    ];
    assert_eq!(told.join("\n") + "\n", include_str!("cbq_refusals.txt"));
}

/// A tree that fits to the last bit is accepted, even if rounded shares exceed it.
#[test]
fn a_tree_may_promise_all_that_the_link_has() {
    let share = |name: &str, share: f64| Class {
        rate: None,
        // As a reader of scenarios rounds.
        share: Some(Share((share * 4_294_967_296.0).round() as u32)),
        ..class(name, "", 1)
    };
    for link in [1_000_000_007, 100_000_000_000, 800_000_000_000] {
        let classes = vec![share("a", 0.15), share("b", 0.35), share("c", 0.5)];
        let parameters = Parameters { classes, default: "a".into(), ..Default::default() };
        assert!(Cbq::attach(&parameters, port(link, 1500)).is_ok(), "{link}");
    }
    let classes = vec![class("a", "", 600), class("b", "", 400)];
    let parameters = Parameters { classes, default: "b".into(), ..Default::default() };
    assert!(Cbq::attach(&parameters, port(1000 * MEGABIT, 1500)).is_ok());
}

/// After an error, the previous parameters stay in force.
#[test]
fn a_refused_change_changes_nothing() {
    let parameters =
        Parameters { classes: vec![class("a", "", 10)], default: "a".into(), ..Default::default() };
    let mut cbq = Cbq::attach(&parameters, port(1000 * MEGABIT, 1500)).unwrap();
    let wrong = Parameters { classes: vec![class("b", "", 10)], ..parameters };
    assert!(cbq.change(&wrong, Instant::ZERO.into()).is_err());
    let mut names = Vec::new();
    cbq.classes(&mut |_, name, _| names.push(name.to_string()));
    assert_eq!(names, ["a"]);
}
