//! The parameters that `hfsc` refuses, with the arithmetic.

use crate::wire::{port, rate};
use base::{Bytes, Duration, Instant, Rate};
use traffic::Discipline;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::hfsc::{Class, Hfsc, Parameters};
use traffic::qdisc::{self, fifo, psp};
use traffic::reservation::Request;

const MEGABIT: u64 = 1_000_000;

/// `m1 d m2` in Mbit/s and milliseconds; zero for none.
type Curve = (u64, u64, u64);

fn parts((m1, d, m2): Curve) -> (Option<Rate>, Duration, Option<Rate>) {
    let megabits = |n| Rate::from_bits_per_second(n * MEGABIT);
    (megabits(m1), Duration::from_ms(d), megabits(m2))
}

/// A class: name, parent, and `rt`, `ls`, `ul` in front of each of its curves.
fn class(name: &str, parent: &str, curves: &[(&str, Curve)]) -> Class {
    let parent = (!parent.is_empty()).then(|| parent.into());
    let mut class = Class { name: name.into(), parent, ..Class::default() };
    for &(kind, curve) in curves {
        let (m1, d, m2) = match kind {
            "rt" => (&mut class.real_time_m1, &mut class.real_time_d, &mut class.real_time_m2),
            "ls" => (&mut class.link_share_m1, &mut class.link_share_d, &mut class.link_share_m2),
            _ => (&mut class.upper_limit_m1, &mut class.upper_limit_d, &mut class.upper_limit_m2),
        };
        (*m1, *d, *m2) = parts(curve);
    }
    class
}

fn parameters(classes: Vec<Class>, default_class: &str) -> Parameters {
    let default_class = default_class.into();
    Parameters { classes, default_class, ..Parameters::default() }
}

fn refusal(parameters: &Parameters) -> String {
    let error = Hfsc::attach(parameters, port(100 * MEGABIT, 1500));
    error.map(|_| ()).expect_err("parameters that make no sense").to_string()
}

/// One class `a` with these curves.
fn alone(curves: &[(&str, Curve)]) -> String {
    refusal(&parameters(vec![class("a", "", curves)], "a"))
}

fn with_queue(queue: qdisc::Parameters) -> String {
    let class = Class { queue, ..class("a", "", &[("ls", (0, 0, 1))]) };
    refusal(&parameters(vec![class], "a"))
}

fn reserved(reservation: Request) -> String {
    let classes = vec![
        class("a", "", &[("rt", (0, 0, 60)), ("ls", (0, 0, 1))]),
        class("group", "", &[("ls", (0, 0, 1))]),
        class("b", "group", &[("ls", (0, 0, 1))]),
    ];
    let mut hfsc = Hfsc::attach(&parameters(classes, "a"), port(100 * MEGABIT, 1500)).unwrap();
    let refused = hfsc
        .reserve(&reservation, Instant::ZERO.into())
        .expect_err("a promise that cannot be kept");
    assert!(hfsc.reservations().is_empty());
    refused.to_string()
}

fn reservation(megabits: u64, burst: u64, microseconds: u64, parent: Option<&str>) -> Request {
    Request {
        name: "call".into(),
        parent: parent.map(Into::into),
        rate: rate(megabits * MEGABIT),
        burst: Bytes(burst),
        delay: Duration::from_us(microseconds),
        filters: vec![Filter::default()],
    }
}

