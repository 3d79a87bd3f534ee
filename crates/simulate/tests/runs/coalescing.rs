//! Interrupt coalescing at a host: frames come late, at most by the delay, and together; joined ones are acknowledged once.

use record::Totals;

use crate::driver;

/// One flow over 10 Gbit/s, with `host` in both hosts' tables and `flow` in the flow's.
fn run(host: &str, flow: &str) -> Totals {
    let text = format!(
        r#"
        duration = "200 ms"
        [host.source]
        {host}
        [host.sink]
        {host}
        [link.wire]
        between = ["source", "sink"]
        rate = "10 Gbit/s"
        delay = "20 us"
        [flow.f]
        from = "source"
        to = "sink"
        {flow}
        "#
    );
    driver::totals(&driver::plan(&text))
}

/// ACKs for each segment of data.
fn acks(totals: &Totals) -> f64 {
    let [data, acks] = [0, 1].map(|port| totals.ports[port].statistics.sent_packets as f64);
    acks / data
}

#[test]
fn an_interrupt_for_each_frame_changes_nothing() {
    let [plain, each] =
        ["", "coalesce = { delay = \"25 us\", frames = 1 }"].map(|host| run(host, ""));
    assert_eq!(plain.flows[0].received, each.flows[0].received);
    assert_eq!(acks(&plain), acks(&each));
    let at_once = run("coalesce = { delay = \"0 us\" }", "");
    assert_eq!(plain.flows[0].received, at_once.flows[0].received);
}

/// A segment takes 1.23 us on the wire, so an interrupt every 25 us brings 20 segments: with GRO they get one
/// ACK, without it one ACK for every two.
#[test]
fn what_is_joined_is_acknowledged_once() {
    let flow = "tcp.emission.tso = false";
    let joined = run("coalesce = { delay = \"25 us\" }", flow);
    assert!((0.04..0.06).contains(&acks(&joined)), "{}", acks(&joined));
    let few = run("coalesce = { delay = \"25 us\", frames = 4 }", flow);
    assert!((0.24..0.26).contains(&acks(&few)), "{}", acks(&few));

    let apart = run("coalesce = { delay = \"25 us\", gro = false }", flow);
    assert!((0.45..0.55).contains(&acks(&apart)), "{}", acks(&apart));
    for totals in [&joined, &few, &apart] {
        assert_eq!(totals.flows[0].sender.get().retransmissions, 0);
    }
}

/// Packets keep their order over a link with jitter, so those that wait for an earlier one arrive with it, and are
/// joined without `coalesce`. Copies follow their originals at once, and are not joined with them.
#[test]
fn what_arrives_at_one_instant_is_acknowledged_once() {
    let acks = |impairment: &str| {
        let totals = driver::totals(&driver::plan(&format!(
            r#"
            duration = "2 s"
            [host.source]
            [host.sink]
            [link.wire]
            between = ["source", "sink"]
            rate = "62 Mbit/s"
            delay = "5 ms"
            {impairment}
            [flow.f]
            from = "source"
            to = "sink"
            "#
        )));
        acks(&totals)
    };
    assert!((0.45..0.55).contains(&acks("")), "{}", acks(""));
    let bunched = acks("at.source.jitter = \"0 ms..3 ms\"");
    assert!((0.3..0.4).contains(&bunched), "{bunched}");
    let copied = acks("at.source.duplicate = \"100 %\"");
    assert!(copied > 0.45, "{copied}");
}

/// Vegas keeps 2 to 4 packets in its estimated queue: if interrupts are delayed by more than the time of these
/// packets, the delay limits its rate and no longer the line (paper 4, table 3). The effect of each delay
/// depends on the relative timing of both hosts' interrupts.
#[test]
fn vegas_takes_the_delay_for_a_queue() {
    let goodput = |delay: &str| {
        let host = format!("coalesce = {{ delay = \"{delay}\", gro = false }}");
        let totals = run(&host, "congestion = \"vegas\"\ntcp.emission.tso = false");
        totals.flows[0].received.0 as f64 * 8.0 / totals.seconds()
    };
    assert!(goodput("0 us") > 9.3e9);
    let rates = ["10 us", "12.8 us"].map(goodput);
    assert!(rates.iter().all(|rate| *rate < 5e9), "{rates:?}");
}
