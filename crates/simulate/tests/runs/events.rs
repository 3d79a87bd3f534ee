//! Data acquisition over modelled TCP: its minimum time, that nothing is left out, and the queueing that a pull
//! avoids.

use applications::event_builder::Events;
use base::Duration;
use proptest::prelude::*;
use record::Totals;

use crate::driver;

/// `sources` sources and one builder at 10 Gbit/s and 1 us through a switch.
fn text(duration: &str, sources: u64, (switch, queue): (&str, &str), events: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        [host.source]
        count = {sources}
        [host.builder]
        {switch}
        [link.rack]
        between = ["source", "tor"]
        rate = "10 Gbit/s"
        delay = "1 us"
        [link.builder]
        between = ["tor", "builder"]
        rate = "10 Gbit/s"
        delay = "1 us"
        {queue}
        [flow.data]
        from = "source"
        to = "builder"
        {events}
        "#
    )
}

/// Data without room in the switch waits in the sources.
const LOSSLESS: (&str, &str) =
    ("[switch.tor]\nlossless = 0\nbuffer = \"3 MB\"\nxoff = \"9 kB\"", "");
/// Data without room in the builder's queue is lost.
const LOSSY: (&str, &str) = ("[router.tor]", "at.tor.queue.fifo.bytes = \"700 kB\"");

fn events(totals: &Totals) -> Vec<Events> {
    totals.flows.iter().map(|flow| flow.counts().cloned().expect("a source of events")).collect()
}

/// The minimum time of the payload on the builder's link, in full frames of 1538 bytes with 1448 of payload,
/// and one way.
fn ideal(payload: u64) -> Duration {
    Duration::from_ps(payload * 1538 / 1448 * 800) + Duration::from_us(2)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// Every event is completed once, with any losses, and none earlier than the line rate permits.
    #[test]
    fn every_event_is_completed_and_none_too_soon(
        sources in 1..40_u64,
        fragment in 1..40_000_u64,
        lossless in any::<bool>(),
        mode in prop::sample::select(vec![
            "mode = \"push\"",
            "spread = \"100 us\"",
            "mode = \"pull\"",
            "mode = \"pull\", credits = 3",
            "mode = \"pull\", credits = 2, requests_max = 5",
        ]),
        every in prop::sample::select(vec!["1 ms", "exponential 500 us"]),
    ) {
        let switch = if lossless { LOSSLESS } else { LOSSY };
        let flow = format!(
            "events = {{ fragment = \"{fragment} B\", every = \"{every}\", count = 20, {mode} }}"
        );
        let plan = driver::plan(&text("3 s", sources, switch, &flow));
        let totals = driver::totals(&plan);
        let ideal = ideal(sources * fragment).as_ns();
        for (events, flow) in events(&totals).iter().zip(&totals.flows) {
            prop_assert_eq!((events.completed, events.fragments), (20, 20));
            prop_assert_eq!(flow.received.0, 20 * fragment);
            prop_assert_eq!(events.late, None);
            let (_, soonest, _) = events.times.ranges().next().expect("some");
            prop_assert!(soonest >= ideal, "{soonest} ns, at least {ideal} ns");
            if lossless {
                prop_assert_eq!(flow.sender.get().retransmissions, 0);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let flow = "load = \"70 %\"\nevents = { fragment = \"1 B..40 kB\", deadline = \"500 us\" }";
    let run = |seed: u64| {
        let text = format!("seed = {seed}\n{}", text("200 ms", 12, LOSSY, flow));
        events(&driver::totals(&driver::plan(&text)))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_load_is_offered_to_the_builders_link() {
    for (load, share) in [("30 %", 0.3), ("80 %", 0.8)] {
        let flow = format!("load = \"{load}\"\nevents.fragment = \"14480 B\"");
        let summary = driver::summary(&driver::plan(&text("1 s", 20, LOSSY, &flow)));
        let utilisation = summary.link.get("builder").expect("the link").forward.utilisation;
        assert!((utilisation - share).abs() < 0.08 * share, "{load}: {utilisation}");
        let data = summary.group.get("data").expect("the flows");
        let events = data.results.events.as_ref().expect("events");
        // Of each source's last fragment a part may have come.
        let whole = data.bytes.div_ceil(14_480);
        assert!((events.fragments..=events.fragments + 20).contains(&whole), "{events:?}");
        assert!((events.rate - events.completed as f64).abs() < 1e-6, "{events:?}");
    }
}

/// The builder's queue holds only requested data: its port never has to drop.
#[test]
fn a_pull_keeps_the_queue_to_what_was_asked_for() {
    let most = |mode: &str| {
        let flow = format!("events = {{ fragment = \"14480 B\", every = \"2 ms\", {mode} }}");
        let summary = driver::summary(&driver::plan(&text("300 ms", 64, LOSSY, &flow)));
        let data = summary.group.get("data").expect("the flows").results.events.clone();
        let link = summary.link.get("builder").expect("the link").forward.clone();
        (link.backlog_bytes_max, data.expect("events").completed)
    };
    let (push, pushed) = most("mode = \"push\"");
    assert!(push > 600_000, "64 fragments meet: {push} bytes");
    let (pull, pulled) = most("mode = \"pull\", credits = 2, requests_max = 8");
    assert!(pull <= 8 * 10 * 1_518, "{pull} bytes");
    assert!(pushed.abs_diff(pulled) <= 1, "the rate is the same: {pushed} and {pulled}");
}

/// Fragments read after the deadline are late: all if the line takes longer, none if there is enough time.
#[test]
fn fragments_are_late_after_the_deadline() {
    let late = |deadline: &str| {
        let flow = format!(
            "events = {{ fragment = \"1500 B..28 kB\", every = \"1 ms\", deadline = \"{deadline}\" }}"
        );
        let summary = driver::summary(&driver::plan(&text("300 ms", 8, LOSSLESS, &flow)));
        let events = summary.group.get("data").expect("the flows").results.events.clone();
        let events = events.expect("events");
        (events.fragments_late.expect("a deadline"), events.fragments)
    };
    let (none, all) = late("900 us");
    assert_eq!((none, all > 2_000), (0, true));
    let (every, all) = late("2 us");
    assert_eq!(every, all);
    let (some, all) = late("80 us");
    assert!(some > 0 && some < all, "{some} of {all}");
}