#[test]
fn each_mistake_is_reported_with_its_remedy() {
    let share: &[(&str, Curve)] = &[("ls", (0, 0, 1))];
    let guaranteed = |name: &str, curve| class(name, "", &[("rt", curve)]);
    let limit: &[(&str, Curve)] = &[("ls", (0, 0, 1)), ("ul", (0, 0, 50))];
    let in_limit = vec![
        class("group", "", limit),
        class("a", "group", &[("rt", (0, 0, 30))]),
        class("b", "group", &[("rt", (0, 0, 25)), ("ls", (0, 0, 1))]),
    ];
    let nested = vec![class("group", "", share), class("a", "group", share)];
    let crowd: Vec<_> = (0..11).map(|n| guaranteed(&format!("c{n}"), (0, 0, 10))).collect();
    let no_room = fifo::Parameters::of_packets(0);
    let nowhere = Rule { filter: Filter::default(), priority: 0, class: "b".into() };
    let a = || parameters(vec![class("a", "", share)], "a");
    let told = [
        refusal(&parameters(vec![], "a")),
        refusal(&parameters(vec![class("a", "b", share), class("c", "", share)], "a")),
        refusal(&Parameters { filters: vec![nowhere], ..a() }),
        refusal(&Parameters { overhead: Bytes(65_536), ..a() }),
        refusal(&parameters(vec![class("a", "", share)], "b")),
        refusal(&parameters(nested.clone(), "group")),
        alone(&[]),
        alone(&[("rt", (10, 5, 0))]),
        alone(&[("ls", (0, 5, 0))]),
        alone(&[("rt", (10, 0, 5))]),
        alone(&[("ls", (5, 10, 10))]),
        alone(&[("ul", (0, 0, 10))]),
        alone(&[("rt", (0, 0, 1)), ("ul", (0, 0, 10))]),
        refusal(&parameters(
            vec![Class { link_share_m2: Some(rate(u64::MAX)), ..class("a", "", &[]) }],
            "a",
        )),
        refusal(&parameters(vec![class("group", "", &[]), class("a", "group", share)], "a")),
        refusal(&parameters(
            vec![class("group", "", &[("rt", (0, 0, 1))]), class("a", "group", share)],
            "a",
        )),
        alone(&[("rt", (0, 0, 11)), ("ls", (0, 0, 1)), ("ul", (0, 0, 10))]),
        alone(&[("rt", (30, 10, 10)), ("ls", (0, 0, 1)), ("ul", (20, 20, 10))]),
        alone(&[("rt", (0, 0, 10)), ("ls", (0, 0, 1)), ("ul", (0, 20, 20))]),
        refusal(&parameters(in_limit, "a")),
        alone(&[("rt", (0, 0, 101))]),
        alone(&[("rt", (101, 10, 1))]),
        refusal(&parameters(vec![guaranteed("a", (80, 10, 20)), guaranteed("b", (0, 0, 30))], "a")),
        refusal(&parameters(vec![guaranteed("a", (95, 10, 20)), guaranteed("b", (0, 9, 80))], "a")),
        refusal(&parameters(crowd, "c0")),
        with_queue(qdisc::Parameters::Psp(psp::Parameters::single(rate(MEGABIT)))),
        with_queue(qdisc::Parameters::Hfsc(Parameters::default())),
        with_queue(qdisc::Parameters::Fifo(no_room)),
        reserved(reservation(41, 1_518, 10_000, None)),
        reserved(reservation(10, 10_000, 1_000, None)),
        reserved(reservation(10, 1_518, 123, None)),
        reserved(reservation(10, 0, 1_000, None)),
        reserved(reservation(10, 1_518, 10_000, Some("a"))),
        reserved(reservation(10, 1_518, 10_000, Some("c"))),
        reserved(Request { name: "a".into(), ..reservation(1, 1_518, 10_000, None) }),
    ];
    let told = told.join("\n") + "\n";
    let golden = include_str!("refusals.txt");
    assert_eq!(told, golden, "\n{told}");
}

/// What fits to the last bit is accepted: curves of opposite bends fill the link together.
#[test]
fn the_whole_link_may_be_guaranteed() {
    let classes = vec![
        class("a", "", &[("rt", (80, 10, 20)), ("ls", (0, 0, 1)), ("ul", (80, 10, 20))]),
        class("b", "", &[("rt", (0, 10, 60))]),
        class("c", "", &[("rt", (0, 0, 20))]),
    ];
    assert!(Hfsc::attach(&parameters(classes, "a"), port(100 * MEGABIT, 1500)).is_ok());
}
