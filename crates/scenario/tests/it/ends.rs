//! Settings of a link's end: for all members of a counted host, and for a single one.

use base::Share;
use network::impairment::{Parameters, gemodel};
use scenario::{Document, lock};

const TEXT: &str = r#"
duration = "1 s"
[host.a]
count = 2
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.in.at.a]
device_buffer = "16 KiB"
conditioner.default = "mark cs1"
[link.in.at."a.2"]
queue.fifo.packets = 7
"#;

#[test]
fn one_member_keeps_what_all_have() {
    let plan = Document::parse("x.toml", TEXT).and_then(|document| document.plan()).unwrap();
    let [first, second] = [0, 1].map(|link| &plan.links[link].ends[0]);
    assert!(first.conditioner.is_some());
    assert_eq!(first.conditioner, second.conditioner);
    assert_eq!(first.direction.device_buffer, second.direction.device_buffer);
    assert_ne!(first.queue, second.queue);
}

#[test]
fn an_end_has_its_own_burst_loss_instead_of_the_links() {
    let text = format!(
        "{TEXT}[link.out]\nbetween = [\"r\", \"b\"]\nrate = \"1 Gbit/s\"\n\
         gemodel = {{ p = \"1 %\", r = \"25 %\", 1-h = \"50 %\", 1-k = \"0.5 %\" }}\n\
         at.b.gemodel = {{ to_bad = \"2 %\", to_good = \"50 %\" }}\n[host.b]\n"
    );
    let plan = Document::parse("x.toml", &text).and_then(|document| document.plan()).unwrap();
    let ends = &plan.links.last().unwrap().ends;
    let percent = |share: f64| Share((share / 100.0 * 2_f64.powi(32)).round() as u32);
    let parameters = |[to_bad, to_good, loss_bad, loss_good]: [Share; 4]| {
        let own = gemodel::Parameters { to_bad, to_good, loss_bad, loss_good };
        vec![Parameters::Gemodel(own)]
    };
    let linked = [1.0, 25.0, 50.0, 0.5].map(percent);
    assert_eq!(ends[0].impairments, parameters(linked));
    assert_eq!(
        ends[1].impairments,
        parameters([percent(2.0), percent(50.0), Share(u32::MAX), Share(0)])
    );
    let again = Document::parse("lock.toml", &lock(&plan)).and_then(|lock| lock.plan()).unwrap();
    assert_eq!(format!("{again:?}"), format!("{plan:?}"));
}

#[test]
fn a_bad_state_without_end_is_refused() {
    let text = TEXT.to_owned() + "[link.in.at.r]\ngemodel = { p = \"1 %\", r = \"0\" }\n";
    let errors = Document::parse("x.toml", &text).and_then(|document| document.plan()).unwrap_err();
    let told = errors.to_string();
    assert!(
        told.starts_with("x.toml:15:28: `to_good` cannot be 0\n  help: give more than 0 %: "),
        "{told}"
    );
}

#[test]
fn an_end_may_have_a_rate_and_a_delay_of_its_own() {
    let text = r#"
duration = "1 s"
[host.home]
count = 3
[router.exchange]
[link.line]
between = ["exchange", "home"]
rate = "50 Mbit/s"
delay = "10 ms"
[link.line.at.home]
rate = "1 Mbit/s"
[link.line.at."home.2"]
delay = "15 ms"
[flow.f]
from = "home.1"
to = "home.2"
"#;
    let plan = |text: &str| {
        let document = scenario::Document::parse("x.toml", text);
        document.and_then(|document| document.plan()).unwrap_or_else(|errors| panic!("{errors}"))
    };
    let given = plan(text);
    let way = |end: usize, link: usize| {
        let config = given.links[link].from_end(end);
        (config.rate.bits_per_second(), config.delay.as_us())
    };
    for link in 0..3 {
        let delay = if link == 1 { 15_000 } else { 10_000 };
        assert_eq!([way(0, link), way(1, link)], [(50_000_000, 10_000), (1_000_000, delay)]);
    }
    let flow = &given.flows[0];
    let path = scenario::path(&given, flow, 0).expect("a path");
    assert_eq!(path.round_trip.as_us(), 10_000 + 10_000 + 10_000 + 15_000);
    let text = scenario::lock(&given);
    assert_eq!(scenario::lock(&plan(&text)), text);
}

const TRACED: &str = r#"
duration = "1 s"
[host.a]
count = 3
[router.r]
[link.in]
between = ["a", "r"]
trace = "mahimahi 2, 2, 5, 10"
at."a.2".rate = "1 Mbit/s"
at."a.3".trace = "mahimahi file:own"
"#;

#[test]
fn a_rate_may_follow_a_trace() {
    let mut document = Document::parse("x.toml", TRACED).unwrap();
    assert_eq!(document.files().into_iter().collect::<Vec<_>>(), ["own"]);
    document.supply("own".to_owned(), "# recorded today\n1\n\n2 # and again\n2\n".to_owned());
    let plan = document.plan().unwrap_or_else(|errors| panic!("{errors}"));
    let ends = plan.links.iter().map(|link| &link.ends[0]);
    let rates: Vec<_> = ends.clone().map(|end| end.direction.rate.bits_per_second()).collect();
    // Four frames of 1538 bytes in 10 ms, and three in 2 ms.
    assert_eq!(rates, [4_921_600, 1_000_000, 18_456_000]);
    let milliseconds = |end: &scenario::plan::End| {
        end.trace.as_ref().and_then(|trace| Some(trace.milliseconds()?.collect::<Vec<_>>()))
    };
    let traces: Vec<_> = ends.map(milliseconds).collect();
    assert_eq!(traces, [Some(vec![2, 2, 5, 10]), None, Some(vec![1, 2, 2])]);
    assert!(plan.links.iter().all(|link| link.ends[1].trace.is_some()));
    let again = Document::parse("lock.toml", &lock(&plan)).and_then(|lock| lock.plan());
    let again = again.unwrap_or_else(|errors| panic!("{errors}\n{}", lock(&plan)));
    assert_eq!(format!("{again:?}"), format!("{plan:?}"));
}

#[test]
fn what_makes_no_sense_of_a_trace_is_refused() {
    let said = |from: &str, to: &str| {
        let text = TRACED.replace("\"mahimahi file:own\"", "\"mahimahi 1\"").replace(from, to);
        let errors = Document::parse("x.toml", &text).and_then(|document| document.plan());
        errors.unwrap_err().to_string()
    };
    let beside = said("trace = \"mahimahi 2", "rate = \"1 Mbit/s\"\ntrace = \"mahimahi 2");
    assert!(beside.contains("`trace` and `rate` are mutually exclusive"), "{beside}");
    let none = said("trace = \"mahimahi 2, 2, 5, 10\"\n", "");
    assert!(none.contains("link `in` has no rate"), "{none}");
    let falling = said("2, 2, 5", "2, 5, 2");
    assert!(falling.contains("the millisecond 2 of a trace follows a later one"), "{falling}");
    let emulator = "[emulator.r]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"64 kB\"\n";
    let emulated = said("[router.r]\n", emulator);
    assert!(emulated.contains("`r` sends at its own rate and ignores `trace`"), "{emulated}");
}
